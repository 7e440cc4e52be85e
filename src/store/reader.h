/*
 * reader: reads a .tide file. It reads everything up to the first damage, says what is missing, and
 * never trusts a length or a number in the file. chunk.h has the checksums.
 *
 * Ownership: recording_free frees the result. Errors: a negative errno and a sentence. Threads:
 * any, one per recording.
 */
#ifndef TIDE_STORE_READER_H
#define TIDE_STORE_READER_H

#include "base/err.h"
#include "store/chunk.h"
#include "store/recording.h"

/* Returns 0 and *out, or a negative errno and a sentence. Defined in store/file.c. */
int recording_read(const char *path, struct recording **out, struct err *err);
/* The same for bytes in memory (tests, fuzzing); `name` is used in sentences. */
int recording_parse(const void *bytes, size_t size, const char *name, struct recording **out,
                    struct err *err);

/* Selects one process of many. Of the others only their identity, notes, marks and peaks of
 * graphics processors are read. */
#define READER_ALL  UINT32_MAX
#define READER_NONE (UINT32_MAX - 1)
struct reader_choice {
    uint32_t process; /* READER_ALL: all processes; READER_NONE: only their identities */
    uint64_t most;    /* limit of the chunks' unpacked bytes; more gives -E2BIG, at once */
};
/* The same with a choice; NULL: everything. */
int recording_read_some(const char *path, const struct reader_choice *only, struct recording **out,
                        struct err *err);
int recording_parse_some(const void *bytes, size_t size, const char *name,
                         const struct reader_choice *only, struct recording **out, struct err *err);

/* Reads from a source that is at its beginning. */
int recording_take(struct chunk_source *s, const char *name, const struct reader_choice *only,
                   struct recording **out, struct err *err);
/* Reads only the first bytes. Returns 0, or a negative errno and a sentence that says what the file
 * is instead. */
int recording_take_header(struct chunk_source *s, const char *name, struct err *err);

#endif
