/*
 * threads: the threads of a target. The collector learns of a thread by the thread's own events, or
 * by the kernel's samples of it. Names of Python threads are read in the program
 * (record/python_thread_name.c).
 */
#ifndef TIDE_COLLECT_COUNTING_THREADS_H
#define TIDE_COLLECT_COUNTING_THREADS_H

#include "collect/counting/target.h"

/* The functions that return a number return an index into profile.threads. */
/* Handles a thread's report that it begins. `again`: it reported its end before, but continued. */
uint32_t thread_begin(struct target *t, uint32_t tid, bool again, uint64_t now_ns);
/* The thread that was sampled at this time. Its report that it ended may have been read before. */
uint32_t thread_sampled(struct target *t, uint32_t tid, uint64_t now_ns);
/* Handles a thread's report of a part of its name: `name` at position 16 * part replaces the rest
 * of the old name from there on. */
void thread_rename(struct target *t, uint32_t number, uint32_t tid, unsigned part,
                   const char *name);
/*
 * Handles a thread that had a name of its own and takes another one: what it does from now on
 * counts under the new name. Returns the index for the new name, or the current index if there are
 * too many names. `first` is the first index of the thread.
 */
uint32_t thread_renames(struct target *t, uint32_t number, uint32_t first, uint32_t tid,
                        const char *name, uint64_t now_ns);
/* Sets the name that the kernel reports for a thread that reports nothing itself. */
void thread_rename_sampled(struct target *t, uint32_t number, uint32_t tid, const char *name);

#endif
