/*
 * Replaces the entry of a function on aarch64: one instruction becomes a branch.
 *
 * It is the first instruction, with two exceptions. A landing mark (bti) must stay where it is,
 * because a processor that checks indirect calls refuses other targets. So must the instruction
 * that signs the return address, which is a landing mark too. Then the second instruction is
 * replaced, and the stub begins by undoing what the first has done.
 */
#include <asm/hwcap.h>
#include <string.h>
#include <sys/auxv.h>

#include "record/entry_patch.h"
#include "record/instruction.h"

/* A slot: hook or number, wrapper, the trampoline's address, two addresses that moved instructions
 * need; then the stub; then the trampoline. */
#define AT_HOOK       0
#define AT_WRAPPER    8
#define AT_ON         16
#define AT_FIRST      24
#define AT_SECOND     32
#define AT_STUB       40
#define AT_TRAMPOLINE 64

#define PACIASP 0xd503233fu
#define PACIBSP 0xd503237fu
#define AUTIASP 0xd50323bfu
#define AUTIBSP 0xd50323ffu
#define RET     0xd65f03c0u

/*
 * Runs `call` and preserves all vector registers. If they may be longer than 16 bytes they are
 * saved whole, because loading the first 16 clears the rest. x17 is overwritten; afterwards the
 * frame must be found through x29.
 */
#define LOW  "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
#define HIGH "16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
#define KEEP_VECTORS(call)                                                                         \
    "adrp x17, entry_sve\n"                                                                        \
    "ldr w17, [x17, #:lo12:entry_sve]\n"                                                           \
    "cbnz w17, 1f\n"                                                                               \
    "sub sp, sp, #512\n"                                                                           \
    ".irp n, " LOW "str q\\n, [sp, #\\n * 16]\n"                                                   \
    ".endr\n"                                                                                      \
    ".irp n, " HIGH "str q\\n, [sp, #\\n * 16]\n"                                                  \
    ".endr\n" call ".irp n, " LOW "ldr q\\n, [sp, #\\n * 16]\n"                                    \
    ".endr\n"                                                                                      \
    ".irp n, " HIGH "ldr q\\n, [sp, #\\n * 16]\n"                                                  \
    ".endr\n"                                                                                      \
    "b 2f\n"                                                                                       \
    "1: addvl sp, sp, #-32\n"                                                                      \
    "addvl sp, sp, #-2\n" /* 16 predicates have an eighth of a vector each */                      \
    ".irp n, " LOW "str p\\n, [sp, #\\n, mul vl]\n"                                                \
    "str z\\n, [sp, #\\n + 2, mul vl]\n"                                                           \
    ".endr\n"                                                                                      \
    ".irp n, " HIGH "str z\\n, [sp, #\\n + 2, mul vl]\n"                                           \
    ".endr\n" call ".irp n, " LOW "ldr p\\n, [sp, #\\n, mul vl]\n"                                 \
    "ldr z\\n, [sp, #\\n + 2, mul vl]\n"                                                           \
    ".endr\n"                                                                                      \
    ".irp n, " HIGH "ldr z\\n, [sp, #\\n + 2, mul vl]\n"                                           \
    ".endr\n"                                                                                      \
    "2:\n"

/* A landing for an indirect jump (hint #36 is bti j), and a frame record. */
#define BEGIN_FRAME                                                                                \
    "hint #36\n"                                                                                   \
    "stp x29, x30, [sp, #-16]!\n"                                                                  \
    ".cfi_def_cfa_offset 16\n"                                                                     \
    ".cfi_offset x29, -16\n"                                                                       \
    ".cfi_offset x30, -8\n"                                                                        \
    "mov x29, sp\n"                                                                                \
    ".cfi_def_cfa x29, 16\n"
/* Restores the caller's registers and stack. */
#define END_FRAME                                                                                  \
    "mov sp, x29\n"                                                                                \
    ".cfi_def_cfa sp, 16\n"                                                                        \
    "ldp x29, x30, [sp], #16\n"                                                                    \
    ".cfi_def_cfa_offset 0\n"                                                                      \
    ".cfi_restore x29\n"                                                                           \
    ".cfi_restore x30\n"

/*
 * Calls a hook for a function of the executable; x16: the slot.
 *
 * Within one source file, compilers know which registers a function does not change, whatever the
 * calling convention says. So all registers are preserved except the result, x16 and x17, which any
 * call may change. The hook finds its caller through our frame record, which is at the end of our
 * frame.
 */
// clang-format off
__asm__(".text\n"
        ".arch_extension sve\n"
        ".globl entry_wrapper\n"
        ".hidden entry_wrapper\n"
        ".type entry_wrapper, %function\n"
        "entry_wrapper:\n"
        ".cfi_startproc\n"
        BEGIN_FRAME
        "sub sp, sp, #128\n"
        "stp x1, x2, [x29, #-128]\n"
        "stp x3, x4, [x29, #-112]\n"
        "stp x5, x6, [x29, #-96]\n"
        "stp x7, x8, [x29, #-80]\n"
        "stp x9, x10, [x29, #-64]\n"
        "stp x11, x12, [x29, #-48]\n"
        "stp x13, x14, [x29, #-32]\n"
        "stp x15, x18, [x29, #-16]\n"
        KEEP_VECTORS("ldr x16, [x16]\n"
                     "blr x16\n")
        "ldp x1, x2, [x29, #-128]\n"
        "ldp x3, x4, [x29, #-112]\n"
        "ldp x5, x6, [x29, #-96]\n"
        "ldp x7, x8, [x29, #-80]\n"
        "ldp x9, x10, [x29, #-64]\n"
        "ldp x11, x12, [x29, #-48]\n"
        "ldp x13, x14, [x29, #-32]\n"
        "ldp x15, x18, [x29, #-16]\n"
        END_FRAME
        "ret\n"
        ".cfi_endproc\n"
        ".size entry_wrapper, . - entry_wrapper\n"
        ".arch_extension nosve\n");
extern const char entry_wrapper[] __attribute__((visibility("hidden")));

/*
 * Reports that a function was entered, and continues with it as if nothing had happened; x16: the
 * slot.
 *
 * All registers are preserved except x16 and x17, which any call may change: on the way to a new
 * thread's ring, for example, functions of libc use all of them. The flags hold nothing when a
 * function begins.
 */
__asm__(".text\n"
        ".arch_extension sve\n"
        ".globl entry_notify\n"
        ".hidden entry_notify\n"
        ".type entry_notify, %function\n"
        "entry_notify:\n"
        ".cfi_startproc\n"
        BEGIN_FRAME
        "sub sp, sp, #160\n"
        "stp x0, x1, [sp]\n"
        "stp x2, x3, [sp, #16]\n"
        "stp x4, x5, [sp, #32]\n"
        "stp x6, x7, [sp, #48]\n"
        "stp x8, x9, [sp, #64]\n"
        "stp x10, x11, [sp, #80]\n"
        "stp x12, x13, [sp, #96]\n"
        "stp x14, x15, [sp, #112]\n"
        "stp x16, x18, [sp, #128]\n"
        KEEP_VECTORS("ldr x0, [x16]\n"
                     "bl entry_reached\n")
        "sub sp, x29, #160\n"
        "ldp x0, x1, [sp]\n"
        "ldp x2, x3, [sp, #16]\n"
        "ldp x4, x5, [sp, #32]\n"
        "ldp x6, x7, [sp, #48]\n"
        "ldp x8, x9, [sp, #64]\n"
        "ldp x10, x11, [sp, #80]\n"
        "ldp x12, x13, [sp, #96]\n"
        "ldp x14, x15, [sp, #112]\n"
        "ldp x16, x18, [sp, #128]\n"
        END_FRAME
        "ldr x16, [x16, #16]\n"
        "br x16\n"
        ".cfi_endproc\n"
        ".size entry_notify, . - entry_notify\n"
        ".arch_extension nosve\n");
// clang-format on
extern const char entry_notify[] __attribute__((visibility("hidden")));
uint32_t entry_sve __attribute__((visibility("hidden"))); /* vectors may be longer than 16 bytes */

bool entry_can_notify(void)
{
    return true;
}

struct writer {
    uint8_t *slot;
    uint64_t address; /* of the slot */
    unsigned at, size;
    bool failed;
};

static void put(struct writer *w, uint32_t word)
{
    if (w->at + 4 > w->size) {
        w->failed = true;
        return;
    }
    memcpy(w->slot + w->at, &word, 4);
    w->at += 4;
}

static void put_branch(struct writer *w, uint64_t target)
{
    int64_t distance = (int64_t)(target - (w->address + w->at));
    if (distance % 4 || distance >= (int64_t)ENTRY_REACH || distance < -(int64_t)ENTRY_REACH)
        w->failed = true;
    put(w, 0x14000000u | ((uint32_t)(distance / 4) & 0x3ffffff));
}

/* ldr xN, PLACE in the slot */
static void put_load(struct writer *w, unsigned reg, unsigned place)
{
    int32_t distance = (int32_t)place - (int32_t)w->at;
    put(w, 0x58000000u | ((uint32_t)(distance / 4) & 0x7ffff) << 5 | reg);
}

/*
 * Writes one instruction that has the same effect at its new place. `constant`: where in the slot
 * an address may be kept for it. Branches stay direct: a processor that checks indirect branches
 * wants a landing mark at their target, which the target of a direct branch does not have.
 */
static void put_moved(struct writer *w, const uint8_t *code, const struct instruction *i,
                      uint64_t address, unsigned constant)
{
    uint64_t target = i->relative_size ? instruction_target(code, i, address) : 0;
    uint32_t word;
    memcpy(&word, code, 4);
    switch (i->kind) {
    case INSTRUCTION_JUMP:
        put_branch(w, target);
        return;
    case INSTRUCTION_BRANCH: {
        bool tests = (word & 0x7e000000) == 0x36000000;
        uint32_t offsets = tests ? 0x3fffu << 5 : 0x7ffffu << 5;
        put(w, (word & ~offsets) | 2u << 5); /* if taken: beyond the next one */
        put(w, 0x14000002u);                 /* otherwise: after what follows */
        put_branch(w, target);
        return;
    }
    case INSTRUCTION_CALL:
    case INSTRUCTION_CALL_INDIRECT:
        w->failed = true; /* it would return into the slot */
        return;
    default:
        if (!i->relative_size) {
            put(w, word);
        } else if ((word & 0x1f000000) == 0x10000000) { /* adr, adrp */
            memcpy(w->slot + constant, &target, 8);
            put_load(w, word & 31, constant);
        } else {
            w->failed = true; /* a literal */
        }
    }
}

static bool ends(enum instruction_kind kind)
{
    return kind == INSTRUCTION_RETURN || kind == INSTRUCTION_JUMP ||
           kind == INSTRUCTION_JUMP_INDIRECT;
}

static bool is_landing(uint32_t word)
{
    return (word & 0xffffff3f) == 0xd503241f || word == PACIASP || word == PACIBSP;
}

/* Does it save registers or reserve stack space? A function does that once, so nothing jumps to it
 * or before it. */
static bool sets_up_frame(uint32_t word)
{
    return (word & 0xffc003e0) == 0xa98003e0 || /* stp xA, xB, [sp, #-n]! */
           (word & 0xffc003ff) == 0xd10003ff || /* sub sp, sp, #n */
           (word & 0xffe00fe0) == 0xf8000fe0;   /* str xA, [sp, #-n]! */
}

/*
 * Does anything in the function lead to its first `taken` bytes? Its very first byte may be called
 * or pointed to, but not branched to: that would be a loop, with values in registers that a call
 * does not preserve.
 */
static bool leads_into_patch(const struct entry *e, unsigned taken)
{
    struct instruction i;
    uint32_t last;
    memcpy(&last, e->code + taken - 4, 4);
    bool settled = !e->hook && sets_up_frame(last);
    if (e->cut && !e->hook && !settled)
        return true;
    for (size_t at = 0; at + 4 <= e->size; at += 4) {
        instruction_decode(e->code + at, 4, &i);
        if (!e->hook && !settled && i.kind == INSTRUCTION_JUMP_INDIRECT)
            return true; /* perhaps a switch */
        if (!i.relative_size)
            continue;
        uint64_t into = instruction_target(e->code + at, &i, e->address + at) - e->address;
        bool jumps = i.kind == INSTRUCTION_JUMP || i.kind == INSTRUCTION_BRANCH;
        if (into < taken && (into > 0 || jumps))
            return true;
    }
    return false;
}

bool entry_make(const struct entry *e, uint8_t slot[ENTRY_SLOT], uint64_t slot_address,
                uint8_t patch[ENTRY_PATCH], uint64_t *trampoline)
{
    struct writer w = {.slot = slot, .address = slot_address, .at = AT_STUB, .size = AT_TRAMPOLINE};
    const void *wrapper = e->hook ? entry_wrapper : entry_notify;
    struct instruction i;
    uint32_t first;
    if (e->readable < ENTRY_PATCH || e->size < 4)
        return false;
    entry_sve = (getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
    memcpy(&first, e->code, 4);
    bool landing = is_landing(first);
    unsigned taken = landing ? 8 : 4;
    if (e->size < taken)
        return false;
    *trampoline = slot_address + AT_TRAMPOLINE;
    memcpy(slot + AT_HOOK, e->hook ? (const void *)&e->hook : &e->number, 8);
    memcpy(slot + AT_WRAPPER, &wrapper, 8);
    memcpy(slot + AT_ON, trampoline, 8);
    if (first == PACIASP || first == PACIBSP)
        put(&w, first == PACIASP ? AUTIASP : AUTIBSP);
    put(&w,
        0x10000000u | (((uint32_t) - (int32_t)w.at / 4) & 0x7ffff) << 5 | 16); /* adr x16, slot */
    put_load(&w, 17, AT_WRAPPER);
    put(&w, 0xd61f0220u); /* br x17 */

    w.at = AT_TRAMPOLINE;
    w.size = ENTRY_SLOT;
    bool ended = false;
    for (unsigned at = 0; at < taken; at += 4) {
        instruction_decode(e->code + at, 4, &i);
        put_moved(&w, e->code + at, &i, e->address + at, at ? AT_SECOND : AT_FIRST);
        ended |= ends(i.kind);
    }
    if (!ended)
        put_branch(&w, e->address + taken);

    struct writer p = {.slot = patch, .address = e->address, .at = taken - 4, .size = ENTRY_PATCH};
    memcpy(patch, e->code, ENTRY_PATCH);
    put_branch(&p, slot_address + AT_STUB);
    return !w.failed && !p.failed && !leads_into_patch(e, taken);
}

size_t entry_empty(const uint8_t code[16])
{
    uint32_t words[2];
    memcpy(words, code, sizeof words);
    return words[0] == RET ? 4 : is_landing(words[0]) && words[1] == RET ? 8 : 0;
}

bool entry_calls(const struct entry *e, const uint64_t *functions, size_t count)
{
    struct instruction i;
    for (size_t at = 0; at + 4 <= e->size; at += 4) {
        instruction_decode(e->code + at, 4, &i);
        if (!i.relative_size)
            continue;
        uint64_t target = instruction_target(e->code + at, &i, e->address + at);
        if (entry_among(target, functions, count))
            return true;
    }
    return false;
}
