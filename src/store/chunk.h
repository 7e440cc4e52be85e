/*
 * chunk: how a .tide file is divided into chunks, each compressed and with a checksum.
 * docs/FORMAT.md describes what is inside them.
 *
 *   file  = "tidemark" version:u32 0:u32 chunk*
 *   chunk = type:u32 process:u32 stored:u32 raw:u32 checksum:u64 payload[stored]
 *
 * Little-endian. The payload is zstd; `raw` is its size when unpacked. The checksum (XXH64) covers
 * the chunk from `type` to `raw` and the payload. A reader skips types that it does not know and
 * stops at the first chunk that is cut off or damaged.
 *
 * Ownership: chunk_source_release frees; the caller keeps the descriptor. Errors: a negative errno
 * and a sentence.
 */
#ifndef TIDE_STORE_CHUNK_H
#define TIDE_STORE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

#define FILE_MAGIC    "tidemark"
#define FILE_VERSION  1
#define FILE_HEADER   16
#define CHUNK_HEADER  24
#define CHUNK_RAW_MAX (1u << 30)

/*
 * The limit of what all chunks up to a place in a file may unpack to: CHUNKS_RAW_FREE, and
 * CHUNK_RATIO times the bytes up to there. Otherwise a few bytes could demand any amount of memory.
 * Most recordings compress 10 to 1. If all stacks are alike, as in a recursion, it is thousands to
 * 1; then the writer pads the chunks.
 */
#define CHUNKS_RAW_FREE (UINT64_C(4) << 20)
#define CHUNK_RATIO     64u

/* The same for what they may take in memory, where a row of two bytes takes eighty. Most recordings
 * take 25 times their size, and the most regular ones 150 times. */
#define MEMORY_FREE  (UINT64_C(64) << 20)
#define MEMORY_RATIO 256u
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
    CHUNK_ATTACHED = CHUNK_TYPE('A', 'T', 'C', 'H'),
    CHUNK_SAMPLING = CHUNK_TYPE('S', 'A', 'M', 'P'),
    CHUNK_LIVE = CHUNK_TYPE('L', 'I', 'V', 'E'),
    CHUNK_MAPS = CHUNK_TYPE('M', 'A', 'P', 'S'),
    CHUNK_FOOTPRINTS = CHUNK_TYPE('F', 'O', 'O', 'T'),
    CHUNK_PYTHON = CHUNK_TYPE('P', 'Y', 'T', 'H'),
    CHUNK_GPU = CHUNK_TYPE('G', 'P', 'U', 'M'),
    CHUNK_HISTOGRAMS = CHUNK_TYPE('H', 'I', 'S', 'T'),
    CHUNK_CHAINS = CHUNK_TYPE('C', 'H', 'N', 'S'),
    CHUNK_IMPORTED = CHUNK_TYPE('I', 'M', 'P', 'T'),
    CHUNK_INPUTS = CHUNK_TYPE('I', 'N', 'P', 'T'),
    CHUNK_SPREADS = CHUNK_TYPE('S', 'P', 'R', 'D'),
    CHUNK_NOTES = CHUNK_TYPE('N', 'O', 'T', 'E'),
    CHUNK_DEFAULTS = CHUNK_TYPE('F', 'O', 'C', 'S'),
    CHUNK_STRINGS = CHUNK_TYPE('S', 'T', 'R', 'S'),
    CHUNK_FRAMES = CHUNK_TYPE('F', 'R', 'A', 'M'),
    CHUNK_DONE = CHUNK_TYPE('D', 'O', 'N', 'E')
};

/* A chunk as it is in the file; `payload` is valid until the next one is read. */
struct chunk {
    uint32_t type, process, stored, raw;
    const uint8_t *payload;
};

/*
 * A file, or bytes in memory, from which chunks are read one after another. It holds one chunk at a
 * time, and no more memory than there were bytes, whatever sizes a header promises.
 */
struct chunk_source {
    int fd;   /* -1: read from the bytes */
    void *gz; /* zlib's handle, if the file is compressed with gzip; otherwise NULL */
    const uint8_t *bytes;
    size_t size;
    uint64_t offset; /* of the next byte to read */
    struct strbuf held;
};

#define CHUNK_SOURCE_OF_BYTES(b, n)                                                                \
    (struct chunk_source)                                                                          \
    {                                                                                              \
        .fd = -1, .bytes = (const uint8_t *)(b), .size = (n)                                       \
    }
void chunk_source_release(struct chunk_source *s); /* the caller closes the fd */

struct ZSTD_CCtx_s;

/* Appends a chunk to `out`. */
void chunk_append(struct strbuf *out, enum chunk_type type, uint32_t process,
                  const struct strbuf *payload);
/* The same for a chunk that takes so much memory when it is read. `compressor`: zstd's, of this
 * thread; to make one takes longer than to compress a small chunk. */
void chunk_append_large(struct strbuf *out, enum chunk_type type, uint32_t process,
                        const struct strbuf *payload, uint64_t memory,
                        struct ZSTD_CCtx_s *compressor);
/* The same without compression (store/stored_frame.h). */
void chunk_append_stored(struct strbuf *out, enum chunk_type type, uint32_t process,
                         const struct strbuf *payload);
/* Changes the process number of complete chunks that were appended to `chunks`. */
void chunks_renumber(struct strbuf *chunks, uint32_t process);
/* Reads the next `size` bytes, or as many as there are, into `held`. Returns how many, or a
 * negative errno. */
int64_t chunk_source_take(struct chunk_source *s, size_t size);
/* Goes back to the first byte. Returns 0, or a negative errno, as for a pipe. */
int chunk_source_rewind(struct chunk_source *s);
/* Returns 1 and the next chunk; 0: the end; negative and a sentence: cut off, damaged or
 * unreadable. */
int chunk_next(struct chunk_source *s, struct chunk *out, struct err *err);
/* Decompresses the payload. Returns 0, or a negative errno and a sentence. */
int chunk_unpack(const struct chunk *c, struct strbuf *out, struct err *err);

#endif
