/*
 * naming: functions and lines for the addresses of a recording, found while it runs.
 *
 * Addresses are looked up as they turn up (resolver.h), so that little is left to do at the end.
 * Results are kept by file and address in it: processes that run the same program share them.
 *
 * Threads: naming_* are called by one thread. Ownership: it lasts as long as the collector.
 */
#ifndef TIDE_COLLECT_NAMING_NAMING_H
#define TIDE_COLLECT_NAMING_NAMING_H

#include "collect/naming/jit_names.h"
#include "collect/naming/python_code.h"
#include "store/recording.h"

struct naming;

/* `in_turn`: as other processes; else it does its work when they leave the processor to it. */
struct naming *naming_new(bool in_turn);
/* Queues the addresses of nodes, which are in the profile's modules. */
void naming_add_nodes(struct naming *n, const struct profile *p, const struct node *nodes,
                      size_t count);
/* Is all resolved that was queued? */
bool naming_is_settled(struct naming *n);
/* The paths of a profile's modules are about to be freed. */
void naming_forget(struct naming *n);
/* Waits until all is resolved. No naming_add_nodes after it. `tell`: as for resolver_wait. */
void naming_wait(struct naming *n, void (*tell)(void *context, size_t found, size_t asked),
                 void *context);
/* Fills p's frames, frame_runs and symbols, with strings in `strings`. After naming_wait or while
 * naming_is_settled; or in a forked child, where what is not resolved yet reads module+0x1234.
 * `python`, `jit`: NULL is fine. */
void naming_fill(struct naming *n, struct profile *p, const struct python_codes *python,
                 const struct jit_names *jit, struct strpool *strings);
/* In a forked child, after naming_hold and before naming_go_on: what is missing is resolved by
 * naming_fill, without other threads. */
void naming_alone(struct naming *n);
/* Around a fork, in the parent, and naming_go_on in the child too: results are whole meanwhile. */
void naming_hold(struct naming *n);
void naming_go_on(struct naming *n);

#endif
