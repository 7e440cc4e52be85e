/*
 * chunk: how a .tide file is cut up. docs/FORMAT.md describes what is inside each chunk.
 *
 *     file   = "tidemark" version:u32 0:u32 chunk*
 *     chunk  = type:u32 process:u32 stored:u32 raw:u32 checksum:u64 payload[stored]
 *
 * Little-endian. The payload is zstd; `raw` is its size when unpacked. The checksum (XXH64) is over
 * the chunk from `type` to `raw` and the payload. A reader skips types that it does not know and
 * stops at the first chunk that is cut or damaged.
 */
#ifndef TIDE_STORE_CHUNK_H
#define TIDE_STORE_CHUNK_H

#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

#define FILE_MAGIC    "tidemark"
#define FILE_VERSION  1
#define FILE_HEADER   16
#define CHUNK_HEADER  24
#define CHUNK_RAW_MAX (1u << 30)
#define CHUNK_TYPE(a, b, c, d)                                                                     \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum chunk_type {
    CHUNK_PROCESS = CHUNK_TYPE('P', 'R', 'O', 'C'),
    CHUNK_MODULES = CHUNK_TYPE('M', 'O', 'D', 'S'),
    CHUNK_NODES = CHUNK_TYPE('N', 'O', 'D', 'E'),
    CHUNK_THREADS = CHUNK_TYPE('T', 'H', 'R', 'D'),
    CHUNK_SITES = CHUNK_TYPE('S', 'I', 'T', 'E'),
    CHUNK_INTERVALS = CHUNK_TYPE('I', 'V', 'A', 'L'),
    CHUNK_STAMPS = CHUNK_TYPE('S', 'T', 'M', 'P'),
    CHUNK_MARKS = CHUNK_TYPE('M', 'A', 'R', 'K'),
    CHUNK_INHERITED = CHUNK_TYPE('F', 'O', 'R', 'K'),
    CHUNK_NOTES = CHUNK_TYPE('N', 'O', 'T', 'E'),
    CHUNK_STRINGS = CHUNK_TYPE('S', 'T', 'R', 'S'),
    CHUNK_FRAMES = CHUNK_TYPE('F', 'R', 'A', 'M'),
    CHUNK_DONE = CHUNK_TYPE('D', 'O', 'N', 'E')
};

/* A chunk found in a file; `payload` points into it. */
struct chunk {
    uint32_t type, process, stored, raw;
    const uint8_t *payload;
};

/* Appends a chunk to `out`. */
void chunk_append(struct strbuf *out, enum chunk_type type, uint32_t process,
                  const struct strbuf *payload);
/* 1 and the chunk at *offset, which moves on; 0: the end; negative: cut or damaged, with a
 * sentence. */
int chunk_next(const uint8_t *file, size_t size, size_t *offset, struct chunk *out,
               struct err *err);
/* The payload unpacked; 0 or negative. */
int chunk_unpack(const struct chunk *c, struct strbuf *out, struct err *err);

#endif
