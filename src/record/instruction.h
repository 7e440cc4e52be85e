/*
 * instruction: how long a machine instruction is, and whether it depends on its own address. Just
 * enough to move a function's first instructions elsewhere (entry.h) and to see where a function
 * jumps; with one exception, it does not know what instructions do. Reads nothing beyond the given
 * size, and refuses what it does not know for sure. No state; any thread.
 */
#ifndef TIDE_RECORD_INSTRUCTION_H
#define TIDE_RECORD_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum instruction_kind {
    INSTRUCTION_PLAIN,
    INSTRUCTION_NOTHING, /* does nothing: padding */
    INSTRUCTION_RETURN,
    INSTRUCTION_JUMP,    /* relative; what follows is not reached from here */
    INSTRUCTION_BRANCH,  /* relative, on a condition */
    INSTRUCTION_COUNTED, /* relative, on a count: has no long form */
    INSTRUCTION_CALL,    /* relative */
    INSTRUCTION_JUMP_INDIRECT,
    INSTRUCTION_CALL_INDIRECT
};

struct instruction {
    enum instruction_kind kind;
    unsigned length;
    unsigned opcode_at;     /* its offset */
    unsigned relative_at;   /* offset of a distance from the end of the instruction; 0: none */
    unsigned relative_size; /* 1 or 4. In an instruction that does not jump: 4, of an operand */
};

/* Its length; 0: not known, or cut off. */
unsigned instruction_decode(const uint8_t *code, size_t size, struct instruction *out);

/* The target of its distance, if the instruction is at `address`. */
uint64_t instruction_target(const uint8_t *code, const struct instruction *i, uint64_t address);

/*
 * Does a function only pass its second argument on to `to` by a jump (through the linker's tables,
 * or not)? The function must be callable, because its code is read.
 */
bool instruction_hands_on(const void *function, uint64_t to);

#endif
