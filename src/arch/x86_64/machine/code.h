/*
 * code: what the x86-64 instructions around a return address show: is there a call before it, does
 * a function keep a frame pointer, how is a frame removed. Reads only the bytes that it is given.
 */
#ifndef TIDE_MACHINE_CODE_H
#define TIDE_MACHINE_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Can instructions contain a whole address, in eight bytes? */
#define ARCH_CODE_HAS_ADDRESSES true

#define ARCH_CALL_LONGEST 7
/* How far a call by name can be from the function, in bytes. */
#define ARCH_CALL_REACH (UINT64_C(1) << 31)

/* Does a call end here? `code`: the bytes before a return address. */
static inline bool arch_is_call(const uint8_t code[ARCH_CALL_LONGEST])
{
    static const uint8_t lengths[] = {2, 3, 4, 6, 7}; /* of calls through a pointer */
    if (code[ARCH_CALL_LONGEST - 5] == 0xe8)
        return true;
    for (unsigned i = 0; i < sizeof lengths; i++) {
        const uint8_t *at = code + ARCH_CALL_LONGEST - lengths[i];
        if (at[0] == 0xff && (at[1] & 0x38) == 0x10)
            return true;
    }
    return false;
}

#define ARCH_FUNCTION_LARGEST (64 << 10)
#define ARCH_PROLOGUE         64

/* The target of such a call, if the instruction contains it. */
static inline bool arch_call_target(const uint8_t code[ARCH_CALL_LONGEST], uint64_t address,
                                    uint64_t *target)
{
    int32_t distance;
    if (code[ARCH_CALL_LONGEST - 5] != 0xe8)
        return false;
    __builtin_memcpy(&distance, code + ARCH_CALL_LONGEST - 4, sizeof distance);
    *target = address + (uint64_t)(int64_t)distance;
    return true;
}

/* Does the call name a function to which the code at `callee` may belong? Then *target is where
 * that function begins. */
static inline bool arch_calls_around(const uint8_t code[ARCH_CALL_LONGEST], uint64_t address,
                                     uint64_t callee, uint64_t *target)
{
    return arch_call_target(code, address, target) && callee - *target < ARCH_FUNCTION_LARGEST;
}

/* If `code` begins with these bytes and then so many of any value, their total size; otherwise
 * 0. */
static inline unsigned arch_begins(const uint8_t *code, const char *bytes, unsigned size,
                                   unsigned any)
{
    return __builtin_memcmp(code, bytes, size) == 0 ? size + any : 0;
}

/* Go functions first check whether there is room on the stack. */
static inline unsigned arch_go_check(const uint8_t *code)
{
    unsigned at = 0, more;
    at += arch_begins(code, "\x64\x48\x8b\x0c\x25\xf8\xff\xff\xff", 9, 0); /* mov %fs:-8, %rcx */
    more = arch_begins(code + at, "\x4c\x8d\x64\x24", 4, 1);               /* lea n(%rsp), %r12 */
    at += more ? more : arch_begins(code + at, "\x4c\x8d\xa4\x24", 4, 4);
    more = arch_begins(code + at, "\x49\x3b\x66\x10", 4, 0);               /* cmp 16(%r14), %rsp */
    more = more ? more : arch_begins(code + at, "\x4d\x3b\x66\x10", 4, 0); /* %r12 */
    more = more ? more : arch_begins(code + at, "\x48\x3b\x61\x10", 4, 0); /* 16(%rcx), %rsp */
    if (!more)
        return 0;
    at += more;
    more = arch_begins(code + at, "\x76", 1, 1); /* jbe */
    more = more ? more : arch_begins(code + at, "\x0f\x86", 2, 4);
    return more ? at + more : 0;
}

/* Does a function that begins like this keep a frame pointer? push %rbp; mov %rsp, %rbp, or as Go
 * did it up to 1.20: sub $n, %rsp; mov %rbp, m(%rsp); lea m(%rsp), %rbp */
static inline bool arch_keeps_frame(const uint8_t code[ARCH_PROLOGUE])
{
    code += arch_begins(code, "\xf3\x0f\x1e\xfa", 4, 0);
    code += arch_go_check(code);
    if (arch_begins(code, "\x55\x48\x89\xe5", 4, 0))
        return true;
    unsigned room = arch_begins(code, "\x48\x83\xec", 3, 1);
    code += room ? room : arch_begins(code, "\x48\x81\xec", 3, 4);
    unsigned save = arch_begins(code, "\x48\x89\x6c\x24", 4, 1);
    if (save)
        return arch_begins(code + save, "\x48\x8d\x6c\x24", 4, 1) && code[4] == code[save + 4];
    save = arch_begins(code, "\x48\x89\xac\x24", 4, 4);
    return save && arch_begins(code + save, "\x48\x8d\xac\x24", 4, 4) &&
           __builtin_memcmp(code + 4, code + save + 4, 4) == 0;
}

/* The stack space below `most` that such a function reserves by sub from %rsp; 0: none is seen. A
 * large frame may be made in steps of a page (-fstack-clash-protection): then the rest counts. */
static inline uint64_t arch_frame_room(const uint8_t code[ARCH_PROLOGUE], uint64_t most)
{
    for (unsigned at = 0; at + 7 <= ARCH_PROLOGUE; at++) {
        uint32_t room;
        if (code[at] != 0x48 || code[at + 2] != 0xec)
            continue;
        __builtin_memcpy(&room, code + at + 3, sizeof room);
        if (code[at + 1] == 0x83)
            return code[at + 3] < 128 ? code[at + 3] : 0;
        if (code[at + 1] == 0x81 && room < most)
            return room;
    }
    return 0;
}

/* How a frame is removed after a call: sp grows by `size` up to the return address. */
struct arch_epilogue {
    uint32_t size;
    uint32_t fp; /* offset of the caller's frame pointer in it; UINT32_MAX: still in the register */
};

#define ARCH_EPILOGUE_LONGEST 32

/*
 * Does the code after a call remove its frame and return, with nothing in between? Then that is as
 * good as unwind information. Trampolines are such code, and have no unwind information: those of
 * CPython's -X perf are sub $8, %rsp; call *%rcx; add $8, %rsp; ret, or the same with push and pop
 * %rbp.
 */
static inline bool arch_epilogue(const uint8_t code[ARCH_EPILOGUE_LONGEST],
                                 struct arch_epilogue *out)
{
    *out = (struct arch_epilogue){.fp = UINT32_MAX};
    for (unsigned at = 0; at + 7 <= ARCH_EPILOGUE_LONGEST;) {
        const uint8_t *c = code + at;
        if (c[0] == 0xc3 || (c[0] == 0xf3 && c[1] == 0xc3)) /* ret */
            return true;
        if (c[0] == 0x48 && c[1] == 0x83 && c[2] == 0xc4 && c[3] < 128) { /* add $n, %rsp */
            out->size += c[3];
            at += 4;
        } else if (c[0] == 0x48 && c[1] == 0x81 && c[2] == 0xc4 && c[5] == 0 && c[6] == 0) {
            out->size += c[3] | (uint32_t)c[4] << 8;
            at += 7;
        } else if (c[0] >= 0x58 && c[0] <= 0x5f && c[0] != 0x5c) { /* pop, but not %rsp */
            if (c[0] == 0x5d)
                out->fp = out->size;
            out->size += 8;
            at += 1;
        } else if (c[0] == 0x41 && c[1] >= 0x58 && c[1] <= 0x5f) { /* pop %r8 to %r15 */
            out->size += 8;
            at += 2;
        } else {
            return false;
        }
    }
    return false;
}

/* Offsets from the stack pointer after the call: of the return address, and of the caller's stack
 * pointer. */
static inline uint64_t arch_epilogue_return(const struct arch_epilogue *e)
{
    return e->size;
}

static inline uint64_t arch_epilogue_end(const struct arch_epilogue *e)
{
    return e->size + UINT64_C(8);
}

#endif
