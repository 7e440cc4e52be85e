/*
 * entry_patch: replaces the entry of a function by a jump to our hooks.
 *
 * own_malloc.c does this to the malloc of programs that define it themselves. The dynamic linker
 * prefers a function that the executable exports to any preloaded one, so our hooks would never be
 * called. Instead, the first bytes of the executable's own functions are replaced by a jump to us,
 * only in the memory of this process. The replaced instructions are moved into a *trampoline*,
 * which then jumps to the rest of the function; the hook calls the trampoline as the original
 * function. Either all functions are replaced or none.
 *
 *   function:  jmp stub            stub: push frame, hook; jmp entry_wrapper ─► hook
 *              rest  ◄───────────  trampoline: moved instructions; jmp rest  ◄─ next.malloc
 *
 * own_malloc.c finds the functions, patch.c writes, arch/MACHINE/entry_patch.c makes the
 * instructions. It is called once, by the only thread, while the program is being loaded.
 * [malloc-free]
 *
 * other_names.c does the same to allocators that are called by other names.
 *
 * mark_on.c does it to any function whose entries shall be marks. There the stub calls
 * entry_reached, jumps to the trampoline, and leaves nothing on the stack:
 *
 *   function:  jmp stub            stub: push where to go on, number; jmp entry_notify
 *              rest  ◄───────────  trampoline: moved instructions; jmp rest  ◄─┘
 */
#ifndef TIDE_RECORD_ENTRY_PATCH_H
#define TIDE_RECORD_ENTRY_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/patch.h"

struct entry {
    uint64_t address;    /* address of the function */
    const uint8_t *code; /* a copy of it */
    size_t size;
    size_t readable; /* bytes in the copy, including padding after the function */
    /* Compiled with FROM_ENTRY (recorder.h); NULL: the stub calls entry_reached(number). */
    const void *hook;
    uint64_t number; /* the argument of entry_reached */
    bool cut;        /* the function is longer than `size` */
};

/* Can the stub save and restore all registers of this machine around entry_reached? */
bool entry_can_notify(void);
/* Called by a stub when a function was entered. The stub has saved the registers. */
void entry_reached(uint64_t number);

/* Fills the slot (stub and trampoline) that will be at slot_address, and the patch that jumps to
 * it. Returns false if the function's beginning cannot be replaced. */
bool entry_make(const struct entry *e, uint8_t slot[ENTRY_SLOT], uint64_t slot_address,
                uint8_t patch[ENTRY_PATCH], uint64_t *trampoline);

/* The size of a function that only returns, perhaps after a landing mark; 0: the function does
 * more. */
size_t entry_empty(const uint8_t code[16]);

static inline bool entry_among(uint64_t address, const uint64_t *functions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (functions[i] == address)
            return true;
    return false;
}

/* Does the function of `e` call, or jump to, one of these functions? */
bool entry_calls(const struct entry *e, const uint64_t *functions, size_t count);

#endif
