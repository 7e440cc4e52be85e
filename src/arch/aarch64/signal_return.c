#include "unwind/signal_return.h"

#include <elf.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#define RETURN UINT64_C(0xd4000001d2801168) /* mov x8, #139 (rt_sigreturn); svc #0 */

/* The kernel's frame: information about the signal, then the context. */
#define REGISTERS (sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs))

/* Where this process has these instructions, in the page of code that the kernel provides; 0:
 * nowhere, as under some emulators. It is found once: a walk must neither ask the kernel nor read
 * what it may not. */
static uint64_t own_return(void)
{
    static _Atomic uint64_t kept; /* + 1 */
    uint64_t found = atomic_load_explicit(&kept, memory_order_relaxed);
    if (found)
        return found - 1;
    const Elf64_Ehdr *file = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Phdr *segments = file ? (const void *)((const char *)file + file->e_phoff) : NULL;
    for (unsigned i = 0; file && !found && i < file->e_phnum; i++)
        for (uint64_t at = 0; segments[i].p_type == PT_LOAD && at + 8 <= segments[i].p_filesz;
             at += 4) {
            const char *code = (const char *)file + segments[i].p_offset + at;
            if (memcmp(code, &(uint64_t){RETURN}, 8) == 0)
                found = (uint64_t)(uintptr_t)code;
        }
    atomic_store_explicit(&kept, found + 1, memory_order_relaxed);
    return found;
}

static bool read_word(const struct unwind_space *space, uint64_t address, uint64_t *out)
{
    if (space->code)
        return space->code(space, address, out) == 0;
    return space->read && (!space->readable || space->readable(space, address)) &&
           space->read(space, address, out) == 0;
}

/* For another process the code is read. The address comes from a frame, and may be anything. */
bool signal_returns(const struct unwind_space *space, uint64_t pc)
{
    uint64_t own = space->code ? 0 : own_return(), code, high;
    if (own || pc % 4 || pc >> ARCH_ADDRESS_BITS)
        return own && pc == own;
    if (!read_word(space, pc & ~UINT64_C(7), &code))
        return false;
    if (pc % 8) {
        if (!read_word(space, pc + 4, &high))
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
