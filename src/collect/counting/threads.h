/*
 * threads: the threads of a target, which are known in two ways: by their own events, and by the
 * kernel's samples of them.
 */
#ifndef TIDE_COLLECT_COUNTING_THREADS_H
#define TIDE_COLLECT_COUNTING_THREADS_H

#include "collect/counting/target.h"

/* These return indexes into profile.threads. */
/* The thread itself reports that it begins. `again`: it reported its end, but went on. */
uint32_t thread_begin(struct target *t, uint32_t tid, bool again, uint64_t now_ns);
uint32_t thread_sampled(struct target *t, uint32_t tid, uint64_t now_ns);
/* The thread itself reports a part of its name: `name` at 16 * part; what was there from that
 * position on is forgotten. */
void thread_rename(struct target *t, uint32_t number, uint32_t tid, unsigned part,
                   const char *name);
/*
 * A thread that had a name of its own takes another: what it does from now on counts under that.
 * Returns the index for the new name, or its own if there are too many names. `first`: its first
 * index.
 */
uint32_t thread_renames(struct target *t, uint32_t number, uint32_t first, uint32_t tid,
                        const char *name, uint64_t now_ns);
/* The kernel reports the name of a thread that reports nothing itself. */
void thread_rename_sampled(struct target *t, uint32_t number, uint32_t tid, const char *name);

#endif
