/*
 * attach: the recorder in a program that was running already (wire/attach.h).
 *
 * The library was loaded late, by dlopen, so that nobody's calls come to its hooks. The entries of
 * the functions that matter are replaced, as entry.h describes it; but here other threads run, so
 * the patches are only listed, and the tool writes them while all threads stand still.
 *
 * What is not hooked in such a program: dlopen and dlclose (modules.c notices what goes away), exec
 * and posix_spawn (what is executed is not recorded), pthread_create, getenv.
 */
#ifndef TIDE_RECORD_ATTACH_H
#define TIDE_RECORD_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/patch.h"

/* Was the library loaded by `tidemark attach`? */
bool attach_is_late(void);

/* Lists patches for the tool to write. Two names of one function are one. False: too many. */
bool attach_list(const struct patched *functions, size_t count);

/* Is this code of the C library, or of its part that allocates? Calls from there are no calls of
 * the program. */
bool attach_from_libc(uint64_t pc);
bool attach_from_malloc(uint64_t pc);

/* Once: finds the functions beside malloc's whose entries are to be replaced, and lists them. */
void attach_take_over(void);

#endif
