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

/* Account numbers by stack, for stacks that are another thread's in stack_accounts; or by the account
 * whose blocks were freed. */
struct account_table {
    uint64_t *entries; /* stack << 32 | account; 0: empty */
    uint32_t size, used;
};

/* How often blocks of an account were freed right after a block of another account was allocated:
 * of a size as if an array had grown into that one, or of another size. */
struct replacements {
    uint8_t grown, otherwise;
};

#define ACCOUNT_TABLE_FIRST 512u  /* the first table, which is part of the thread's memory */
#define REPLACEMENTS        4096u /* accounts that are this far apart share an entry */
#define COUNTING_BYTES                                                                             \
    (2 * ACCOUNT_TABLE_FIRST * sizeof(uint64_t) + REPLACEMENTS * sizeof(struct replacements))

/* The part of one thread. */
struct counting {
    uint32_t owner;                  /* times WIRE_ACCOUNT_OWNER */
    uint32_t accounts, accounts_end; /* claimed but unused accounts */
    uint32_t new_accounts;           /* made since rows were written */
    uint32_t cells, cells_end;
    struct account_table own, others;
    struct replacements *replacements;
    bool any_replacement; /* else all of these are 0 */
    uint32_t alone_era; /* the era in which it last tried to take is_alone's role, + 1; 0: never */
    /* What it added to the heap and has not published yet, if there are other threads. */
    int64_t pending;
    uintptr_t last_alloc; /* its latest allocation, while it may still be temporary; otherwise 0 */
    struct {
        /* The same, until the thread does anything else to the heap; otherwise 0. */
        uintptr_t address;
        uint64_t size;
        uint32_t account, era;
    } fresh;
    struct indexed moving; /* the block that a realloc is moving, */
    uintptr_t moving_from; /* and where it was; 0: none */
    bool moving_known, moving_stored, moving_sure;
};

void accounts_init(struct counting *c, void *memory);    /* COUNTING_BYTES, zeroed */
bool accounts_reset(struct wire_header *h, char *first); /* for this process; false: no memory */
void accounts_drop(void);                                /* in a forked child: drops its parent's */
void accounts_begin(struct thread *t);  /* the thread is new, or has another name */
void accounts_begun(struct thread *t);  /* the ring says so now */
void accounts_rows(struct thread *t);   /* writes rows of what has changed since the last time */
void accounts_settle(struct thread *t); /* publishes its part of the total */
void accounts_recover(struct thread *t);

/* The highest heap total since the last tick; 0: another thread has reported it. */
uint64_t accounts_interval_peak(uint32_t tick);

/* Call it before a realloc; then count_alloc, or one of the two below. false: the block is not
 * known. */
bool count_realloc(struct thread *t, void *old, usable_of *usable, bool sure);
void count_realloc_failed(struct thread *t);
void count_unrecorded(struct thread *t);
/* The same with run --sample (count_weighed.c), for blocks that are chosen. */
bool weighed_alloc(struct thread *t, void *p, size_t size, size_t usable, uint32_t stack,
                   uint32_t *account);
void weighed_free(struct thread *t, void *p);
void weighed_realloc(struct thread *t, void *old);
void weighed_realloc_failed(struct thread *t);
void weighed_unrecorded(struct thread *t);
/* An arena of CPython is mapped, or something is unmapped: the number of peaks so far. */
uint32_t accounts_epoch(void);
uint32_t count_arena(struct thread *t, void *p, size_t size);
uint32_t count_unmap(struct thread *t, void *p, size_t size);

#endif
