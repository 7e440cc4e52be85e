/*
 * chunk_header: the bytes of a chunk's header (chunk.h).
 */
#ifndef TIDE_STORE_CHUNK_HEADER_H
#define TIDE_STORE_CHUNK_HEADER_H

#include <stdint.h>
#include <string.h>
#include <xxhash.h>

static inline void put_u32(uint8_t *at, uint32_t v)
{
    memcpy(at, &v, 4);
}

static inline uint32_t get_u32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, 4);
    return v;
}

/* It covers the 16 bytes before it, and the payload. */
static inline uint64_t chunk_checksum(const uint8_t *header, const void *payload, size_t size)
{
    return XXH64(payload, size, XXH64(header, 16, 0));
}

#endif
