/*
 * stack_accounts: an array, indexed by the number of a stack, of the account of the thread that
 * first allocated with the stack. Stacks that were added one after the other have neighbouring
 * entries. If several threads allocate with the same stack, each of the others has its account in a
 * table of its own (struct account_table). [malloc-free], no lock.
 */
#ifndef TIDE_RECORD_STACK_ACCOUNTS_H
#define TIDE_RECORD_STACK_ACCOUNTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "wire/layout.h"

/* For each window, the address at which entry 0 would be if the window began there; 0: not mapped.
 * The windows are those of the slots of the stack tree (wire/layout.h); stacks that were cut have
 * none. */
extern _Atomic uintptr_t stack_accounts_windows[WIRE_WINDOWS - 1];

/* Maps the entry of a stack; NULL: there is no memory, or the stack was cut. */
_Atomic uint32_t *stack_accounts_map(uint32_t stack);
/* Maps memory for some stacks, before the program forbids itself to map it. */
void stack_accounts_prepare(void);
/* Begins anew for this process: no stack has an account yet. */
void stack_accounts_reset(void);

/* The entry of a stack; NULL: it is not mapped. It is 0 if there is no account yet. */
static inline _Atomic uint32_t *stack_accounts_at(uint32_t stack)
{
    unsigned window = wire_window(stack);
    uintptr_t first =
        window < WIRE_WINDOWS - 1
            ? atomic_load_explicit(&stack_accounts_windows[window], memory_order_acquire)
            : 0;
    return first ? (_Atomic uint32_t *)(first + (uintptr_t)stack * sizeof(uint32_t)) : NULL;
}

#endif
