/* Chunks are read, and what is cut off or damaged is found; chunk_write.c writes them. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "store/chunk.h"
#include "store/chunk_header.h"

/* Memory grows with the bytes that are really there, not with what a header promises. */
#define TAKE_STEP (UINT64_C(1) << 20)

static ssize_t take_some(struct chunk_source *s, void *to, size_t size)
{
    if (s->gz) {
        int n = gzread(s->gz, to, (unsigned)size); /* at most TAKE_STEP */
        return n < 0 ? -EBADMSG : n;
    }
    if (s->fd >= 0) {
        ssize_t n;
        do
            n = read(s->fd, to, size);
        while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n;
    }
    size_t left = s->size - (size_t)s->offset, n = size < left ? size : left;
    if (n)
        memcpy(to, s->bytes + s->offset, n);
    return (ssize_t)n;
}

int64_t chunk_source_take(struct chunk_source *s, size_t size)
{
    size_t got = 0;
    while (got < size) {
        size_t step = size - got < TAKE_STEP ? size - got : TAKE_STEP;
        strbuf_reserve(&s->held, step);
        ssize_t n = take_some(s, s->held.data + s->held.size, step);
        if (n < 0)
            return n;
        if (n == 0)
            break;
        s->held.size += (size_t)n;
        s->offset += (uint64_t)n;
        got += (size_t)n;
    }
    return (int64_t)got;
}

int chunk_source_rewind(struct chunk_source *s)
{
    if (s->gz ? gzrewind(s->gz) : s->fd >= 0 && lseek(s->fd, 0, SEEK_SET))
        return -ESPIPE;
    s->offset = 0;
    strbuf_clear(&s->held);
    return 0;
}

void chunk_source_release(struct chunk_source *s)
{
    strbuf_release(&s->held);
}

static int unreadable(int64_t code, struct err *err)
{
    return err_set(err, (int)code, "the file cannot be read: %s", strerror((int)-code));
}

int chunk_next(struct chunk_source *s, struct chunk *out, struct err *err)
{
    unsigned long long start = s->offset;
    strbuf_clear(&s->held);
    int64_t n = chunk_source_take(s, CHUNK_HEADER);
    if (n <= 0)
        return n ? unreadable(n, err) : 0;
    if (n < CHUNK_HEADER)
        return err_set(err, -EBADMSG, "the file is cut at byte %llu", start);
    const uint8_t *header = (const uint8_t *)s->held.data;
    *out = (struct chunk){.type = get_u32(header),
                          .process = get_u32(header + 4),
                          .stored = get_u32(header + 8),
                          .raw = get_u32(header + 12)};
    if (out->stored > ZSTD_COMPRESSBOUND((size_t)CHUNK_RAW_MAX))
        return err_set(err, -EBADMSG, "the file is damaged at byte %llu", start);
    n = chunk_source_take(s, out->stored);
    if (n < 0)
        return unreadable(n, err);
    if (n < out->stored)
        return err_set(err, -EBADMSG, "the file is cut at byte %llu, inside a chunk",
                       (unsigned long long)s->offset);
    header = (const uint8_t *)s->held.data;
    out->payload = header + CHUNK_HEADER;
    uint64_t checksum;
    memcpy(&checksum, header + 16, 8);
    if (checksum != chunk_checksum(header, out->payload, out->stored))
        return err_set(err, -EBADMSG, "the file is damaged at byte %llu", start);
    return 1;
}

int chunk_unpack(const struct chunk *c, struct strbuf *out, struct err *err)
{
    strbuf_clear(out);
    /* Ask zstd before believing the header: memory must stay in proportion to the size of the
     * file. */
    unsigned long long says = ZSTD_getFrameContentSize(c->payload, c->stored);
    if (c->raw > CHUNK_RAW_MAX || says != c->raw)
        return err_set(err, -EBADMSG, "a chunk of the file has an impossible size");
    strbuf_reserve(out, c->raw);
    size_t n = ZSTD_decompress(out->data, c->raw, c->payload, c->stored);
    if (ZSTD_isError(n) || n != c->raw)
        return err_set(err, -EBADMSG, "a chunk of the file cannot be unpacked");
    out->size = n;
    out->data[n] = '\0';
    return 0;
}
