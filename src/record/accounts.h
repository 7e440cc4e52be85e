/*
 * accounts: counts what a thread does to the heap, in the accounts that it shares with the
 * collector (wire/accounts.h), and updates the block index. [malloc-free], no lock. Call these
 * between thread_enter() and thread_leave().
 */
#ifndef TIDE_RECORD_ACCOUNTS_H
#define TIDE_RECORD_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/block_index.h"
#include "record/glibc_chunk.h"
#include "wire/accounts.h"

struct thread;

/* A hash table of account numbers. Its keys are stacks whose entry in stack_accounts belongs to
 * another thread, or accounts of other threads whose blocks this thread has freed. */
struct account_table {
    uint64_t *entries; /* stack << 32 | account; 0: empty */
    uint32_t size, used;
};

/* How often a block of an account was freed right after a larger block was allocated, as when an
 * array grows (`grown`), or after a block of another size (`otherwise`). */
struct replacements {
    uint8_t grown, otherwise;
};

/* A region of addresses that the thread used lately, and its slots for small blocks of glibc. */
struct near_region {
    uintptr_t region; /* address >> WIRE_REGION_BITS */
    char *slots;
};
#define NEAR_REGIONS 64u /* neighbours: a heap of a gigabyte */

/* A cell that the thread used lately (wire/accounts.h). */
struct near_cell {
    uintptr_t key; /* from near_cell_key; 0: empty */
    struct wire_cell *cell;
};
#define NEAR_CELLS 64u

/* Accounts begin at multiples of 64, so the low bits of their address are free. */
static inline uintptr_t near_cell_key(const struct wire_account *a, unsigned group, unsigned lives)
{
    return (uintptr_t)a | lives << 5 | group;
}

static inline size_t near_cell_at(uintptr_t key)
{
    return (key >> 6 ^ key) % NEAR_CELLS;
}

#define ACCOUNT_TABLE_FIRST 512u  /* the first table, which is part of the thread's memory */
#define REPLACEMENTS        4096u /* accounts that are this far apart share an entry */
#define COUNTING_BYTES                                                                             \
    (2 * ACCOUNT_TABLE_FIRST * sizeof(uint64_t) + REPLACEMENTS * sizeof(struct replacements))

/* What one thread needs to count its allocations and frees. */
struct counting {
    uint32_t owner;                  /* number of the thread times WIRE_ACCOUNT_OWNER */
    uint32_t accounts, accounts_end; /* claimed but unused accounts */
    uint32_t new_accounts;           /* accounts made since rows were last written */
    uint32_t units, units_end;       /* claimed but unused units, for amounts and cells */
    struct account_table own, others;
    struct replacements *replacements;
    bool any_replacement; /* false: all replacements are 0 */
    /* 1 + the era in which the thread last tried to own the total (heap_peak.c); 0: never. */
    uint32_t alone_era;
    /* Bytes that the thread has added to the heap and not yet to the shared total, if there are
     * other threads. */
    int64_t pending;
    uintptr_t last_alloc; /* its latest allocation, while it may still be temporary; otherwise 0 */
    struct {
        /* The latest allocation, until the thread does anything else to the heap; otherwise 0. */
        uintptr_t address;
        uint64_t size;
        uint32_t account, era;
    } fresh;
    struct indexed moving; /* the block that a realloc is moving */
    uintptr_t moving_from; /* the address of the block that a realloc is moving; 0: none */
    bool moving_known, moving_stored, moving_sure;
    bool moving_gone; /* it is counted as freed */
    struct {          /* the last result of count_life_of */
        uint32_t birth, now;
        unsigned life;
    } lived;
    struct near_region near_regions[NEAR_REGIONS];
    struct near_cell near_cells[NEAR_CELLS];
};

void accounts_init(struct counting *c, void *memory); /* COUNTING_BYTES, zeroed */
/* Begins anew for this process; false: there is no memory. */
bool accounts_reset(struct wire_header *h, char *first);
void accounts_drop(void);              /* in a forked child: drops the accounts of its parent */
void accounts_begin(struct thread *t); /* the thread is new, or has another name */
void accounts_begun(struct thread *t); /* the ring has reported the new thread or name */
void accounts_rows(struct thread *t);  /* writes rows of what has changed since the last time */
/* Adds the thread's unpublished bytes to the shared total. */
void accounts_settle(struct thread *t);
void accounts_recover(struct thread *t);

/* The highest heap total since the last tick; 0: another thread has reported it. */
uint64_t accounts_interval_peak(uint32_t tick);

/* Call count_realloc before a realloc, and after it count_alloc, count_realloc_failed or
 * count_unrecorded (count_realloc.c). Returns false if the block is not known. */
bool count_realloc(struct thread *t, void *old, usable_of *usable, bool sure);
void count_realloc_failed(struct thread *t);
void count_unrecorded(struct thread *t);
/* The counterparts of count_* with run --sample, for blocks that are recorded (count_weighed.c). */
bool weighed_alloc(struct thread *t, void *p, size_t size, size_t usable, uint32_t stack,
                   uint32_t *account);
void weighed_free(struct thread *t, void *p);
void weighed_realloc(struct thread *t, void *old);
void weighed_realloc_failed(struct thread *t);
void weighed_unrecorded(struct thread *t);
/* The number of peaks so far (wire_totals.peak_epoch). count_arena counts an arena that CPython
 * maps, and count_unmap a mapping that is unmapped; both return that number too. */
uint32_t accounts_epoch(void);
uint32_t count_arena(struct thread *t, void *p, size_t size);
uint32_t count_unmap(struct thread *t, void *p, size_t size);

#endif
