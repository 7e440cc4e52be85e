/*
 * accounts: counts what a thread does to the heap, in the accounts that it shares with the
 * collector (wire/accounts.h), and keeps the block index up to date.
 *
 * [malloc-free], no lock. Within thread_enter() and thread_leave().
 */
#ifndef TIDE_RECORD_ACCOUNTS_H
#define TIDE_RECORD_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/block_index.h"
#include "record/chunk.h"
#include "wire/accounts.h"

struct thread;

/* Numbers of accounts by stack, or by the account whose blocks were freed. */
struct account_table {
    uint64_t *entries; /* stack << 32 | account; 0: empty */
    uint32_t size, used;
};

/* How often blocks of an account were freed right after a block of another account was allocated:
 * of a size as if an array had grown into that one, or of another size. */
struct replacements {
    uint8_t grown, otherwise;
};

#define ACCOUNT_TABLE_FIRST 512u  /* entries of a table that comes with the thread */
#define REPLACEMENTS        4096u /* accounts that are this far apart share an entry */
#define COUNTING_BYTES                                                                             \
    (2 * ACCOUNT_TABLE_FIRST * sizeof(uint64_t) + REPLACEMENTS * sizeof(struct replacements))

/* A thread's part of it. */
struct counting {
    uint32_t owner;                  /* times WIRE_ACCOUNT_OWNER */
    uint32_t accounts, accounts_end; /* claimed and not used yet */
    uint32_t cells, cells_end;
    struct account_table own, others;
    struct replacements *replacements;
    bool any_replacement; /* else all of these are 0 */
    uint32_t alone_era; /* the era in which it last tried to take is_alone's role, + 1; 0: never */
    int64_t pending;    /* what it added to the heap and has not told yet, if there are others */
    uintptr_t last_alloc; /* its latest allocation, while it may be temporary; else 0 */
    struct {
        uintptr_t address; /* the same, until it does anything else to the heap; else 0 */
        uint64_t size;
        uint32_t account, era;
    } fresh;
    struct indexed moving; /* the block that realloc is at, */
    uintptr_t moving_from; /* and where it was; 0: there is none */
    bool moving_known, moving_told, moving_sure;
};

void accounts_init(struct counting *c, void *memory);    /* COUNTING_BYTES, zeroed */
bool accounts_reset(struct wire_header *h, char *first); /* for this process; false: no memory */
void accounts_drop(void);                                /* of a forked child: its parent's */
void accounts_begin(struct thread *t);  /* it is a new thread, or has another name */
void accounts_begun(struct thread *t);  /* and that is in the ring */
void accounts_rows(struct thread *t);   /* tells what has changed since the last time */
void accounts_settle(struct thread *t); /* its part of the total is told to others */
void accounts_recover(struct thread *t);

/* The highest that the heap was since the last tick; 0: another thread has told it. */
uint64_t accounts_interval_peak(uint32_t tick);

/* Before it is done; then count_alloc, or one of the two after. false: the block is not known. */
bool count_realloc(struct thread *t, void *old, usable_of *usable, bool sure);
void count_realloc_failed(struct thread *t);
void count_unrecorded(struct thread *t);
/* The same with run --sample (count_weighed.c), of blocks that are chosen. */
bool weighed_alloc(struct thread *t, void *p, size_t size, size_t usable, uint32_t stack,
                   uint32_t *account);
void weighed_free(struct thread *t, void *p);
void weighed_realloc(struct thread *t, void *old);
void weighed_realloc_failed(struct thread *t);
void weighed_unrecorded(struct thread *t);
/* An arena of CPython is mapped, or something is unmapped: the peaks noted so far. */
uint32_t accounts_epoch(void);
uint32_t count_arena(struct thread *t, void *p, size_t size);
uint32_t count_unmap(struct thread *t, void *p, size_t size);

#endif
