/*
 * stack_accounts: for each stack, the account of the thread that first allocated there, by the
 * stack's number. Stacks that are new one after the other have neighbouring entries. Where several
 * threads allocate with the same stack, the others have their accounts in tables of their own
 * (struct account_table). [malloc-free], no lock.
 */
#ifndef TIDE_RECORD_STACK_ACCOUNTS_H
#define TIDE_RECORD_STACK_ACCOUNTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "wire/layout.h"

/* Address of entry 0 as seen from the window; 0: not mapped. Windows are those of slots
 * (wire/layout.h); stacks that were cut have none. */
extern _Atomic uintptr_t stack_accounts_windows[WIRE_WINDOWS - 1];

/* Maps the entry of a stack; NULL: there is no memory, or the stack was cut. */
_Atomic uint32_t *stack_accounts_map(uint32_t stack);
/* For this process: no stack has an account yet. */
void stack_accounts_prepare(void); /* before the program forbids itself to set up memory */
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
