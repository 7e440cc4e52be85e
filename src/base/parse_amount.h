/*
 * parse_amount: reads numbers, sizes and durations as people write them: 4096, 64K, 1.5 GB; 300ms,
 * 2m.
 *
 * Moments of a run, such as 50% or the name of a mark, are read by model/moment.h. base/units.h
 * prints sizes and times.
 */
#ifndef TIDE_BASE_PARSE_AMOUNT_H
#define TIDE_BASE_PARSE_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a number of digits, with a decimal point or an exponent, and sets *end to what follows. It
 * does not read signs, spaces, hexadecimal digits, "nan" or "inf", as strtod does: then *end is
 * `text`. */
double decimal_parse(const char *text, char **end);

/* K, KiB, M, MiB, ... are powers of 1,024; kB, MB, ... of 1,000. false: something else. */
bool amount_parse(const char *text, int64_t *bytes);

/* "12.5s", "300ms", "2m", "1h" in ns; the unit is required. false: something else. */
bool duration_parse(const char *text, double *ns);

#endif
