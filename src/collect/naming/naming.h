/*
 * naming: finds functions and lines for the addresses of a recording while it runs. How a name and
 * a line are found in a file is decided by src/symbol (symbolizer.h).
 *
 * Addresses are looked up as they turn up (resolver.h), so that little is left to do at the end.
 * Results are kept by file and address in the file: processes that run the same program share them.
 *
 * Threads: one thread calls naming_*. Ownership: a struct naming lasts as long as the collector.
 */
#ifndef TIDE_COLLECT_NAMING_NAMING_H
#define TIDE_COLLECT_NAMING_NAMING_H

#include "collect/naming/jit_names.h"
#include "collect/naming/python_code.h"
#include "store/recording.h"

struct naming;

/* `in_turn`: work at normal priority; otherwise only when other processes leave the processor
 * idle. */
struct naming *naming_new(bool in_turn);
/* Queues the addresses of nodes. The profile's modules must cover them. */
void naming_add_nodes(struct naming *n, const struct profile *p, const struct node *nodes,
                      size_t count);
/* Has everything been resolved that was queued? */
bool naming_is_settled(struct naming *n);
/* Call it before the paths of a profile's modules are freed. */
void naming_forget(struct naming *n);
/* Waits until all addresses are resolved. naming_add_nodes may not be called afterwards. `tell` is
 * called as by resolver_wait. */
void naming_wait(struct naming *n, void (*tell)(void *context, size_t found, size_t asked),
                 void *context);
/* Fills p's frames, frame_runs and symbols, with strings in `strings`. Call it after naming_wait,
 * or while naming_is_settled, or in a forked child. In the child, addresses that are not resolved
 * yet become module+0x1234. `python` and `jit` may be NULL. */
void naming_fill(struct naming *n, struct profile *p, const struct python_codes *python,
                 const struct jit_names *jit, struct strpool *strings);
/* Call it in a forked child, between naming_hold and naming_go_on: naming_fill then resolves what
 * is missing without other threads. */
void naming_alone(struct naming *n);
/* Keeps the results consistent around a fork. Call it in the parent before the fork, and
 * naming_go_on after it in both processes. */
void naming_hold(struct naming *n);
void naming_go_on(struct naming *n);

#endif
