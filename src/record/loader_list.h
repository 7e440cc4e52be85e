/*
 * loader_list: which file an address belongs to, for glibc before 2.35, which has no
 * _dl_find_object.
 *
 * The loader's list is copied into a table of segments, sorted by address. Each lookup asks the
 * loader whether its list has changed, by dl_iterate_phdr, which holds a lock of the loader for a
 * moment; a changed list is copied anew. The loader holds this lock only while it changes the list,
 * and the lock is recursive; code that throws an exception takes it too. The caller must hold none
 * of our locks.
 *
 * In a forked child of a process with threads, a thread that does not exist there may hold that
 * lock for ever. So the child does not ask: it uses the copy, which was made just before the fork.
 * While it has one thread, it makes a new copy when the list has changed, and needs no lock for
 * that. Once it has several threads, files that it loads are not found, and after an unload none
 * is.
 *
 * There are two copies, of which one is complete at any time, so that a signal handler and a forked
 * child find a complete one. [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_RECORD_LOADER_LIST_H
#define TIDE_RECORD_LOADER_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "record/libc.h"

bool loader_list_find(uint64_t address, struct libc_object *out);

/* Makes the copy that a forked child will have. */
void loader_list_before_fork(void);
/* Releases our lock after this thread left a hook by longjmp, an exception or cancellation. */
void loader_list_recover(void);
/* Call it in a forked child of a process that had several threads: it uses the copy from now on. */
void loader_list_forked(void);
/* Call it when the loader loads or unloads something: the copy of a forked child is no longer
 * valid. */
void loader_list_changes(void);

#endif
