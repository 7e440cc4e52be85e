#include "unwind/signal_return.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#define RETURN UINT64_C(0xd4000001d2801168) /* mov x8, #139 (rt_sigreturn); svc #0 */

/* The kernel's frame: what is known of the signal, then the context. */
#define REGISTERS (sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs))

/* Such code is on a page of its own, which begins with it or has another instruction before. The
 * address comes out of a frame, and may be anything. */
bool signal_returns(const struct unwind_space *space, uint64_t pc)
{
    int (*read)(const struct unwind_space *, uint64_t, uint64_t *) =
        space->code ? space->code : space->read;
    uint64_t code, high;
    if (!read || pc % 4 || pc >> ARCH_ADDRESS_BITS ||
        (space->readable && !space->readable(space, pc & ~UINT64_C(7))))
        return false;
    if (read(space, pc & ~UINT64_C(7), &code))
        return false;
    if (pc % 8) {
        if (read(space, pc + 4, &high))
            return false;
        code = code >> 32 | high << 32;
    }
    return code == RETURN;
}

enum step_end signal_step(const struct unwind_space *space, struct arch_registers *r,
                          struct step_result *result)
{
    struct arch_registers there = {.known = ARCH_BIT(ARCH_REGISTERS) - 1};
    uint64_t at = r->value[ARCH_REG_SP] + REGISTERS;
    _Static_assert(offsetof(mcontext_t, sp) == offsetof(mcontext_t, regs) + 31 * 8 &&
                       offsetof(mcontext_t, pc) == offsetof(mcontext_t, regs) + 32 * 8,
                   "x0 to x30, sp and pc stand in DWARF's order");
    for (unsigned n = 0; n < ARCH_REGISTERS; n++)
        if (space->read(space, at + n * 8, &there.value[n]))
            return STEP_LOST;
    result->return_slot = at + ARCH_REG_PC * 8;
    result->fp_slot = at + ARCH_REG_FP * 8;
    there.value[ARCH_REG_PC]++;
    *r = there;
    return STEP_OK;
}
