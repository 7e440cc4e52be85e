#include "store/stored_frame.h"

#include <string.h>

#define MAGIC       "\x28\xb5\x2f\xfd"
#define DESCRIPTOR  0xe0 /* single segment; the content's size takes 8 bytes */
#define FRAME_START 13
#define BLOCK_START 3
#define BLOCK_MOST  (128u << 10)
#define BLOCK_RAW   0u

void stored_frame_add(struct strbuf *out, const void *bytes, size_t size)
{
    uint64_t content = size;
    strbuf_add(out, MAGIC, 4);
    strbuf_putc(out, (char)DESCRIPTOR);
    strbuf_add(out, &content, sizeof content);
    size_t done = 0;
    do {
        size_t block = size - done < BLOCK_MOST ? size - done : BLOCK_MOST;
        uint32_t header = (uint32_t)(done + block == size) | BLOCK_RAW << 1 | (uint32_t)block << 3;
        strbuf_add(out, &header, BLOCK_START);
        strbuf_add(out, (const char *)bytes + done, block);
        done += block;
    } while (done < size);
}

bool stored_frame_size(const void *frame, size_t size, uint64_t *content)
{
    const uint8_t *at = frame;
    if (size < FRAME_START || memcmp(at, MAGIC, 4) != 0 || at[4] != DESCRIPTOR)
        return false;
    memcpy(content, at + 5, sizeof *content);
    return true;
}

size_t stored_frame_read(void *to, size_t room, const void *frame, size_t size)
{
    const uint8_t *at = frame;
    uint64_t content;
    size_t done = 0;
    if (!stored_frame_size(frame, size, &content) || content > room)
        return STORED_WRONG;
    at += FRAME_START;
    size -= FRAME_START;
    for (bool last = false; !last;) {
        uint32_t header = 0;
        if (size < BLOCK_START)
            return STORED_WRONG;
        memcpy(&header, at, BLOCK_START);
        size_t block = header >> 3;
        last = header & 1;
        if ((header >> 1 & 3) != BLOCK_RAW || block > size - BLOCK_START || block > content - done)
            return STORED_WRONG;
        memcpy((char *)to + done, at + BLOCK_START, block);
        done += block;
        at += BLOCK_START + block;
        size -= BLOCK_START + block;
    }
    return done == content ? done : STORED_WRONG;
}
