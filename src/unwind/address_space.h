/*
 * address_space: how the unwinder reads the memory and finds the code of a process.
 *
 * Memory is read through callbacks, so that the same code walks this thread's own stack and a
 * copied one. The recorder's space is in record/modules.c, the collector's in
 * collect/sampling/sampled_stack.c.
 */
#ifndef TIDE_UNWIND_ADDRESS_SPACE_H
#define TIDE_UNWIND_ADDRESS_SPACE_H

#include <stdbool.h>

#include "machine/code.h"
#include "machine/registers.h"
#include "unwind/call_sites.h"
#include "unwind/cfi.h"

/* Where code is: filled by the owner of the address space (record/modules.c in a program,
 * collect/sampling/sampled_stack.c for copied stacks). */
struct unwind_module {
    struct cfi_section cfi;
    uint32_t epoch; /* distinguishes modules that were at the same addresses at different times */
    /* The code around the address that was looked up, which is certainly readable; both 0: not
     * known. */
    uint64_t code_start, code_end;
};

/* How to read the memory and the code of a process. The owner may embed it in a larger struct,
 * which the callbacks find through `self`. */
struct unwind_space {
    /* Returns 0 and the module that contains `address`, or -1: none with unwind information. */
    int (*find)(const struct unwind_space *self, uint64_t address, struct unwind_module *out);
    /* Returns 0 and the 8 bytes at `address`, or -1: not readable. */
    int (*read)(const struct unwind_space *self, uint64_t address, uint64_t *out);
    /* Reads 8 bytes of code, if `read` can only read stacks. NULL: `read` can read both. */
    int (*code)(const struct unwind_space *self, uint64_t address, uint64_t *out);
    /* For guesses, which may point anywhere: can the word at `address` be read? NULL: always. */
    bool (*readable)(const struct unwind_space *self, uint64_t address);
    /* Which call ends at this address, if it is in a file's code? NULL: not known. */
    enum step_call (*call)(const struct unwind_space *self, uint64_t address, uint64_t callee);
    /* The same for every callee, as long as no file is unloaded; false: the address is not in a
     * loaded file. NULL: answers cannot be kept. */
    bool (*call_site)(const struct unwind_space *self, uint64_t address, struct call_site *out);
    /* For code without unwind information: does a call end at this address, and is its frame
     * removed directly after it? NULL: not known. */
    bool (*epilogue)(const struct unwind_space *self, uint64_t address, struct arch_epilogue *out);
};

/* The callback `read` for the process itself: words that unwind information refers to are always
 * readable. */
static inline int unwind_read_own(const struct unwind_space *self, uint64_t address, uint64_t *out)
{
    (void)self;
    if (address < 4096 || address % 8 || address >> ARCH_ADDRESS_BITS)
        return -1;
    *out = *(const volatile uint64_t *)(uintptr_t)address;
    return 0;
}

#endif
