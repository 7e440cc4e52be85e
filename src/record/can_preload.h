/*
 * can_preload: can our library be loaded into a program that is about to be executed?
 *
 * The loader of another C library, or of 32-bit programs, prints an error about our library or even
 * ends the program. So we examine the file first: we follow its #! line to the interpreter, and
 * read the name of the loader there, which must be glibc's. A statically linked program ignores
 * LD_PRELOAD, but passes it on to programs that we cannot examine. This may run in a vfork child:
 * only system calls and the stack are used.
 */
#ifndef TIDE_RECORD_CAN_PRELOAD_H
#define TIDE_RECORD_CAN_PRELOAD_H

#include <stddef.h>

#include "wire/layout.h"

#define PROGRAM_NAME_MAX 1024

struct program {
    enum wire_out why;
    char name[PROGRAM_NAME_MAX]; /* the file that is loaded in the end; "": it cannot be read */
};

/* Examines the file at `path` below the folder `folder`, or the open file `folder` itself if `path`
 * is empty. A file that cannot be read counts as one that can load the library. */
void program_examine(struct program *p, int folder, const char *path);

/* Examines a program by a name that is searched for in PATH, as execvp does. */
void program_examine_by_name(struct program *p, const char *name);

#endif
