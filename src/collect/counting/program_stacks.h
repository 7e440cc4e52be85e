/*
 * program_stacks: the stack tree that a program writes in shared memory (wire/layout.h), as the
 * collector reads it.
 *
 * The collector reads slots in place, through windows that it maps as the tree grows, and keeps
 * only one byte for each slot, its state. It releases pages that were read. The program may write
 * nonsense, so the collector checks that a caller comes before its callee, and reads no slot
 * outside the file. A slot is late if a thread has claimed it but not written it yet: no published
 * record refers to it, and it is read again at each update.
 *
 * When the process has ended, or a copy of the collector writes a file, program_stacks_settle makes
 * the nodes of the profile from the slots that are frames, and gives them new numbers.
 * program_stacks_number_begin does most of that on another thread; otherwise not thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_PROGRAM_STACKS_H
#define TIDE_COLLECT_COUNTING_PROGRAM_STACKS_H

#include <pthread.h>
#include <stdbool.h>

#include "collect/counting/ledger.h"
#include "store/recording.h"
#include "wire/layout.h"

/* Which slots are frames: the number of a frame is that of the first one plus how many are in
 * between. */
struct frame_numbers {
    size_t count;     /* slots that were numbered; 0: none were yet */
    uint64_t *frames; /* one bit for each slot */
    uint32_t *before; /* the number of the first frame of these 64 */
};

struct program_stacks {
    const struct wire_header *header; /* NULL: there is no shared memory, or it was unmapped */
    uint32_t limit;                   /* number of slots that the file has room for */
    const _Atomic uint64_t *windows[WIRE_WINDOWS];
    VEC(uint8_t) states;       /* by slot: enum stack_state, or late */
    VEC(uint8_t) cut_states;   /* states of cut stacks, from WIRE_CUT_FIRST on */
    VEC(uint32_t) late;        /* slots */
    VEC(uint32_t) arrived;     /* late slots that were written since program_stacks_fresh */
    uint32_t taken, cut_taken; /* number of slots that program_stacks_fresh has handled */
    uint32_t dropped;          /* number of slots that were read and whose pages were released */
    bool settled;              /* the profile has the nodes, and sites have their numbers */
    struct frame_numbers numbers;
    struct profile *numbered; /* another thread is making its nodes; NULL: none is */
    pthread_t numberer;
};

/* Places the tree at `offset` of the shared memory. Returns how many bytes are mapped at first;
 * *file_size is the size of the whole file. */
size_t program_stacks_lay_out(struct wire_header *h, size_t offset, size_t *file_size);
/* Begins to read the tree in `memory`, which is mapped and has the layout of `h`; a copy of `h`
 * will be at its beginning. */
void program_stacks_open(struct program_stacks *s, void *memory, const struct wire_header *h);
/* Reads the slots that the program has written since the last call. */
void program_stacks_update(struct program_stacks *s);
/* Has the program made a stack of this number? If so, sets *state. */
bool program_stacks_state(struct program_stacks *s, uint32_t stack, enum stack_state *state);
/* The frame of a slot and the number of its caller; an empty node if there is no such slot. */
struct node program_stacks_node(const struct program_stacks *s, uint32_t number);
/* Stores at most `most` frames that were not returned before in `out`. Returns how many. */
size_t program_stacks_fresh(struct program_stacks *s, struct node *out, size_t most);
/* Begins to make the profile's nodes on another thread, if they are many but not too many, so that
 * program_stacks_settle finds them; nobody else may use the nodes until program_stacks_number_end.
 * They are made again if the program added any meanwhile. */
void program_stacks_number_begin(struct program_stacks *s, struct profile *p);
void program_stacks_number_end(struct program_stacks *s);
/* Fills the profile's nodes and renumbers the accounts' stacks, once; then unmaps the tree. */
void program_stacks_settle(struct program_stacks *s, struct ledger *l, struct profile *p);
void program_stacks_release(struct program_stacks *s);

#endif
