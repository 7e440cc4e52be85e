/*
 * stack_tree: the tree of call stacks, in memory that the collector reads (wire/layout.h).
 *
 * A stack is a number: the slot of its innermost frame. Equal stacks have equal numbers, except for
 * a few that two threads added at the same moment, which have two; this does no harm, because
 * reports compare stacks by their frames.
 *
 * The child of a node is mostly in the next slot, because the new frames of a stack are written
 * together. All other children begin a branch, and an index finds them: a hash table of slot
 * numbers by caller and address, 8 bytes each, in private memory that a forked child finds empty.
 * It grows without a pause: each new entry moves some entries of the smaller table to the larger
 * one, and until all are moved both are searched.
 *
 * Any thread may call these at any time; no lock is taken. [malloc-free]. If the kernel gives no
 * more memory, stack_tree_extend returns 0, and stack_tree_cut still finds a number for the
 * innermost frames.
 */
#ifndef TIDE_RECORD_STACK_TREE_H
#define TIDE_RECORD_STACK_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/layout.h"

#define STACK_TREE_CUT 8 /* innermost frames that a cut stack keeps */

/* In a forked child: drops its parent's tree. */
void stack_tree_drop(void);
/* A new tree, in shared memory that was just mapped; false: no memory for the index. */
bool stack_tree_reset(struct wire_header *h);
/* Call it before a seccomp filter forbids mmap: maps what the tree may need. */
void stack_tree_prepare(void);
/* Finds or adds the stack of a caller and `count` frames, outermost first, and stores the numbers
 * of the frames in `ids`. Returns the last number; 0: there is no memory. */
uint32_t stack_tree_extend(uint32_t caller, const uint64_t *frames, uint32_t count, uint32_t *ids);
/* Returns the number of a cut stack, for which there was no memory: it has only the innermost
 * frames, which are given outermost first. */
uint32_t stack_tree_cut(const uint64_t *frames, uint32_t count);
/* stack_tree_cut for a stack that has a number already. */
uint32_t stack_tree_cut_of(uint32_t number);

#endif
