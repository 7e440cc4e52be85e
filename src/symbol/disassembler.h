/*
 * disassembler: machine code as text, one instruction at a time, in the notation of objdump.
 *
 * The code may be any bytes: what is no instruction reads "(bad)" and has the shortest possible
 * size, so that a caller who goes on after it always reaches the end. Not thread-safe.
 *
 * Capstone does the work. It is loaded at the first call and not linked: its relocations take
 * longer than the rest of the tool's start, and only `annotate` needs it.
 */
#ifndef TIDE_SYMBOL_DISASSEMBLER_H
#define TIDE_SYMBOL_DISASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct disassembler;

struct instruction_text {
    size_t size; /* of the instruction; never 0 */
    char text[192];
    bool has_target, has_slot; /* it calls or jumps to a fixed address, or reads from one */
    uint64_t target;           /* that address */
};

/* For EM_X86_64 and the like. NULL and a sentence: the machine is not supported, or capstone is not
 * installed. */
struct disassembler *disassembler_new(unsigned machine, struct err *err);
void disassembler_free(struct disassembler *d); /* accepts NULL */

/* `size` must not be 0. */
void disassemble(struct disassembler *d, const uint8_t *code, size_t size, uint64_t address,
                 struct instruction_text *out);

#endif
