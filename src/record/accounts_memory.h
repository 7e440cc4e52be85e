/*
 * accounts_memory: where the accounts of this process are, and which one belongs to a stack. Only
 * accounts.c, count.c, count_weighed.c and heap_peak.c use it.
 */
#ifndef TIDE_RECORD_ACCOUNTS_MEMORY_H
#define TIDE_RECORD_ACCOUNTS_MEMORY_H

#include "record/recorder.h"
#include "record/refused_memory.h"
#include "record/stack_accounts.h"

/* What an account is made for: its first block. */
struct account_start {
    uint64_t size; /* WIRE_NO_SIZE: its blocks will not be alike */
    uint32_t slack;
    uint32_t flags; /* wire_account.owner, without the owner */
};

struct accounts_memory {
    struct wire_header *header;
    struct wire_totals *totals;
    const _Atomic uint32_t *era_ms;
    /* For each window, the address at which account 0 would be if the window began there; 0: the
     * window is not mapped. */
    _Atomic uintptr_t windows[WIRE_ACCOUNTS_WINDOWS];
    _Atomic uint64_t owners; /* how often a thread began, or got another name */
    uint32_t limit, first_era;
    struct refusal refusal;
};
extern struct accounts_memory accounts;

static inline uint64_t count_load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void count_store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

/* The era in which blocks are allocated now: a piece of time of a millisecond or more
 * (collect/counting/eras.h). */
static inline uint32_t era_now(void)
{
    return atomic_load_explicit(&accounts.header->era, memory_order_relaxed);
}

static inline void *unit_at(uint32_t number)
{
    uintptr_t window =
        atomic_load_explicit(&accounts.windows[wire_accounts_window(number)], memory_order_acquire);
    return (void *)(window + (size_t)number * WIRE_UNIT_BYTES);
}

static inline struct wire_account *account_at(uint32_t number)
{
    return unit_at(number);
}

/* Is this the number of an account that is mapped? Check it for numbers that were read from shared
 * memory, which the program may have overwritten. */
static inline bool account_is_sound(uint32_t number)
{
    return number >= WIRE_ACCOUNT_FIRST && number < accounts.limit &&
           atomic_load_explicit(&accounts.windows[wire_accounts_window(number)],
                                memory_order_relaxed);
}

/* The amounts of an account; NULL: it has none. They begin at an even number, so that both units
 * are in one window. */
static inline struct wire_amounts *account_amounts(const struct wire_account *a)
{
    uint32_t number = *(const volatile uint32_t *)&a->amounts;
    return number && LIKELY(account_is_sound(number & ~1u)) ? unit_at(number & ~1u) : NULL;
}

/* Are all blocks of the account like this one, so that it needs no amounts? */
static inline bool account_is_alike(const struct wire_account *a, uint64_t size, uint64_t slack)
{
    return LIKELY(a->size == size) && LIKELY(a->slack == slack);
}

/* The first of `count` units for amounts or cells, which is even if there are several; 0: there is
 * no memory. */
uint32_t units_claim(struct thread *t, uint32_t count);
/* Gives amounts to an account; NULL: there is no memory. */
struct wire_amounts *account_add_amounts(struct thread *t, struct wire_account *a);

/* Returns an account for the innermost frames of a stack, if there is no memory for an account of
 * the whole stack. It has amounts. 0: there is none either, and the event is lost. */
uint32_t account_cut(struct thread *t, uint32_t stack, struct account_start start);
/* Finds the account in one of the thread's tables, or makes it. 0: there is no memory. */
uint32_t account_in_table(struct thread *t, struct account_table *a, uint32_t key,
                          struct account_start start);
/* Finds or makes the thread's account of a stack if the stack's entry in stack_accounts (`first`,
 * which may be NULL) is empty or belongs to another thread. 0: there is no memory. */
uint32_t account_find_or_make(struct thread *t, _Atomic uint32_t *first, uint32_t stack,
                              struct account_start start);

/* The thread's account of a stack; 0: there is no memory for another one. */
static inline uint32_t account_of_stack(struct thread *t, uint32_t stack,
                                        struct account_start start)
{
    _Atomic uint32_t *first = stack_accounts_at(stack);
    uint32_t number = first ? atomic_load_explicit(first, memory_order_acquire) : 0;
    if (LIKELY(number) &&
        LIKELY((account_at(number)->owner ^ t->counting.owner) < WIRE_ACCOUNT_OWNER))
        return number;
    return account_find_or_make(t, first, stack, start);
}

#endif
