/* Replaces a function's first bytes on x86-64. */
#include <cpuid.h>
#include <string.h>

#include "record/entry_patch.h"
#include "record/instruction.h"

/* A slot: hook or number, wrapper, a return address and the trampoline's address; then the stub;
 * then the trampoline. */
#define AT_HOOK       0
#define AT_WRAPPER    8
#define AT_RETURN     16
#define AT_ON         24
#define AT_STUB       32
#define AT_TRAMPOLINE 56

/*
 * Calls a hook for a function of the executable.
 *
 * Within one source file, compilers know which registers a function does not change, whatever the
 * calling convention says, and may have aligned the stack no further than the function needs. So
 * all registers are preserved except the result (of vectors the lower 16 bytes: our own code uses
 * no more), and the stack is aligned. The stub has pushed the frame pointer and the hook. The hook
 * finds its caller through our frame.
 */
__asm__(".text\n"
        ".globl entry_wrapper\n"
        ".hidden entry_wrapper\n"
        ".type entry_wrapper, @function\n"
        "entry_wrapper:\n"
        ".cfi_startproc\n"
        ".cfi_def_cfa %rbp, 16\n"
        ".cfi_offset %rbp, -16\n"
        "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %r10\npush %r11\n"
        "sub $256, %rsp\n"
        ".set at, 0\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "movups %xmm\\n, at(%rsp)\n"
        ".set at, at + 16\n"
        ".endr\n"
        "and $-16, %rsp\n"
        "call *-8(%rbp)\n"
        "lea -328(%rbp), %rsp\n"
        ".set at, 0\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "movups at(%rsp), %xmm\\n\n"
        ".set at, at + 16\n"
        ".endr\n"
        "add $256, %rsp\n"
        "pop %r11\npop %r10\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
        "leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size entry_wrapper, . - entry_wrapper\n");
extern const char entry_wrapper[] __attribute__((visibility("hidden")));

/*
 * Reports that a function was entered, and continues with it as if nothing had happened.
 *
 * The stub has pushed the address to continue at, and the number. All registers are preserved, with
 * whole vectors: on the way to a new thread's ring, for example, functions of libc use all of them.
 * The last jump reads what is just below the stack pointer; signal handlers do not touch 128 bytes
 * there.
 */
#define STATE_BYTES 2688
__asm__(".text\n"
        ".globl entry_notify\n"
        ".hidden entry_notify\n"
        ".type entry_notify, @function\n"
        "entry_notify:\n"
        ".cfi_startproc\n"
        ".cfi_def_cfa %rsp, 24\n"
        "push %rbp\n"
        ".cfi_def_cfa %rsp, 32\n"
        ".cfi_offset %rbp, -32\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa %rbp, 32\n"
        "push %rax\npush %rcx\npush %rdx\npush %rsi\npush %rdi\n"
        "push %r8\npush %r9\npush %r10\npush %r11\n"
        "sub $2688, %rsp\n"
        "and $-64, %rsp\n"
        ".set at, 512\n" /* the state's header must be zero */
        ".rept 8\n"
        "movq $0, at(%rsp)\n"
        ".set at, at + 8\n"
        ".endr\n"
        "mov entry_state(%rip), %eax\n"
        "xor %edx, %edx\n"
        "xsave (%rsp)\n"
        "mov 8(%rbp), %rdi\n"
        "cld\n"
        "call entry_reached\n"
        "mov entry_state(%rip), %eax\n"
        "xor %edx, %edx\n"
        "xrstor (%rsp)\n"
        "lea -72(%rbp), %rsp\n"
        "pop %r11\npop %r10\npop %r9\npop %r8\n"
        "pop %rdi\npop %rsi\npop %rdx\npop %rcx\npop %rax\n"
        "pop %rbp\n"
        ".cfi_def_cfa %rsp, 24\n"
        ".cfi_restore %rbp\n"
        "lea 16(%rsp), %rsp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "jmp *-8(%rsp)\n"
        ".cfi_endproc\n"
        ".size entry_notify, . - entry_notify\n");
extern const char entry_notify[] __attribute__((visibility("hidden")));

/* SSE, AVX and the three parts of AVX-512, if the machine has them. */
#define STATE_PARTS 0xe6u
uint32_t entry_state __attribute__((visibility("hidden")));

bool entry_can_notify(void)
{
    uint32_t a, b, c, d, parts, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return false;
    __asm__("xgetbv" : "=a"(parts), "=d"(high) : "c"(0));
    parts &= STATE_PARTS;
    for (unsigned i = 2; i < 8; i++)
        if (parts >> i & 1 && (!__get_cpuid_count(0xd, i, &a, &b, &c, &d) || a + b > STATE_BYTES))
            return false;
    entry_state = parts;
    return parts & 2;
}

struct writer {
    uint8_t *slot;
    uint64_t address; /* of the slot */
    unsigned at;
    bool failed;
};

static void put(struct writer *w, const void *bytes, unsigned count)
{
    if (w->at + count > ENTRY_SLOT) {
        w->failed = true;
        return;
    }
    memcpy(w->slot + w->at, bytes, count);
    w->at += count;
}

/* Writes the distance from the end of an instruction, `rest` bytes after these four. */
static void put_distance(struct writer *w, uint64_t target, unsigned rest)
{
    int64_t distance = (int64_t)(target - (w->address + w->at + 4 + rest));
    int32_t near = (int32_t)distance;
    if (near != distance)
        w->failed = true;
    put(w, &near, 4);
}

static void put_relative(struct writer *w, const char *opcode, unsigned size, uint64_t target)
{
    put(w, opcode, size);
    put_distance(w, target, 0);
}

/* Writes one instruction that has the same effect at its new place. */
static void put_moved(struct writer *w, const uint8_t *code, const struct instruction *i,
                      uint64_t address)
{
    uint64_t target = i->relative_at ? instruction_target(code, i, address) : 0;
    uint64_t behind = address + i->length;
    const uint8_t *opcode = code + i->opcode_at;
    char branch[2] = {0x0f, (char)(0x80 | ((*opcode == 0x0f ? opcode[1] : *opcode) & 15))};
    switch (i->kind) {
    case INSTRUCTION_JUMP:
        put_relative(w, "\xe9", 1, target);
        return;
    case INSTRUCTION_BRANCH:
        put_relative(w, branch, 2, target);
        return;
    case INSTRUCTION_COUNTED:
        w->failed = true;
        return;
    case INSTRUCTION_CALL:
    case INSTRUCTION_CALL_INDIRECT:
        /* It returns to the original place: an unwinder then finds the function, not the slot. */
        if (i->kind == INSTRUCTION_CALL_INDIRECT && (i->length != 6 || !i->relative_at)) {
            w->failed = true;
            return;
        }
        memcpy(w->slot + AT_RETURN, &behind, 8);
        put_relative(w, "\xff\x35", 2, w->address + AT_RETURN); /* push */
        if (i->kind == INSTRUCTION_CALL)
            put_relative(w, "\xe9", 1, target);
        else
            put_relative(w, "\xff\x25", 2, target);
        return;
    default:
        if (!i->relative_at) {
            put(w, code, i->length);
            return;
        }
        unsigned rest = i->length - i->relative_at - 4;
        put(w, code, i->relative_at);
        put_distance(w, target, rest);
        put(w, code + i->relative_at + 4, rest);
    }
}

static bool ends(enum instruction_kind kind)
{
    return kind == INSTRUCTION_RETURN || kind == INSTRUCTION_JUMP ||
           kind == INSTRUCTION_JUMP_INDIRECT || kind == INSTRUCTION_CALL ||
           kind == INSTRUCTION_CALL_INDIRECT; /* when moved, these return to the function */
}

/*
 * Does the last instruction that begins inside the replaced bytes set up the frame, or store an
 * argument in it? That is done once, so nothing jumps to it or before it.
 */
static bool sets_up_frame(const struct entry *e)
{
    struct instruction i;
    const uint8_t *last = e->code;
    for (unsigned at = 0; at < ENTRY_PATCH; at += i.length) {
        last = e->code + at;
        if (!instruction_decode(last, e->readable - at, &i))
            return false;
    }
    const uint8_t *op = last + i.opcode_at;
    uint8_t modrm = i.length > i.opcode_at + 1 ? op[1] : 0;
    bool is_push = op[0] >= 0x50 && op[0] <= 0x57;
    bool takes_room = (op[0] == 0x83 || op[0] == 0x81) && modrm == 0xec;
    bool sets_frame = (op[0] == 0x89 && modrm == 0xe5) || (op[0] == 0x8b && modrm == 0xec);
    bool stores = op[0] == 0x89 && (modrm & 0xc7) == 0x45;
    return is_push || takes_room || sets_frame || stores;
}

/* Is it `jmp *%rax`, or a jump through a table? It may be a switch, and lead anywhere in the
 * function. */
static bool is_table_jump(const uint8_t *code, const struct instruction *i)
{
    uint8_t modrm = code[i->opcode_at + 1];
    return i->kind == INSTRUCTION_JUMP_INDIRECT && (modrm >> 6 == 3 || (modrm & 7) == 4);
}

/*
 * Does anything in the function lead to its first `taken` bytes? Its very first byte may be called
 * or pointed to, but not jumped to: that would be a loop, with values in registers that a call does
 * not preserve.
 */
static bool leads_into_patch(const struct entry *e, unsigned taken)
{
    struct instruction i;
    bool settled = !e->hook && sets_up_frame(e);
    if (e->cut && !e->hook && !settled)
        return true;
    for (size_t at = 0; at < e->size; at += i.length) {
        if (!instruction_decode(e->code + at, e->size - at, &i))
            return !settled; /* not certain */
        if (!e->hook && !settled && is_table_jump(e->code + at, &i))
            return true;
        if (!i.relative_at)
            continue;
        uint64_t into = instruction_target(e->code + at, &i, e->address + at) - e->address;
        bool jumps = i.kind == INSTRUCTION_JUMP || i.kind == INSTRUCTION_BRANCH ||
                     i.kind == INSTRUCTION_COUNTED;
        if (into < taken && (into > 0 || jumps))
            return true;
    }
    return false;
}

bool entry_make(const struct entry *e, uint8_t slot[ENTRY_SLOT], uint64_t slot_address,
                uint8_t patch[ENTRY_PATCH], uint64_t *trampoline)
{
    struct writer w = {.slot = slot, .address = slot_address, .at = AT_STUB};
    const void *wrapper = e->hook ? entry_wrapper : entry_notify;
    *trampoline = slot_address + AT_TRAMPOLINE;
    memcpy(slot + AT_HOOK, e->hook ? (const void *)&e->hook : &e->number, 8);
    memcpy(slot + AT_WRAPPER, &wrapper, 8);
    memcpy(slot + AT_ON, trampoline, 8);
    if (e->hook)
        put(&w, "\x55\x48\x89\xe5", 4); /* push %rbp; mov %rsp, %rbp */
    else
        put_relative(&w, "\xff\x35", 2, slot_address + AT_ON);  /* push */
    put_relative(&w, "\xff\x35", 2, slot_address + AT_HOOK);    /* push */
    put_relative(&w, "\xff\x25", 2, slot_address + AT_WRAPPER); /* jmp */

    w.at = AT_TRAMPOLINE;
    unsigned taken = 0;
    bool ended = false;
    while (taken < ENTRY_PATCH) {
        struct instruction i;
        if ((!ended && taken >= e->size) ||
            !instruction_decode(e->code + taken, e->readable - taken, &i))
            return false;
        if (ended && i.kind != INSTRUCTION_NOTHING)
            return false; /* too short, and other code follows */
        if (!ended)
            put_moved(&w, e->code + taken, &i, e->address + taken);
        ended |= ends(i.kind);
        taken += i.length;
    }
    if (!ended)
        put_relative(&w, "\xe9", 1, e->address + taken);

    struct writer p = {.slot = patch, .address = e->address};
    put_relative(&p, "\xe9", 1, slot_address + AT_STUB);
    return !w.failed && !p.failed && !leads_into_patch(e, taken);
}

size_t entry_empty(const uint8_t code[16])
{
    static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
    size_t at = memcmp(code, landing, sizeof landing) == 0 ? sizeof landing : 0;
    return code[at] == 0xc3 ? at + 1 : 0;
}

bool entry_calls(const struct entry *e, const uint64_t *functions, size_t count)
{
    struct instruction i;
    for (size_t at = 0; at < e->size; at += i.length) {
        if (!instruction_decode(e->code + at, e->size - at, &i))
            return false;
        if (!i.relative_at)
            continue;
        uint64_t target = instruction_target(e->code + at, &i, e->address + at);
        if (entry_among(target, functions, count))
            return true;
    }
    return false;
}
