/*
 * accounts_memory: where the accounts of this process are, and which one belongs to a stack. Only
 * accounts.c, count.c and count_weighed.c use it.
 */
#ifndef TIDE_RECORD_ACCOUNTS_MEMORY_H
#define TIDE_RECORD_ACCOUNTS_MEMORY_H

#include "record/recorder.h"

#define ACCOUNTS_WINDOW_BITS 13 /* WIRE_ACCOUNTS_FIRST */
#define ACCOUNTS_WINDOWS     (26 - ACCOUNTS_WINDOW_BITS)

struct accounts_memory {
    struct wire_header *header;
    struct wire_totals *totals;
    const _Atomic uint32_t *era_ms;
    /* Address of account 0 as seen from the window; 0: not mapped. */
    _Atomic uintptr_t windows[ACCOUNTS_WINDOWS];
    _Atomic uint32_t owners;
    uint32_t limit, first_era;
    _Atomic uint32_t refused; /* the tick at which there was no memory, or 0 */
};
extern struct accounts_memory accounts;

static inline size_t accounts_window(uint32_t number)
{
    size_t highest_bit = 31u ^ (unsigned)__builtin_clz(number + WIRE_ACCOUNTS_FIRST);
    return highest_bit - ACCOUNTS_WINDOW_BITS;
}

static inline struct wire_account *account_at(uint32_t number)
{
    uintptr_t window =
        atomic_load_explicit(&accounts.windows[accounts_window(number)], memory_order_acquire);
    return (struct wire_account *)(window + (size_t)number * sizeof(struct wire_account));
}

/* Is the number usable? Ask this about numbers that were read from shared memory, which the program
 * may have overwritten. */
static inline bool account_is_sound(uint32_t number)
{
    return number >= WIRE_ACCOUNT_FIRST && number < accounts.limit &&
           atomic_load_explicit(&accounts.windows[accounts_window(number)], memory_order_relaxed);
}

static inline struct wire_cell *cell_at(uint32_t number)
{
    return (struct wire_cell *)((char *)account_at(number / 2) +
                                (size_t)(number % 2) * WIRE_CELL_BYTES);
}

/* The first of `count` accounts; 0: there is no memory. */
uint32_t accounts_claim(uint32_t count);

/* Stacks that occur one after the other have neighbouring numbers, and so neighbouring entries. */
static inline uint32_t account_home(const struct account_table *a, uint32_t key)
{
    uint32_t group = (uint32_t)((key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return (group << 4 | (key & 15)) & (a->size - 1);
}

uint32_t account_make(struct thread *t, struct account_table *a, uint32_t key, uint32_t flags);
/* If there is no memory for another account of a stack: that of its innermost frames; 0: none is
 * left, and something is lost. */
uint32_t account_cut(struct thread *t, uint32_t stack, uint32_t flags);

/* 0: there is no memory for another account. */
static inline uint32_t account_of(struct thread *t, struct account_table *a, uint32_t key,
                                  uint32_t flags)
{
    for (uint32_t at = account_home(a, key); a->entries[at]; at = (at + 1) & (a->size - 1))
        if (LIKELY(a->entries[at] >> 32 == key))
            return (uint32_t)a->entries[at];
    return account_make(t, a, key, flags);
}

#endif
