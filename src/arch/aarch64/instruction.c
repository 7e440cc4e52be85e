/*
 * aarch64 instructions: all have 4 bytes. Branches, adr, adrp, and loads of literals depend on
 * their own address.
 */
#include <string.h>

#include "record/instruction.h"

#define NOP 0xd503201f

static uint32_t word_at(const uint8_t *code)
{
    uint32_t word;
    memcpy(&word, code, sizeof word);
    return word;
}

static int64_t field(uint32_t word, unsigned low, unsigned bits)
{
    return (int64_t)((uint64_t)word << (64 - low - bits)) >> (64 - bits);
}

static bool is_compare_branch(uint32_t word) /* cbz, cbnz */
{
    return (word & 0x7e000000) == 0x34000000;
}

static bool is_test_branch(uint32_t word) /* tbz, tbnz */
{
    return (word & 0x7e000000) == 0x36000000;
}

static bool is_condition_branch(uint32_t word) /* b.cond, bc.cond */
{
    return (word & 0xff000000) == 0x54000000;
}

static bool is_address(uint32_t word) /* adr, adrp */
{
    return (word & 0x1f000000) == 0x10000000;
}

static bool is_literal(uint32_t word) /* ldr, ldrsw, prfm of a place near the instruction */
{
    return (word & 0x3b000000) == 0x18000000;
}

unsigned instruction_decode(const uint8_t *code, size_t size, struct instruction *out)
{
    if (size < 4)
        return 0;
    uint32_t word = word_at(code);
    enum instruction_kind kind = INSTRUCTION_PLAIN;
    bool relative = false;
    if (word == NOP)
        kind = INSTRUCTION_NOTHING;
    else if ((word & 0xfffffc1f) == 0xd65f0000 || word == 0xd65f0bff || word == 0xd65f0fff)
        kind = INSTRUCTION_RETURN;
    else if ((word & 0xfc000000) == 0x14000000)
        kind = INSTRUCTION_JUMP, relative = true;
    else if ((word & 0xfc000000) == 0x94000000)
        kind = INSTRUCTION_CALL, relative = true;
    else if (is_compare_branch(word) || is_test_branch(word) || is_condition_branch(word))
        kind = INSTRUCTION_BRANCH, relative = true;
    else if ((word & 0xfefff000) == 0xd61f0000)
        kind = INSTRUCTION_JUMP_INDIRECT;
    else if ((word & 0xfefff000) == 0xd63f0000)
        kind = INSTRUCTION_CALL_INDIRECT;
    else
        relative = is_address(word) || is_literal(word);
    *out = (struct instruction){.kind = kind, .length = 4, .relative_size = relative ? 4 : 0};
    return 4;
}

uint64_t instruction_target(const uint8_t *code, const struct instruction *i, uint64_t address)
{
    uint32_t word = word_at(code);
    (void)i;
    if ((word & 0x7c000000) == 0x14000000) /* b, bl */
        return address + (uint64_t)(field(word, 0, 26) * 4);
    if (is_test_branch(word))
        return address + (uint64_t)(field(word, 5, 14) * 4);
    if (is_address(word)) {
        int64_t distance = field(word, 5, 19) * 4 + (word >> 29 & 3);
        return word >> 31 ? (address & ~UINT64_C(4095)) + (uint64_t)distance * 4096
                          : address + (uint64_t)distance;
    }
    return address + (uint64_t)(field(word, 5, 19) * 4);
}

/* Skips a landing mark, if there is one. */
static const uint8_t *skip_landing_mark(const uint8_t *code)
{
    return (word_at(code) & 0xffffff3f) == 0xd503241f ? code + 4 : code; /* bti */
}

/* Is it "mov x0, x1; b TO", perhaps through the linker's stub: adrp x16; ldr x17, [x16, #n]; add
 * x16; br x17? */
bool instruction_hands_on(const void *function, uint64_t to)
{
    const uint8_t *code = skip_landing_mark(function);
    struct instruction i;
    uint64_t slot, target;
    if (word_at(code) != 0xaa0103e0)
        return false;
    code += 4;
    if (!instruction_decode(code, 4, &i) || i.kind != INSTRUCTION_JUMP)
        return false;
    target = instruction_target(code, &i, (uintptr_t)code);
    if (target == to)
        return true;
    code = skip_landing_mark((const uint8_t *)(uintptr_t)target);
    uint32_t load = word_at(code + 4);
    if ((word_at(code) & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
        return false;
    slot = instruction_target(code, &i, (uintptr_t)code) + (load >> 10 & 0xfff) * 8;
    memcpy(&target, (const void *)(uintptr_t)slot, sizeof target);
    return target == to;
}
