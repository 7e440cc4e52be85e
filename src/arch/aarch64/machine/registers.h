/*
 * registers: aarch64 (AAPCS64): registers by DWARF number, how to read those that a callee must
 * preserve, and how a return address is stored.
 *
 * A call leaves the return address in x30 (lr), and a function that calls others saves it wherever
 * it likes. It may sign it first (pointer authentication): then the bits above the address are not
 * zero, and nothing in memory says so. So these bits are removed from every return address.
 */
#ifndef TIDE_MACHINE_REGISTERS_H
#define TIDE_MACHINE_REGISTERS_H

#include <asm/hwcap.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>

#define ARCH_NAME      "aarch64"               /* the kernel's name */
#define ARCH_MACHINE   EM_AARCH64              /* in ELF files */
#define ARCH_LOADER    "ld-linux-aarch64.so.1" /* glibc's */
#define ARCH_REGISTERS 33                      /* x0-x30, sp, pc */
#define ARCH_REG_FP    29
#define ARCH_REG_SP    31
#define ARCH_REG_PC    32

#define ARCH_ADDRESS_BITS 48 /* of a program's addresses */

/* A frame record (the caller's frame pointer and the return address) may be anywhere in its frame:
 * gcc puts it at the bottom. */
#define ARCH_RECORD_ENDS_FRAME 0

#define ARCH_BIT(n) (UINT64_C(1) << (n))

struct arch_registers {
    uint64_t value[ARCH_REGISTERS];
    uint64_t known; /* ARCH_BIT(n): value[n] is known */
};

/* The registers at this point of the calling function, only those that survive calls. */
static inline __attribute__((always_inline)) void arch_capture(struct arch_registers *r)
{
    uint64_t scratch;
    __asm__ volatile("stp x19, x20, [%1, #152]\n\t"
                     "stp x21, x22, [%1, #168]\n\t"
                     "stp x23, x24, [%1, #184]\n\t"
                     "stp x25, x26, [%1, #200]\n\t"
                     "stp x27, x28, [%1, #216]\n\t"
                     "stp x29, x30, [%1, #232]\n\t"
                     "mov %0, sp\n\t"
                     "str %0, [%1, #248]\n\t"
                     "adr %0, .\n\t"
                     "str %0, [%1, #256]\n\t"
                     : "=&r"(scratch)
                     : "r"(r->value)
                     : "memory");
    r->known = UINT64_C(0x3fff) << 19; /* x19-x30, sp, pc */
}

/* A stored return address without its signature. The instruction (xpaclri) does nothing on
 * processors that do not know it. */
static inline uint64_t arch_return_address(uint64_t kept)
{
    register uint64_t address __asm__("x30") = kept;
    __asm__("hint #7" : "+r"(address));
    return address;
}

/* The return address that a call left in a register; false: not known. */
static inline bool arch_link(const struct arch_registers *r, uint64_t *address)
{
    *address = arch_return_address(r->value[30]);
    return r->known >> 30 & 1;
}

/*
 * The value of a DWARF register that the processor does not have: VG, the length of vectors (SVE)
 * in words of 8 bytes, on which frames with such vectors depend. It is that of this process, and of
 * any other that has not asked for another length.
 */
static inline bool arch_made_up(uint64_t number, uint64_t *value)
{
    if (number != 46 || !(getauxval(AT_HWCAP) & HWCAP_SVE))
        return false;
    register uint64_t bytes __asm__("x0");
    __asm__(".inst 0x04bf5020" : "=r"(bytes)); /* rdvl x0, #1 */
    *value = bytes / 8;
    return true;
}

/* Is it a call frame instruction of this machine that changes nothing for us: the return address is
 * signed from here on, or not (negate_ra_state, and the form with the pc)? */
static inline bool arch_cfi_is_nothing(uint8_t instruction)
{
    return instruction == 0x2d || instruction == 0x2c;
}

#endif
