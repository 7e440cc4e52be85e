/*
 * python_lines: from how far Python code has run to the line it is in.
 *
 * A code object carries a table for that, in one of three forms: increments of bytes and lines (up
 * to 3.9), ranges with lines (3.10, PEP 626), locations with columns (from 3.11 on). The table is
 * read as if it were hostile: any bytes give a number. [malloc-free]
 */
#ifndef TIDE_RECORD_PYTHON_LINES_H
#define TIDE_RECORD_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "wire/layout.h"

/* `byte`: of the instruction; -1: none has run yet. 0: it belongs to no line. */
uint32_t python_line(enum wire_lines form, const uint8_t *table, size_t size, uint32_t first_line,
                     int32_t byte);

#endif
