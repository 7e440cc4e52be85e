/*
 * step: from one frame to its caller with all registers, for whatever the rules of rule.h cannot
 * hold.
 *
 * This is the slow, complete way: it runs the call frame instructions and their expressions each
 * time. The fast way is walk.h, which comes here for signal frames, the loader's trampolines,
 * realigned stacks and hand-written code.
 *
 * [malloc-free] [async-signal-safe]. Memory is read through a function, so that the same code walks
 * this thread's own stack and a copied one.
 */
#ifndef TIDE_UNWIND_STEP_H
#define TIDE_UNWIND_STEP_H

#include <stdbool.h>

#include "machine/code.h"
#include "machine/registers.h"
#include "unwind/cfi.h"

/* Where code lives: filled by the owner of the address space (record/modules.c in a program,
 * collect/sampling/sampled_stack.c for copied stacks). */
struct unwind_module {
    struct cfi_section cfi;
    uint32_t epoch; /* tells modules apart that were at the same addresses at different times */
};

/* Its owner may embed it in something larger, which the functions find through `self`. */
enum step_call {
    CALL_NONE,   /* none: it is no return address */
    CALL_ANY,    /* through a pointer, or of a function that `callee` is not in */
    CALL_FRAMED, /* by name, of a function that `callee` may be in, which keeps a frame pointer, */
    CALL_BARE    /* or which does not begin so */
};

struct unwind_space {
    /* 0 and the module that holds `address`, or -1: none with unwind information. */
    int (*find)(const struct unwind_space *self, uint64_t address, struct unwind_module *out);
    /* 0 and the 8 bytes at `address`, or -1: not readable. */
    int (*read)(const struct unwind_space *self, uint64_t address, uint64_t *out);
    /* The same for 8 bytes of code, where `read` knows stacks alone. NULL: `read` has all. */
    int (*code)(const struct unwind_space *self, uint64_t address, uint64_t *out);
    /* For guesses, which may point anywhere: is the word at `address` there? NULL: it always is. */
    bool (*readable)(const struct unwind_space *self, uint64_t address);
    /* What call ends at this address, if it is in a file's code? NULL: nobody can tell. */
    enum step_call (*call)(const struct unwind_space *self, uint64_t address, uint64_t callee);
    /* Of code without unwind information: does a call end at this address, and is its frame taken
     * down directly behind it? NULL: nobody can tell. */
    bool (*epilogue)(const struct unwind_space *self, uint64_t address, struct arch_epilogue *out);
};

/* `read` of the process itself: what unwind information says is there, is there. */
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
    uint64_t fp_slot;     /* likewise for the frame pointer; 0: unchanged */
    uint32_t epoch;
};

enum step_end {
    STEP_OK,
    STEP_OUTERMOST, /* the frame says that it has no caller */
    STEP_LOST       /* no unwind information, or none that makes sense */
};

/*
 * Replaces the registers of a frame by those of its caller. The pc is a return address
 * (the instruction before it is looked up); after a signal frame it becomes the interrupted pc + 1,
 * so that this holds there too.
 */
enum step_end unwind_step(const struct unwind_space *space, struct arch_registers *r,
                          struct step_result *result);

/*
 * May fp be the frame pointer of the function at pc, which has no unwind information and is called
 * at sp? On a stack whose end is not known (`prove`), what is read must be on the same page or
 * proven to be there. Code that keeps no frame pointer leaves its callers' one in place, and
 * following that would leave frames out: but then the return address into its caller is between sp
 * and fp. So what fp leads to must follow a call (or be where a goroutine begins, go.h); if that is
 * not one of this function by name, and it keeps a frame pointer, then nothing between sp and fp
 * may follow a call by name of a function around pc that keeps none. Other return addresses mean
 * nothing: they are left of calls that ended.
 */
bool step_fp_plausible(const struct unwind_space *space, uint64_t pc, uint64_t sp, uint64_t fp,
                       bool prove);

/* Without unwind information and with a frame pointer of 0, as the kernel starts a program: did
 * nobody call it? Then no return address is further out, up to `end` or for some kilobytes. */
bool step_is_first(const struct unwind_space *space, uint64_t sp, uint64_t end, bool prove);

/* The frame pointer's frame: [fp] is the caller's fp, [fp + 8] the return address. For code without
 * unwind information. */
enum step_end unwind_step_fp(const struct unwind_space *space, struct arch_registers *r,
                             struct step_result *result);

#endif
