/*
 * nodes: the tree of call stacks, in memory that the collector reads (wire/layout.h).
 *
 * A stack is a number: that of the slot of its innermost frame. Equal stacks have equal numbers,
 * but for a few that two threads met at the same moment, which have two; this does no harm, as
 * reports compare stacks by their frames.
 *
 * The child of a node is mostly the slot behind it, because the new frames of a stack are written
 * together. The others begin a branch, and an index finds them: a hash table of slot numbers by
 * caller and address, 8 bytes each, in private memory that a forked child finds empty. It grows
 * without a stop: each new entry carries some entries of the smaller table over to the larger one,
 * and until all are there both are searched.
 *
 * Any thread may call these at any time; no lock is taken. [malloc-free]. When the kernel gives no
 * more memory, nodes_extend says so, and nodes_cut still finds a number for the innermost frames.
 */
#ifndef TIDE_RECORD_NODES_H
#define TIDE_RECORD_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/layout.h"

#define NODES_CUT_FRAMES 8 /* innermost frames that a cut stack keeps */

/* In a forked child: lets go of its parent's tree. */
void nodes_drop(void);
/* A new tree, in shared memory that was just mapped; false: no memory for the index. */
bool nodes_reset(struct wire_header *h);
/* Before a seccomp filter takes the means away: maps what the tree may need. */
void nodes_prepare(void);
/* The stack of a caller and `count` frames, outermost first, whose numbers go to `ids`. The last
 * one is returned; 0: no memory. */
uint32_t nodes_extend(uint32_t caller, const uint64_t *frames, uint32_t count, uint32_t *ids);
/* The number of a stack for which there was no memory: its innermost frames alone, outermost first.
 */
uint32_t nodes_cut(const uint64_t *frames, uint32_t count);

#endif
