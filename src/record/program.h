/*
 * program: can our library be loaded into a program that is about to be executed?
 *
 * The loader of another C library, or of 32-bit programs, complains about it or even gives up. So
 * the file is looked at first: through its #! line to the program that runs it, and there to the
 * loader that it names, which must be glibc's. A program without a loader ignores LD_PRELOAD but
 * hands it on, to programs that nobody looks at.
 *
 * This may run in a vfork child: system calls and the stack only.
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

/* The file at `path` below the folder `folder`, or the open file `folder` itself if that is empty.
 * What cannot be read is taken for one that can load it. */
void program_look(struct program *p, int folder, const char *path);

/* By a name that is looked for in PATH as execvp does it. */
void program_look_for(struct program *p, const char *name);

#endif
