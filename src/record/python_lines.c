#include "record/python_lines.h"

#include <stdbool.h>

static uint32_t by_increments(const uint8_t *table, size_t size, struct python_cursor *c,
                              uint32_t byte)
{
    for (; c->at + 1 < size && c->byte + table[c->at] <= byte; c->at += 2) {
        c->byte += table[c->at];
        c->line += (uint32_t)(int8_t)table[c->at + 1];
    }
    return c->line;
}

static uint32_t by_ranges(const uint8_t *table, size_t size, struct python_cursor *c, uint32_t byte)
{
    for (; c->at + 1 < size; c->at += 2) {
        bool none = (int8_t)table[c->at + 1] == -128;
        uint32_t line = none ? c->line : c->line + (uint32_t)(int8_t)table[c->at + 1];
        if (byte < c->byte + table[c->at])
            return none ? 0 : line;
        c->byte += table[c->at];
        c->line = line;
    }
    return 0;
}

/* Six bits a byte, the least first; bit 6: more follow. */
static uint32_t number(const uint8_t *table, size_t size, size_t *i)
{
    uint32_t value = 0;
    for (unsigned shift = 0; *i < size; shift += 6) {
        uint8_t b = table[(*i)++];
        if (shift < 32)
            value |= (uint32_t)(b & 63) << shift;
        if (!(b & 64))
            break;
    }
    return value;
}

static uint32_t difference(const uint8_t *table, size_t size, size_t *i)
{
    uint32_t v = number(table, size, i);
    return v & 1 ? 0 - (v >> 1) : v >> 1;
}

enum { SHORT_LAST = 9, ONE_LINE = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };

static uint32_t by_locations(const uint8_t *table, size_t size, struct python_cursor *c,
                             uint32_t byte)
{
    while (c->at < size) {
        size_t i = c->at;
        unsigned kind = table[i] >> 3 & 15;
        uint64_t end = c->byte + ((table[i] & 7) + 1) * 2u;
        uint32_t line = c->line;
        i++;
        if (kind <= SHORT_LAST) {
            i++;
        } else if (kind <= ONE_LINE_LAST) {
            line += kind - ONE_LINE;
            i += 2;
        } else if (kind == NO_COLUMNS || kind == LONG) {
            line += difference(table, size, &i);
            for (unsigned k = 0; kind == LONG && k < 3; k++) /* last line, columns */
                number(table, size, &i);
        }
        if (byte < end)
            return kind == NONE ? 0 : line;
        *c = (struct python_cursor){.at = i, .byte = end, .line = line};
    }
    return 0;
}

uint32_t python_line_from(struct python_cursor *c, enum wire_lines form, const uint8_t *table,
                          size_t size, uint32_t first_line, int32_t byte)
{
    if (byte < 0 || !size)
        return first_line;
    uint32_t at = (uint32_t)byte;
    if (at < c->byte || !c->at)
        *c = (struct python_cursor){.line = first_line};
    return form == WIRE_LINES_LNOTAB   ? by_increments(table, size, c, at)
           : form == WIRE_LINES_RANGES ? by_ranges(table, size, c, at)
                                       : by_locations(table, size, c, at);
}

uint32_t python_line(enum wire_lines form, const uint8_t *table, size_t size, uint32_t first_line,
                     int32_t byte)
{
    struct python_cursor start = {0};
    return python_line_from(&start, form, table, size, first_line, byte);
}
