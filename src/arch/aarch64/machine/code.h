/*
 * code: what the aarch64 instructions around a return address show: is there a call before it, does
 * a function keep a frame pointer, how is a frame removed. Reads only the bytes that it is given.
 */
#ifndef TIDE_MACHINE_CODE_H
#define TIDE_MACHINE_CODE_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t arch_word(const uint8_t *code)
{
    uint32_t word;
    __builtin_memcpy(&word, code, sizeof word);
    return word;
}

/* Can instructions contain a whole address, in eight bytes? */
#define ARCH_CODE_HAS_ADDRESSES false

#define ARCH_CALL_LONGEST 4
/* How far a call by name can be from the function, in bytes. */
#define ARCH_CALL_REACH (UINT64_C(1) << 27)

/* Does a call end here? `code`: the bytes before a return address. */
static inline bool arch_is_call(const uint8_t code[ARCH_CALL_LONGEST])
{
    uint32_t word = arch_word(code);
    return (word & 0xfc000000) == 0x94000000 || /* bl */
           (word & 0xfffffc1f) == 0xd63f0000 || /* blr */
           (word & 0xfefff800) == 0xd63f0800;   /* blraa and its like */
}

#define ARCH_FUNCTION_LARGEST (64 << 10)
#define ARCH_PROLOGUE         64

/* The target of such a call, if the instruction contains it. */
static inline bool arch_call_target(const uint8_t code[ARCH_CALL_LONGEST], uint64_t address,
                                    uint64_t *target)
{
    uint32_t word = arch_word(code);
    if ((word & 0xfc000000) != 0x94000000)
        return false;
    int64_t distance = (int32_t)(word << 6) >> 4;
    *target = address - ARCH_CALL_LONGEST + (uint64_t)distance;
    return true;
}

/* Does the call name a function to which the code at `callee` may belong? Then *target is where
 * that function begins. */
static inline bool arch_calls_around(const uint8_t code[ARCH_CALL_LONGEST], uint64_t address,
                                     uint64_t callee, uint64_t *target)
{
    return arch_call_target(code, address, target) && callee - *target < ARCH_FUNCTION_LARGEST;
}

/* Does a function that begins like this keep a frame pointer? It stores x29 and x30 side by side,
 * then points x29 at them, before any branch. */
static inline bool arch_keeps_frame(const uint8_t code[ARCH_PROLOGUE])
{
    bool stored = false;
    for (unsigned at = 0; at < ARCH_PROLOGUE; at += 4) {
        uint32_t word = arch_word(code + at);
        stored |= (word & 0xff407fff) == 0xa9007bfd; /* stp x29, x30, [sp, #n], perhaps with ! */
        if (stored && (word & 0xffc003ff) == 0x910003fd) /* add x29, sp, #n; or mov x29, sp */
            return true;
        if ((word & 0x1c000000) == 0x14000000)     /* branches and system instructions; */
            if ((word & 0xfffff01f) != 0xd503201f) /* hints (paciasp, bti) go on */
                return false;
    }
    return false;
}

/* The stack space that such a function reserves below its frame record: gcc's frames have none. */
static inline uint64_t arch_frame_room(const uint8_t code[ARCH_PROLOGUE], uint64_t most)
{
    (void)code;
    (void)most;
    return 0;
}

/* How a frame is removed after a call: sp grows by `size`. */
struct arch_epilogue {
    uint32_t size;
    uint32_t fp; /* offset of the frame record in it */
};

#define ARCH_EPILOGUE_LONGEST 16

/*
 * Does the code after a call remove its frame and return, with nothing in between? Then that is as
 * good as unwind information. Trampolines are such code, and have no unwind information: those of
 * CPython's -X perf are stp x29, x30, [sp, #-16]!; mov x29, sp; blr x3; ldp x29, x30, [sp], #16;
 * ret.
 */
static inline bool arch_epilogue(const uint8_t code[ARCH_EPILOGUE_LONGEST],
                                 struct arch_epilogue *out)
{
    *out = (struct arch_epilogue){.fp = UINT32_MAX};
    for (unsigned at = 0; at < ARCH_EPILOGUE_LONGEST; at += 4) {
        uint32_t word = arch_word(code + at);
        if (word == 0xd65f03c0 || word == 0xd65f0bff || word == 0xd65f0fff) /* ret, retaa, retab */
            return out->fp != UINT32_MAX;
        if (word == 0xd50323bf || word == 0xd50323ff) /* autiasp, autibsp */
            continue;
        if (out->fp != UINT32_MAX || (word & 0xffe07fff) != 0xa8c07bfd) /* ldp x29, x30, [sp], #n */
            return false;
        out->fp = 0;
        out->size = (word >> 15 & 0x3f) * 8;
    }
    return false;
}

/* Offsets from the stack pointer after the call: of the return address, and of the caller's stack
 * pointer. */
static inline uint64_t arch_epilogue_return(const struct arch_epilogue *e)
{
    return e->fp + 8;
}

static inline uint64_t arch_epilogue_end(const struct arch_epilogue *e)
{
    return e->size;
}

#endif
