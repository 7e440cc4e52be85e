/*
 * cfi: finds the call frame information (.eh_frame) of one address.
 *
 * It reads the tables that exception handling uses and that every Linux compiler emits for all
 * code: which registers a function has saved where, at each instruction. cfi_row() finds the FDE
 * through .eh_frame_hdr's sorted table, then runs the CIE's and FDE's instructions up to the
 * address.
 *
 * [malloc-free] [async-signal-safe]; no state. The tables may be in this process (delta 0) or in a
 * mapped file (delta = address in its process - address here). Reads stay inside the given section.
 */
#ifndef TIDE_UNWIND_CFI_H
#define TIDE_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/registers.h"

/* The part of a module that holds .eh_frame_hdr and .eh_frame. */
struct cfi_section {
    const uint8_t *begin, *end; /* no byte outside is read */
    const uint8_t *header;      /* .eh_frame_hdr */
    uint64_t delta;
};

enum cfi_how {
    CFI_SAME,       /* the register is unchanged; also if it is never mentioned */
    CFI_UNDEFINED,  /* the value is lost; for the return address: this is the outermost frame */
    CFI_OFFSET,     /* the value is saved at CFA + offset */
    CFI_VAL_OFFSET, /* the value is CFA + offset */
    CFI_REGISTER,   /* the value is in another register */
    CFI_EXPRESSION, /* the value is saved at the address that an expression gives */
    CFI_VAL_EXPRESSION
};

/* The rule for one register. It is small, because rows are copied on the stack of the thread that
 * allocates. */
struct cfi_rule {
    uint8_t how;
    uint8_t reg;              /* CFI_REGISTER */
    uint32_t expression_size; /* CFI_*EXPRESSION */
    union {
        int64_t offset;            /* CFI_*OFFSET */
        const uint8_t *expression; /* CFI_*EXPRESSION */
    };
};

struct cfi_row {
    uint64_t function; /* address of the function */
    /* CFA = value of cfa_reg + cfa_offset, or the value of an expression. */
    uint32_t cfa_reg;
    int64_t cfa_offset;
    const uint8_t *cfa_expression; /* NULL: register and offset */
    uint32_t cfa_expression_size;
    bool signal_frame; /* the caller was interrupted by a signal; it made no call */
    uint8_t return_reg;
    struct cfi_rule regs[ARCH_REGISTERS];
};

/* Returns 0 and the row for the instruction at `address` (a process address), or -1: nothing covers
 * it. */
int cfi_row(const struct cfi_section *section, uint64_t address, struct cfi_row *row);

/*
 * Does a function begin at this return address, and does no function contain the instruction before
 * it? Then no call made the return address: a function such as makecontext put it on a new stack,
 * to run when the first function returns, and there is no caller. `row` is scratch space.
 */
static inline bool cfi_is_planted(const struct cfi_section *s, uint64_t return_address,
                                  struct cfi_row *row)
{
    return cfi_row(s, return_address, row) == 0 && row->function == return_address;
}

#endif
