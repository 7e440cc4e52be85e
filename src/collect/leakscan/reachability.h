/*
 * reachability: which blocks the program can still reach, judged by the words in memory that may be
 * pointers. pointer_lookup.h decides whether a word is one, and finds the block.
 *
 * The search is conservative: memory does not say which words are pointers, so any aligned word
 * that holds an address inside a block counts as a pointer to the block. An interior pointer, which
 * holds another address than the block's first, counts like any other. An address one past the end
 * does not count, with one exception: an empty C++ array whose type has a destructor. Such an array
 * has its length in front of the first element, so it begins where the block ends. Its block has 8
 * or 16 bytes, the last 8 of which are 0.
 *
 * Blocks that roots point to are reachable, and so is everything that reachable blocks lead to. Of
 * the blocks that are not reachable, a block is lost if no other one of them leads to it. Blocks
 * that lost blocks lead to are indirect. If blocks lead to each other in a cycle to which nothing
 * else leads, the block with the lowest address is lost and the others are indirect. Each indirect
 * block belongs to one lost block that leads to it, its root.
 *
 * Call reachability_add for all blocks, then reachability_ready. Then call reachability_note_begin,
 * which begins to read the blocks on other threads, reachability_word, reachability_from and
 * reachability_from_code for the roots, and reachability_note, which waits for the blocks. All of
 * these read memory. Call reachability_run last, which reads none. So memory is read once and in
 * order, however the blocks are linked, and the process is stopped only while memory is read: its
 * processors are free.
 *
 * Memory is read through a callback, which is called from several threads. About 32 bytes are
 * needed for each block, and 4 for each pointer in one.
 *
 * Ownership: reachability_release frees; {0} is empty. Threads: one, except for the callback.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_REACHABILITY_H
#define TIDE_COLLECT_LEAKSCAN_REACHABILITY_H

#include <stdbool.h>

#include "collect/proc/address_set.h"
#include "store/recording.h"

/* Fills `out` with what is in the ranges, one after the other; zeros where nothing can be read. */
typedef void reachability_read(void *context, const struct address_range *ranges, size_t count,
                               char *out);

/* The first part of a range that holds anything but zeros, as far as is known without reading it;
 * an empty range at its end if none does. */
typedef struct address_range reachability_next(void *context, struct address_range range);

/* The pointer is one past the end of its target, and counts only if that is an empty array. */
#define REACHABILITY_PAST_END (UINT32_C(1) << 31)

struct reachability_block {
    uint64_t address : 48, state : 15; /* state: an enum reach */
    uint64_t empty : 1;                /* the block is an empty array */
    union {
        uint64_t size;  /* in bytes, until reachability_run */
        uint64_t entry; /* during it: the index of the block's entry in `pointers` */
        uint64_t root;  /* after it, of lost and indirect blocks: the number of the root */
    };
};

/* A run of blocks with no large gaps between them. */
struct reachability_area {
    uint64_t start, end;
    size_t first_cell;
    uint32_t first; /* number of its first block */
    uint32_t shift; /* a cell spans 1 << shift bytes */
};

#define REACHABILITY_BUFFER (1u << 20) /* bytes read at a time */

struct reachability_notes;

struct reachability {
    VEC(struct reachability_block) blocks; /* in order of address */
    VEC(struct reachability_area) areas;
    /* How many blocks begin before each cell, and one more entry at an area's end. */
    VEC(uint32_t) cells;
    uint64_t low, span;  /* all blocks are in [low, low + span) */
    VEC(uint32_t) found; /* blocks that were reached, and whose pointers were not followed yet */
    uint64_t *rooted;    /* a bit for each block: roots point to it */
    VEC(uint32_t) ended; /* blocks for which a root points one past their end */
    /* For each block: the number of its pointers, then their targets, perhaps with
     * REACHABILITY_PAST_END. */
    VEC(uint32_t) pointers;
    size_t roots; /* how many blocks are lost */
    reachability_read *read;
    /* Set it after reachability_ready, so that large blocks that were never touched take no time;
     * NULL: all is read. */
    reachability_next *next;
    void *context;
    /* The address of the type of Python's ints: the value of an int is a pointer, too
     * (python_int.h). Set it after reachability_ready; 0: there are none. */
    uint64_t python_int_type;
    char *buffer;                     /* of REACHABILITY_BUFFER bytes */
    struct reachability_notes *notes; /* while blocks are read */
};

void reachability_add(struct reachability *f, uint64_t address, uint64_t size);
void reachability_ready(struct reachability *f, reachability_read *read, void *context);
/* Takes one word as a root. */
void reachability_word(struct reachability *f, uint64_t word);
/*
 * Takes the words of a range of memory as roots, except those inside blocks. `malloc_state`: the
 * range is libc's own data. Its pointers to free chunks point to the last word of the block before
 * the chunk, and must not keep that block alive.
 */
void reachability_from(struct reachability *f, uint64_t start, uint64_t end, bool malloc_state);
/*
 * Takes constants in generated code as roots. On x86-64 they have eight bytes, at any address. The
 * upper two bytes must be 0: otherwise too many words that begin in the middle of something would
 * be pointers. On other processors, code has no whole addresses.
 */
void reachability_from_code(struct reachability *f, uint64_t start, uint64_t end);
void reachability_note_begin(struct reachability *f);
void reachability_note(struct reachability *f);
/* The number of threads that read blocks of so many bytes. */
unsigned reachability_threads(uint64_t bytes);
/* Computes the state of every block. Call it last. */
void reachability_run(struct reachability *f);
/* The number of the block that holds an address; UINT32_MAX: none. */
uint32_t reachability_find(const struct reachability *f, uint64_t address);
void reachability_release(struct reachability *f);

#endif
