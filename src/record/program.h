/*
 * program: can our library be loaded into a program that is about to be executed?
 *
 * The loader of another C library, or of 32-bit programs, complains about it or even gives up. So
 * the file is examined first: through its #! line to the program that runs it, and there to the
 * loader that it names, which must be glibc's. A program without a loader ignores LD_PRELOAD but
 * passes it on to programs that nobody examines. This may run in a vfork child: only system calls
 * and the stack are used.
 */
#ifndef TIDE_RECORD_PROGRAM_H
#define TIDE_RECORD_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/layout.h"

#define PROGRAM_NAME_MAX 1024

struct program {
    enum wire_out why;
    bool has_loader;             /* false: it is linked statically */
    char name[PROGRAM_NAME_MAX]; /* of the file that cannot load it, while `why` is not none */
};

/* Examines the file at `path` below the folder `folder`, or the open file `folder` itself if `path`
 * is empty. A file that cannot be read counts as one that can load the library. */
void program_examine(struct program *p, int folder, const char *path);

/* The same by a name that is searched for in PATH, as by execvp. */
void program_examine_by_name(struct program *p, const char *name);

#endif
