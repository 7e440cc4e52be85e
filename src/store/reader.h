/*
 * reader: opens a .tide file. Opens what is whole, says what is missing; never trusts a length or a
 * number in it.
 */
#ifndef TIDE_STORE_READER_H
#define TIDE_STORE_READER_H

#include "base/err.h"
#include "store/chunk.h"
#include "store/recording.h"

/* 0 and *out, or a negative errno value and a sentence. Of a file: store/file.c. */
int recording_read(const char *path, struct recording **out, struct err *err);
/* The same for bytes in memory (tests, fuzzing); `name` is used in sentences. */
int recording_parse(const void *bytes, size_t size, const char *name, struct recording **out,
                    struct err *err);

/* One process, where there are many: of the others it is only known who they are, with their notes
 * and marks. */
#define READER_ALL  UINT32_MAX
#define READER_NONE (UINT32_MAX - 1)
struct reader_choice {
    uint32_t process; /* READER_ALL: every one; READER_NONE: it is only known who they are */
    uint64_t most;    /* bytes that the chunks may have when unpacked; more: -E2BIG */
};
/* The same with a choice; NULL: all. */
int recording_read_some(const char *path, const struct reader_choice *only, struct recording **out,
                        struct err *err);
int recording_parse_some(const void *bytes, size_t size, const char *name,
                         const struct reader_choice *only, struct recording **out, struct err *err);

/* From a source that stands at its beginning. */
int recording_take(struct chunk_source *s, const char *name, const struct reader_choice *only,
                   struct recording **out, struct err *err);
/* The first bytes of it alone: 0, or negative and a sentence that says what it is instead. */
int recording_take_header(struct chunk_source *s, const char *name, struct err *err);

#endif
