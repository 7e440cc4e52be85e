#include "unwind/go_stack.h"

#include <string.h>

#define CODE_BYTES 48 /* the most that the instructions up to the return take */
#define PAGE_SHIFT 12

/* Checks each page before a word of it is read, because a walk may come here by mistake; `asked` is
 * the last page. */
static int read_asked(const struct unwind_space *space, uint64_t address, uint64_t *asked,
                      uint64_t *out)
{
    if (*asked != address >> PAGE_SHIFT && space->readable && !space->readable(space, address))
        return -1;
    *asked = address >> PAGE_SHIFT;
    return space->read(space, address, out);
}

#define NO_PAGE UINT64_MAX

/* Reads the code from `from` on. Bytes on a page that cannot be read become 0, which is no known
 * instruction here. Code that the module is known to have needs no check on the first page, where
 * it runs; NULL: none is known. The program may forbid itself to read the next one. */
static void read_code(const struct unwind_space *space, const struct unwind_module *module,
                      uint64_t from, uint8_t *code, unsigned size)
{
    memset(code, 0, size);
    if (!space->read) /* rules are computed without it */
        return;
    uint64_t asked = NO_PAGE;
    for (uint64_t at = from & ~UINT64_C(7); at < from + size; at += 8) {
        uint64_t word;
        uint8_t bytes[8];
        if (module && at >= module->code_start && at + 8 <= module->code_end &&
            at >> PAGE_SHIFT == from >> PAGE_SHIFT)
            asked = at >> PAGE_SHIFT;
        if (read_asked(space, at, &asked, &word))
            return;
        memcpy(bytes, &word, sizeof bytes);
        for (unsigned i = 0; i < 8; i++)
            if (at + i >= from && at + i < from + size)
                code[at + i - from] = bytes[i];
    }
}

enum operation {
    NOTHING,    /* it changes nothing that matters here */
    LOAD_RDI,   /* rdi = [rsp + n] */
    LOAD_RSI,   /* rsi = [rsp + n] */
    LOAD_HIGH,  /* rsi = [rdi + n] */
    SUBTRACT,   /* rsi -= [rsp + n] */
    SWITCH,     /* rsp = rsi */
    POP_FP,     /* rbp = [rsp], rsp += 8 */
    RETURN,     /* rip = [rsp], rsp += 8 */
    OPERATIONS, /* none of these */
};

struct instruction {
    uint8_t size;   /* number of bytes that must match */
    uint8_t number; /* how many bytes follow: n, or bytes that do not matter */
    uint8_t bytes[9];
    enum operation operation;
};

#define LONGEST 9 /* bytes of such an instruction */

static const struct instruction instructions[] = {
    {4, 1, {0x48, 0x8b, 0x7c, 0x24}, LOAD_RDI}, /* mov n(%rsp), %rdi */
    {4, 1, {0x48, 0x8b, 0x74, 0x24}, LOAD_RSI}, /* mov n(%rsp), %rsi */
    {4, 0, {0x48, 0x8b, 0x34, 0x24}, LOAD_RSI}, /* mov (%rsp), %rsi */
    {3, 1, {0x48, 0x8b, 0x77}, LOAD_HIGH},      /* mov n(%rdi), %rsi: g.stack.hi */
    {4, 1, {0x48, 0x2b, 0x74, 0x24}, SUBTRACT}, /* sub n(%rsp), %rsi */
    {4, 0, {0x48, 0x2b, 0x34, 0x24}, SUBTRACT}, /* sub (%rsp), %rsi */
    {3, 0, {0x48, 0x89, 0xf4}, SWITCH},         /* mov %rsi, %rsp */
    {1, 0, {0x5d}, POP_FP},                     /* pop %rbp */
    {1, 0, {0xc3}, RETURN},                     /* ret */
    {3, 1, {0x89, 0x44, 0x24}, NOTHING},        /* mov %eax, n(%rsp): what C returned */
    {4, 0, {0x64, 0x48, 0x89, 0x39}, NOTHING},  /* mov %rdi, %fs:(%rcx): the current g */
    {3, 4, {0x48, 0xc7, 0xc1}, NOTHING},        /* mov $n, %rcx: the offset of that */
    {3, 4, {0x48, 0x8b, 0x0d}, NOTHING},        /* mov n(%rip), %rcx: the same */
    /* Both in one instruction. */
    {9, 0, {0x64, 0x48, 0x89, 0x3c, 0x25, 0xf8, 0xff, 0xff, 0xff}, NOTHING},
};

/* Decodes the instruction at the beginning of `code`: its size and its number. */
static enum operation decode(const uint8_t *code, unsigned room, unsigned *size, int64_t *number)
{
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        const struct instruction *in = &instructions[i];
        *size = in->size + in->number;
        if (*size > room || code[0] != in->bytes[0] || memcmp(code, in->bytes, in->size) != 0)
            continue;
        *number = in->number == 1 ? (int8_t)code[in->size] : 0;
        return in->operation;
    }
    return OPERATIONS;
}

bool go_switches(const struct unwind_space *space, const struct unwind_module *module, uint64_t pc)
{
    uint8_t code[CODE_BYTES];
    unsigned size;
    int64_t number;
    bool switched = false;
    read_code(space, module, pc, code, LONGEST); /* the first instruction mostly decides */
    if (decode(code, LONGEST, &size, &number) == OPERATIONS)
        return false;
    read_code(space, module, pc, code, sizeof code);
    for (unsigned at = 0; at < CODE_BYTES; at += size) {
        enum operation o = decode(code + at, CODE_BYTES - at, &size, &number);
        if (o == RETURN || o == OPERATIONS)
            return o == RETURN && switched;
        switched |= o == SWITCH;
    }
    return false;
}

bool go_is_first(const struct unwind_space *space, const struct unwind_module *module, uint64_t pc)
{
    uint8_t code[7];
    read_code(space, module, pc - 1, code, sizeof code);
    return code[0] == 0x90 && code[1] == 0xe8 && code[6] == 0x90; /* nop, call, nop */
}

enum step_end go_step(const struct unwind_space *space, struct arch_registers *r,
                      struct step_result *result)
{
    uint8_t code[CODE_BYTES];
    uint64_t rdi = 0, rsi = 0, word = 0, sp = r->value[ARCH_REG_SP], fp = r->value[ARCH_REG_FP];
    bool fp_known = r->known >> ARCH_REG_FP & 1;
    uint64_t asked = NO_PAGE;
    unsigned size;
    int64_t number;
    read_code(space, NULL, r->value[ARCH_REG_PC], code, sizeof code);
    for (unsigned at = 0; at < CODE_BYTES; at += size) {
        enum operation o = decode(code + at, CODE_BYTES - at, &size, &number);
        uint64_t from = (o == LOAD_HIGH ? rdi : sp) + (uint64_t)number;
        bool reads = o != NOTHING && o != SWITCH;
        if (o == OPERATIONS || (reads && read_asked(space, from, &asked, &word)))
            return STEP_LOST;
        switch (o) {
        case LOAD_RDI:
            rdi = word;
            break;
        case LOAD_RSI:
        case LOAD_HIGH:
            rsi = word;
            break;
        case SUBTRACT:
            rsi -= word;
            break;
        case SWITCH:
            sp = rsi;
            break;
        case POP_FP:
            result->fp_slot = sp;
            fp = word;
            fp_known = true;
            sp += 8;
            break;
        case RETURN:
            result->return_slot = sp;
            *r = (struct arch_registers){.known = ARCH_BIT(ARCH_REG_SP) | ARCH_BIT(ARCH_REG_PC) |
                                                  (uint64_t)fp_known << ARCH_REG_FP};
            r->value[ARCH_REG_FP] = fp;
            r->value[ARCH_REG_SP] = sp + 8;
            r->value[ARCH_REG_PC] = word;
            return word >> PAGE_SHIFT ? STEP_OK : STEP_LOST;
        default:
            break;
        }
    }
    return STEP_LOST;
}
