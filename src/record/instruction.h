/*
 * instruction: how long a machine instruction is, and whether it depends on its own address. This
 * is just enough to move the first instructions of a function (entry_patch.h) and to see where a
 * function jumps; with one exception, it does not know what instructions do. It reads nothing
 * beyond the given size, and refuses instructions that it does not know for sure. It has no state;
 * any thread may call it.
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
    unsigned opcode_at;     /* offset of the opcode */
    unsigned relative_at;   /* offset of a distance from the end of the instruction; 0: none */
    unsigned relative_size; /* 1 or 4 bytes; always 4 if the distance is that of an operand */
};

/* Decodes an instruction. Returns its length; 0: the instruction is not known, or cut off. */
unsigned instruction_decode(const uint8_t *code, size_t size, struct instruction *out);

/* The address that a relative instruction refers to, if the instruction is at `address`. */
uint64_t instruction_target(const uint8_t *code, const struct instruction *i, uint64_t address);

/*
 * Does a function only jump to `to`, directly or through the linker's tables, with its second
 * argument? The function must be callable, because its code is read.
 */
bool instruction_hands_on(const void *function, uint64_t to);

#endif
