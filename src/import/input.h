/*
 * input: the bytes of a file that is imported, decompressed on the way if it is gzip or zstd.
 *
 * It holds one piece of the file at a time, whatever the file's size and whatever it unpacks to.
 * `taken` is how many bytes of the file itself were read, which limits what an importer may keep
 * (import/import.h). Errors are sentences that name the file; truncated compressed data is an
 * error.
 *
 * Ownership: input_release closes and frees. Not thread-safe.
 */
#ifndef TIDE_IMPORT_INPUT_H
#define TIDE_IMPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

#define INPUT_PIECE    ((size_t)64 << 10)
#define INPUT_LINE_MAX ((size_t)16 << 20) /* longest line; a longer one is damage */

struct input {
    const char *name; /* borrowed: the file's name in messages */
    int fd;           /* -1: bytes in memory */
    const uint8_t *bytes;
    size_t size;
    uint64_t taken;     /* bytes of the file that were read so far */
    uint64_t file_size; /* 0: not known */
    enum input_packing { INPUT_PLAIN, INPUT_GZIP, INPUT_ZSTD } packing;
    void *unpacker;  /* z_stream or ZSTD_DStream */
    bool packed_end; /* the compressed data ended, as it must before the file does */
    uint8_t *in;     /* compressed bytes */
    size_t in_at, in_size;
    uint8_t *out; /* the bytes to be read next */
    size_t out_at, out_size;
    struct strbuf line;
    uint64_t line_number;
    /* Called from time to time; a negative result stops the import. May be NULL. */
    int (*progress)(void *context, uint64_t taken, uint64_t file_size);
    void *context;
};

/* "-" is standard input. Returns 0, or a negative code and a sentence; after an error there is
 * nothing to release. */
int input_open(struct input *s, const char *path, struct err *err);
/* Reads the output of a running program; the descriptor is closed with the input. */
void input_of_descriptor(struct input *s, int fd, const char *name);
/* Reads bytes in memory, which must outlive the input. */
int input_of_bytes(struct input *s, const void *bytes, size_t size, const char *name,
                   struct err *err);
void input_release(struct input *s);

/* Reads up to `size` bytes, fewer only at the end of the file. A negative code and a sentence:
 * unreadable. */
int64_t input_read(struct input *s, void *to, size_t size, struct err *err);
/* Looks at what comes next without consuming it: as much as there is, up to INPUT_PIECE. */
int64_t input_peek(struct input *s, const uint8_t **bytes, struct err *err);
/* Returns 1 and the next line, which ends with 0 instead of its newline and may be changed; 0: the
 * end; or a negative code and a sentence. A NUL inside a line is an error too: then the file is not
 * text. */
int input_line(struct input *s, char **line, struct err *err);

#endif
