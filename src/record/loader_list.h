/*
 * loader_list: which file an address belongs to, where glibc is older than 2.35 and has no
 * _dl_find_object.
 *
 * The loader's list is copied into a table of segments, sorted by address. A question asks the
 * loader whether its list has changed, by dl_iterate_phdr, which holds a lock of the loader's for a
 * moment; a changed list is copied anew. The lock is held only to change the list, and it is
 * recursive: whoever throws an exception takes it, too. None of our locks may be held here.
 *
 * In a forked child of a process with threads, one that is not there may hold that lock for ever.
 * The child does not ask: it answers from the copy, which was made just before the fork. While it
 * has one thread, it makes a new copy when the list has changed, and needs no lock for that. Once
 * it has several, files that it loads are not found, and after an unload none is.
 *
 * Of two copies one is complete at any time, so that a signal handler and a forked child find one.
 * [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_RECORD_LOADER_LIST_H
#define TIDE_RECORD_LOADER_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "record/libc.h"

bool loader_list_find(uint64_t address, struct libc_object *out);

/* Makes the copy that a child will have. */
void loader_list_before_fork(void);
/* This thread was torn out of a hook. */
void loader_list_recover(void);
/* In a forked child of a process that had threads. */
void loader_list_forked(void);
/* The loader loads or unloads something: a forked child's copy is no longer good. */
void loader_list_changes(void);

#endif
