/*
 * merge_files: merges recordings in files into one file (model/merge.h). One file is read at a
 * time. With several jobs, the files are divided among as many processes, and their results are
 * merged again: the result is the same.
 *
 * Ownership: merge_names_release frees the names.
 */
#ifndef TIDE_CLI_MERGE_FILES_H
#define TIDE_CLI_MERGE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

struct merge_names {
    char **items;
    size_t count, capacity;
};

/* Adds a file; for a folder, all files in it whose names end with .tide, in alphabetical order.
 * Returns 0, or a negative code and a sentence. */
int merge_names_add(struct merge_names *n, const char *path, struct err *err);
void merge_names_release(struct merge_names *n);

struct merge_job {
    const char *command; /* the beginning of lines on stderr: "merge" */
    const char *output;
    unsigned jobs; /* 0: as many as there are processors, if there are enough files */
    /* Results: */
    size_t merged, skipped; /* files */
    size_t inputs;          /* number of recordings in the result */
    size_t bytes;           /* size of the output */
};

/* Merges the files. A file that cannot be read is left out and named on stderr. A negative code and
 * a sentence: nothing was written. */
int merge_files(struct merge_job *j, const struct merge_names *names, struct err *err);

#endif
