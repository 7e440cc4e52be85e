/*
 * threads: the threads of a target, which are heard of in two ways: by their own events, and by
 * the kernel's samples of them.
 */
#ifndef TIDE_COLLECT_COUNTING_THREADS_H
#define TIDE_COLLECT_COUNTING_THREADS_H

#include "collect/counting/target.h"

/* Numbers in profile.threads. */
/* It says so itself. `again`: it said that it ended, but it had more to do. */
uint32_t thread_begin(struct target *t, uint32_t tid, bool again, uint64_t now_ns);
uint32_t thread_sampled(struct target *t, uint32_t tid, uint64_t now_ns);
/* What it says itself: `name` at 16 * part, and what was there from there on is forgotten. */
void thread_rename(struct target *t, uint32_t number, uint32_t tid, unsigned part,
                   const char *name);
/*
 * A thread that had a name of its own takes another: what it does from now on is under that. The
 * number that has it; its own, where there are too many names already. `first`: its first number.
 */
uint32_t thread_renames(struct target *t, uint32_t number, uint32_t first, uint32_t tid,
                        const char *name, uint64_t now_ns);
/* What the kernel says: of a thread that says nothing itself. */
void thread_rename_sampled(struct target *t, uint32_t number, uint32_t tid, const char *name);

#endif
