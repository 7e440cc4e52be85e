/*
 * step: unwinds one frame with all registers, for code that the rules of rule.h cannot express.
 *
 * This is the slow, complete path: it runs the call frame instructions and their expressions each
 * time. The fast path is walk.h, which calls this for signal frames, the loader's trampolines,
 * realigned stacks and hand-written code. [malloc-free] [async-signal-safe]. Memory is read through
 * a callback, so that the same code walks this thread's own stack and a copied one.
 */
#ifndef TIDE_UNWIND_STEP_H
#define TIDE_UNWIND_STEP_H

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

struct step_result {
    uint64_t return_slot; /* where the return address was read; 0: it was not in memory */
    uint64_t fp_slot;     /* where the caller's frame pointer was read; 0: it is unchanged */
    uint32_t epoch;
};

enum step_end {
    STEP_OK,
    STEP_OUTERMOST, /* the frame says that it has no caller */
    STEP_LOST       /* no unwind information, or none that makes sense */
};

/*
 * Replaces the registers of a frame by those of its caller. The pc is a return address (the
 * instruction before it is looked up); after a signal frame it becomes the interrupted pc + 1, so
 * that the same applies there.
 */
enum step_end unwind_step(const struct unwind_space *space, struct arch_registers *r,
                          struct step_result *result);

/*
 * Can fp be the frame pointer of the function at pc, which has no unwind information and is called
 * at sp? On a stack whose end is not known (`prove`), what is read must be on the same page or
 * proven to be readable.
 *
 * Code that sets no frame pointer keeps that of its caller, and following it would skip frames; but
 * then the return address into its caller is between sp and fp. So the return address at fp must
 * follow a call (or be where a goroutine begins, go.h). If this is not a call of the function by
 * name, and the function keeps a frame pointer, then no word between sp and fp may be a return
 * address after a call by name of a function around pc that keeps none. Other return addresses
 * between sp and fp prove nothing: earlier calls left them there.
 *
 * `sites`: the table of call sites that are remembered [CALL_SITES]; NULL: none are.
 */
bool step_fp_plausible(const struct unwind_space *space, struct call_site *sites, uint64_t pc,
                       uint64_t sp, uint64_t fp, bool prove);

/* Is this the first frame of a program, as the kernel starts it? It has no unwind information, a
 * frame pointer of 0, and no return address further out, up to `end` or for some kilobytes. */
bool step_is_first(const struct unwind_space *space, uint64_t sp, uint64_t end, bool prove);

/* Steps by the frame pointer: [fp] is the caller's fp, [fp + 8] the return address. For code
 * without unwind information. */
enum step_end unwind_step_fp(const struct unwind_space *space, struct arch_registers *r,
                             struct step_result *result);

#endif
