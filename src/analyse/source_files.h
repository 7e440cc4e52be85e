/*
 * source_files: finds a source file by the path that debug information or Python has for it.
 *
 * Sources may be in another place than where they were compiled. A user says so with FROM=TO, which
 * replaces the beginning of paths, or with a folder. The path is searched for below that folder,
 * each time without one more of its leading folders. What the user gave is tried first, the path
 * itself last. Only regular files of at most SOURCE_BYTES are read.
 *
 * Ownership: source_release and source_paths_release free; what the user gave is borrowed.
 */
#ifndef TIDE_ANALYSE_SOURCE_FILES_H
#define TIDE_ANALYSE_SOURCE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/vec.h"

#define SOURCE_BYTES (32u << 20)

struct source_paths {
    VEC(const char *) given; /* FROM=TO or a folder, borrowed */
};

struct source {
    char *path; /* where it was found; NULL: not found */
    time_t changed;
    struct strbuf text;
    VEC(size_t) lines; /* where each line begins, and the end of the last */
};

/* Returns 0; or -EINVAL: neither FROM=TO nor a folder. */
int source_paths_add(struct source_paths *p, const char *given, struct err *err);
void source_paths_release(struct source_paths *p);

/* Leaves `path` NULL if the file is not found; appends the places that were tried to `tried`. */
void source_read(struct source *s, const struct source_paths *paths, const char *path,
                 struct strbuf *tried);
void source_release(struct source *s);

/* Lines count from 1. NULL: there is no such line. */
const char *source_line_text(const struct source *s, uint32_t line, size_t *size);

#endif
