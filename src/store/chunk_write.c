/* Chunks are written; chunk_read.c reads them. */
#include "store/chunk.h"

#include <assert.h>
#include <string.h>
#include <zstd.h>

#include "store/chunk_header.h"
#include "store/stored_frame.h"

#define SKIPPED_HEADER 8
#define SHORT_MOST     48 /* bytes that are not worth compressing: hardly any become fewer */
#define SHORT_START    9

static_assert(sizeof(enum chunk_type) == 4, "four letters");

/* For larger sizes, a higher level would save less than the user's time is worth: of the chunks of
 * 12 compilers, level 6 for those of up to 128 KiB saved 0.5 % of the file and took a quarter more
 * time. */
static int level_for(size_t size)
{
    return size < 1 << 14 ? 6 : 3;
}

/* Writes the frame that zstd itself writes for a few bytes that cannot become fewer. Most chunks of
 * a short process are such, and zstd prepares its tables for each. Returns its size. */
static size_t short_frame(uint8_t *to, const void *bytes, size_t size)
{
    static const uint8_t start[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20}; /* one byte for the size */
    memcpy(to, start, sizeof start);
    to[5] = (uint8_t)size;
    to[6] = (uint8_t)(size << 3 | 1); /* the last block, not compressed */
    to[7] = (uint8_t)(size >> 5);
    to[8] = 0;
    memcpy(to + SHORT_START, bytes, size);
    return SHORT_START + size;
}

/* Appends a frame that every zstd skips, so that the payload has at least `least` bytes. Returns
 * its size. */
static size_t fill_up(uint8_t *payload, size_t stored, size_t least)
{
    if (stored >= least)
        return stored;
    size_t filling = least - stored > SKIPPED_HEADER ? least - stored - SKIPPED_HEADER : 0;
    put_u32(payload + stored, ZSTD_MAGIC_SKIPPABLE_START);
    put_u32(payload + stored + 4, (uint32_t)filling);
    memset(payload + stored + SKIPPED_HEADER, 0, filling);
    return stored + SKIPPED_HEADER + filling;
}

/* Writes the header of a chunk whose payload follows it. */
static void put_header(uint8_t *header, enum chunk_type type, uint32_t process, size_t stored,
                       size_t raw)
{
    put_u32(header, type);
    put_u32(header + 4, process);
    put_u32(header + 8, (uint32_t)stored);
    put_u32(header + 12, (uint32_t)raw);
    uint64_t checksum = chunk_checksum(header, header + CHUNK_HEADER, stored);
    memcpy(header + 16, &checksum, 8);
}

void chunk_append(struct strbuf *out, enum chunk_type type, uint32_t process,
                  const struct strbuf *payload)
{
    ZSTD_CCtx *compressor = must_alloc(ZSTD_createCCtx());
    chunk_append_large(out, type, process, payload, 0, compressor);
    ZSTD_freeCCtx(compressor);
}

void chunk_append_large(struct strbuf *out, enum chunk_type type, uint32_t process,
                        const struct strbuf *payload, uint64_t memory,
                        struct ZSTD_CCtx_s *compressor)
{
    size_t bound = ZSTD_compressBound(payload->size);
    size_t least = payload->size / CHUNK_RATIO;
    if (memory / MEMORY_RATIO > least)
        least = (size_t)(memory / MEMORY_RATIO);
    strbuf_reserve(out, CHUNK_HEADER + SKIPPED_HEADER + (bound > least ? bound : least));
    uint8_t *header = (uint8_t *)out->data + out->size;
    const char *data = payload->data ? payload->data : "";
    size_t stored = payload->size <= SHORT_MOST
                        ? short_frame(header + CHUNK_HEADER, data, payload->size)
                        : ZSTD_compressCCtx(compressor, header + CHUNK_HEADER, bound, data,
                                            payload->size, level_for(payload->size));
    if (ZSTD_isError(stored))
        must_alloc(NULL); /* with a large enough buffer, only lack of memory makes it fail */
    stored = fill_up(header + CHUNK_HEADER, stored, least);
    put_header(header, type, process, stored, payload->size);
    out->size += CHUNK_HEADER + stored;
}

void chunk_append_stored(struct strbuf *out, enum chunk_type type, uint32_t process,
                         const struct strbuf *payload)
{
    size_t start = out->size;
    strbuf_reserve(out, CHUNK_HEADER);
    out->size += CHUNK_HEADER;
    stored_frame_add(out, payload->data ? payload->data : "", payload->size);
    put_header((uint8_t *)out->data + start, type, process, out->size - start - CHUNK_HEADER,
               payload->size);
}

void chunks_renumber(struct strbuf *chunks, uint32_t process)
{
    for (size_t at = 0; at < chunks->size;) {
        uint8_t *header = (uint8_t *)chunks->data + at;
        size_t stored = get_u32(header + 8);
        put_u32(header + 4, process);
        uint64_t checksum = chunk_checksum(header, header + CHUNK_HEADER, stored);
        memcpy(header + 16, &checksum, 8);
        at += CHUNK_HEADER + stored;
    }
}
