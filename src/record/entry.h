/*
 * entry: programs that define malloc themselves.
 *
 * The dynamic linker prefers a function that the executable exports to any preloaded one, so our
 * hooks would never be called. Instead, the first bytes of the executable's own functions are
 * replaced by a jump to us, in this process's memory alone. What stood there is moved into a
 * *trampoline*, which goes on behind the jump: that is then the next in line. All functions or
 * none.
 *
 *   function:  jmp stub            stub: push frame, hook; jmp entry_wrapper ─► hook
 *              rest  ◄───────────  trampoline: moved instructions; jmp rest  ◄─ next.malloc
 *
 * entry.c finds the functions, patch.c writes, arch/MACHINE/entry.c knows the machine. Called once,
 * by the only thread, while the program is being loaded. [malloc-free]
 *
 * mark_on.c does the same to any function whose entries shall be marks. There the stub calls
 * entry_reached, goes on to the trampoline, and leaves nothing on the stack:
 *
 *   function:  jmp stub            stub: push where to go on, number; jmp entry_notify
 *              rest  ◄───────────  trampoline: moved instructions; jmp rest  ◄─┘
 */
#ifndef TIDE_RECORD_ENTRY_H
#define TIDE_RECORD_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/patch.h"

struct entry {
    uint64_t address;    /* of the function */
    const uint8_t *code; /* a copy of it */
    size_t size;
    size_t readable;  /* bytes in the copy: padding behind the function, too */
    const void *hook; /* compiled with FROM_ENTRY (recorder.h); NULL: entry_reached is called, */
    uint64_t number;  /* with this */
    bool cut;         /* the function is longer than `size` */
};

/* Can this machine's registers be kept, all of them, while entry_reached runs? */
bool entry_can_notify(void);
/* A function was entered. Its caller's registers are safe. */
void entry_reached(uint64_t number);

/* Fills a slot that will be at slot_address. False: the function's beginning cannot be replaced. */
bool entry_make(const struct entry *e, uint8_t slot[ENTRY_SLOT], uint64_t slot_address,
                uint8_t patch[ENTRY_PATCH], uint64_t *trampoline);

/* The size of a function that does nothing but return, perhaps with a landing mark before that; 0:
 * it is another. */
size_t entry_empty(const uint8_t code[16]);

static inline bool entry_among(uint64_t address, const uint64_t *functions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (functions[i] == address)
            return true;
    return false;
}

/* Does it call, or jump to, one of these functions? */
bool entry_calls(const struct entry *e, const uint64_t *functions, size_t count);

#endif
