/*
 * python_lines: from a position in Python code to its line. A code object has a table for that, in
 * one of three forms: increments of bytes and lines (up to 3.9), ranges with lines (3.10, PEP 626),
 * locations with columns (from 3.11 on). The table is read as if it were hostile: any bytes give a
 * number. [malloc-free]
 */
#ifndef TIDE_RECORD_PYTHON_LINES_H
#define TIDE_RECORD_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "wire/layout.h"

/* Where an entry of a table begins, and the sums of those before it. {0}: the first. */
struct python_cursor {
    uint64_t at;   /* in the table */
    uint64_t byte; /* of the code */
    uint32_t line;
};

/* `byte`: of the instruction; -1: none has run yet. 0: it belongs to no line. */
uint32_t python_line(enum wire_lines form, const uint8_t *table, size_t size, uint32_t first_line,
                     int32_t byte);
/* The same, reading from `c` on if that is not after the instruction, and advancing it: code that
 * goes on is not read from its start for each of its lines. The whole table must be valid, and `c`
 * used for no other. */
uint32_t python_line_from(struct python_cursor *c, enum wire_lines form, const uint8_t *table,
                          size_t size, uint32_t first_line, int32_t byte);

#endif
