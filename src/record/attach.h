/*
 * attach: the recorder in a program that was already running (wire/attach.h).
 *
 * The library was loaded late, by dlopen, so no calls reach its hooks by name. Instead the entries
 * of the hooked functions are replaced, as entry_patch.h describes. Because other threads run, the
 * patches are only listed here, and the tool writes them while all threads are stopped.
 *
 * Some functions are not hooked in such a program: dlopen and dlclose (modules.c notices unloaded
 * code), exec and posix_spawn (executed programs are not recorded), pthread_create, getenv.
 */
#ifndef TIDE_RECORD_ATTACH_H
#define TIDE_RECORD_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/patch.h"

/* Was the library loaded by `tidemark attach`? */
bool attach_is_late(void);

/* Lists patches for the tool to write. Two names of one function count once. false: too many. */
bool attach_list(const struct patched *functions, size_t count);

/* Does this code belong to the C library, or to its allocating part? Calls from there are not calls
 * of the program. */
bool attach_from_libc(uint64_t pc);
bool attach_from_malloc(uint64_t pc);

/* Finds and lists the functions other than malloc's whose entries are to be replaced. Call it
 * once. */
void attach_take_over(void);

#endif
