#include "store/chunk.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

static_assert(sizeof(enum chunk_type) == 4, "four letters");

/* Beyond these, what is saved in size is not worth the user's time at the end of a run. */
static int level_for(size_t size)
{
    return size < 1 << 17 ? 6 : 3;
}

static uint64_t checksum_of(const uint8_t *header, const void *payload, size_t size)
{
    return XXH64(payload, size, XXH64(header, 16, 0));
}

static void put_u32(uint8_t *at, uint32_t v)
{
    memcpy(at, &v, 4);
}

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, 4);
    return v;
}

void chunk_append(struct strbuf *out, enum chunk_type type, uint32_t process,
                  const struct strbuf *payload)
{
    size_t bound = ZSTD_compressBound(payload->size);
    strbuf_reserve(out, CHUNK_HEADER + bound);
    uint8_t *header = (uint8_t *)out->data + out->size;
    size_t stored = ZSTD_compress(header + CHUNK_HEADER, bound, payload->data ? payload->data : "",
                                  payload->size, level_for(payload->size));
    if (ZSTD_isError(stored))
        must_alloc(NULL); /* the only way it fails with a large enough buffer */
    put_u32(header, type);
    put_u32(header + 4, process);
    put_u32(header + 8, (uint32_t)stored);
    put_u32(header + 12, (uint32_t)payload->size);
    uint64_t checksum = checksum_of(header, header + CHUNK_HEADER, stored);
    memcpy(header + 16, &checksum, 8);
    out->size += CHUNK_HEADER + stored;
}

int chunk_next(const uint8_t *file, size_t size, size_t *offset, struct chunk *out, struct err *err)
{
    size_t left = size - *offset;
    if (left == 0)
        return 0;
    const uint8_t *header = file + *offset;
    if (left < CHUNK_HEADER)
        return err_set(err, -EBADMSG, "the file is cut at byte %zu", *offset);
    out->type = get_u32(header);
    out->process = get_u32(header + 4);
    out->stored = get_u32(header + 8);
    out->raw = get_u32(header + 12);
    out->payload = header + CHUNK_HEADER;
    if (left - CHUNK_HEADER < out->stored)
        return err_set(err, -EBADMSG, "the file is cut at byte %zu, inside a chunk", size);
    uint64_t checksum;
    memcpy(&checksum, header + 16, 8);
    if (checksum != checksum_of(header, out->payload, out->stored))
        return err_set(err, -EBADMSG, "the file is damaged at byte %zu", *offset);
    *offset += CHUNK_HEADER + out->stored;
    return 1;
}

int chunk_unpack(const struct chunk *c, struct strbuf *out, struct err *err)
{
    strbuf_clear(out);
    /* Ask zstd before believing the header: memory must stay in proportion to the file. */
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
