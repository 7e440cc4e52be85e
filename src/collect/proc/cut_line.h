/*
 * cut_line: cuts the text of a file in /proc into lines, and parses the hexadecimal numbers that
 * begin them.
 */
#ifndef TIDE_COLLECT_PROC_CUT_LINE_H
#define TIDE_COLLECT_PROC_CUT_LINE_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Ends the next line with a NUL instead of its line feed, and advances *text; NULL: there are no
 * more. */
static inline char *proc_cut_line(char **text)
{
    char *line = *text;
    if (!*line)
        return NULL;
    char *end = strchr(line, '\n');
    *text = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    return line;
}

/* Parses a hexadecimal number and the character after it, and advances *at; false: something else
 * is there. */
static inline bool proc_parse_hex(char **at, char after, uint64_t *out)
{
    char *end;
    if (!isxdigit((unsigned char)**at))
        return false;
    *out = strtoull(*at, &end, 16);
    if (end == *at || *end != after)
        return false;
    *at = end + 1;
    return true;
}

#endif
