/*
 * registers: x86-64 (System V ABI): registers by DWARF number, how to read those that a callee must
 * preserve, and where a frame stores its return address.
 */
#ifndef TIDE_MACHINE_REGISTERS_H
#define TIDE_MACHINE_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_NAME        "x86_64"               /* the kernel's name */
#define ARCH_MACHINE     EM_X86_64              /* in ELF files */
#define ARCH_LOADER      "ld-linux-x86-64.so.2" /* glibc's */
#define ARCH_REGISTERS   17 /* rax rdx rcx rbx rsi rdi rbp rsp r8-r15, return address */
#define ARCH_REG_FP      6
#define ARCH_REG_SP      7
#define ARCH_REG_PC      16
#define ARCH_RETURN_SLOT (-8)

#define ARCH_ADDRESS_BITS 47 /* of a program's addresses */

/* A frame record (the caller's frame pointer and the return address) is the outermost part of its
 * frame, so the caller's stack pointer is where it ends. */
#define ARCH_RECORD_ENDS_FRAME 1

#define ARCH_BIT(n) (UINT64_C(1) << (n))

struct arch_registers {
    uint64_t value[ARCH_REGISTERS];
    uint64_t known; /* ARCH_BIT(n): value[n] is known */
};

/* The registers at this point of the calling function, only those that survive calls. */
static inline __attribute__((always_inline)) void arch_capture(struct arch_registers *r)
{
    __asm__ volatile("movq %%rbx, 24(%0)\n\t"
                     "movq %%rbp, 48(%0)\n\t"
                     "movq %%rsp, 56(%0)\n\t"
                     "movq %%r12, 96(%0)\n\t"
                     "movq %%r13, 104(%0)\n\t"
                     "movq %%r14, 112(%0)\n\t"
                     "movq %%r15, 120(%0)\n\t"
                     "leaq 0(%%rip), %%rax\n\t"
                     "movq %%rax, 128(%0)\n\t"
                     :
                     : "r"(r->value)
                     : "rax", "memory");
    r->known = ARCH_BIT(3) | ARCH_BIT(ARCH_REG_FP) | ARCH_BIT(ARCH_REG_SP) | UINT64_C(0xf) << 12 |
               ARCH_BIT(ARCH_REG_PC);
}

/* A stored return address without what the machine adds to it: nothing here. */
static inline uint64_t arch_return_address(uint64_t kept)
{
    return kept;
}

/* The return address that a call left in a register: x86-64 has none. */
static inline bool arch_link(const struct arch_registers *r, uint64_t *address)
{
    (void)r;
    (void)address;
    return false;
}

/* The value of a DWARF register that the processor does not have: there is none. */
static inline bool arch_made_up(uint64_t number, uint64_t *value)
{
    (void)number;
    (void)value;
    return false;
}

/* Is it a call frame instruction of this machine that changes nothing for us? There are none. */
static inline bool arch_cfi_is_nothing(uint8_t instruction)
{
    (void)instruction;
    return false;
}

#endif
