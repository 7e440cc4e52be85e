/*
 * python_lines: finds the source line of an instruction of Python code. A code object has a table
 * for that, in one of three forms: increments of bytes and lines (up to 3.9), ranges with lines
 * (3.10, PEP 626), locations with columns (from 3.11 on). The table is read as if it were hostile:
 * any bytes give a number. [malloc-free] python_frames.c decides which instruction a frame is at.
 */
#ifndef TIDE_RECORD_PYTHON_LINES_H
#define TIDE_RECORD_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "wire/layout.h"

/* A position in the table, and the sums of all entries before it. {0} is the first entry. */
struct python_cursor {
    uint64_t at;   /* offset in the table */
    uint64_t byte; /* offset in the code */
    uint32_t line;
};

/* The line of the instruction at offset `byte` (-1: no instruction has run yet). 0: it belongs to
 * no line. */
uint32_t python_line(enum wire_lines form, const uint8_t *table, size_t size, uint32_t first_line,
                     int32_t byte);
/* Like python_line, but reads the table from the cursor on, if the cursor is not after the
 * instruction, and advances the cursor. So the table is not read from its start for each line. The
 * whole table must be valid, and the cursor must not be used for another table. */
uint32_t python_line_from(struct python_cursor *c, enum wire_lines form, const uint8_t *table,
                          size_t size, uint32_t first_line, int32_t byte);

#endif
