/*
 * program_stacks: the stack tree that a program writes in shared memory (wire/layout.h), as the
 * collector reads it.
 *
 * Slots are read in place, through windows that are mapped as the tree grows; only one byte is kept
 * for each, its state. Pages that were read are unmapped. The program may write nonsense: a caller
 * must come before its callee, and no slot is read that has no memory behind it. Slots that a
 * thread has claimed but not written yet are late: nothing that was published refers to them, and
 * they are read again at each update.
 *
 * When the process has ended, or a copy of the collector writes a file, program_stacks_settle makes
 * the nodes of the profile: without the slots that are not frames, and with numbers of their own.
 * Not thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_PROGRAM_STACKS_H
#define TIDE_COLLECT_COUNTING_PROGRAM_STACKS_H

#include <stdbool.h>

#include "collect/counting/ledger.h"
#include "store/recording.h"
#include "wire/layout.h"

struct program_stacks {
    const struct wire_header *header; /* NULL: no memory, or unmapped */
    uint32_t limit;                   /* number of slots that the file has room for */
    const _Atomic uint64_t *windows[WIRE_WINDOWS];
    VEC(uint8_t) states;       /* by slot: enum stack_state, or late */
    VEC(uint8_t) cut_states;   /* the same for cut stacks, from WIRE_CUT_FIRST on */
    VEC(uint32_t) late;        /* slots */
    VEC(uint32_t) arrived;     /* late slots that were written since program_stacks_fresh */
    uint32_t taken, cut_taken; /* number of slots that program_stacks_fresh has handled */
    uint32_t dropped;          /* number of slots that were passed on and unmapped again */
    bool settled;              /* the profile has the nodes, and sites have their numbers */
};

/* Places the tree after what takes `offset` bytes: returns how much is mapped at first, and the
 * size of the whole file. */
size_t program_stacks_lay_out(struct wire_header *h, size_t offset, size_t *file_size);
/* `memory` is mapped, and laid out like `h`, of which a copy will be at its beginning. */
void program_stacks_open(struct program_stacks *s, void *memory, const struct wire_header *h);
/* Reads what the program has written since the last time. */
void program_stacks_update(struct program_stacks *s);
/* Is this a stack that the program has made? Sets its *state. */
bool program_stacks_state(struct program_stacks *s, uint32_t stack, enum stack_state *state);
/* A frame and its caller's number; an empty node if there is none. */
struct node program_stacks_node(const struct program_stacks *s, uint32_t number);
/* Returns frames that were not returned before, at most `most`; how many. */
size_t program_stacks_fresh(struct program_stacks *s, struct node *out, size_t most);
/* Fills the profile's nodes and renumbers the accounts' stacks, once; then unmaps the tree. */
void program_stacks_settle(struct program_stacks *s, struct ledger *l, struct profile *p);
void program_stacks_release(struct program_stacks *s);

#endif
