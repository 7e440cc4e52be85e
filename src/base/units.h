/*
 * units: numbers as people read them: KiB and MiB, thousands separators, times, percentages.
 *
 * All append to a strbuf. 1 KiB is 1,024 bytes, 1 MiB 1,048,576.
 * base/parse_amount.h reads sizes and durations.
 */
#ifndef TIDE_BASE_UNITS_H
#define TIDE_BASE_UNITS_H

#include <stdint.h>

#include "base/strbuf.h"

void unit_bytes(struct strbuf *out, int64_t bytes); /* "512 B", "1.5 KiB", "-3.0 MiB" */
void unit_count(struct strbuf *out, int64_t count); /* "1,234,567" */
/* "1 wait", "1,234 waits"; for a word that ends in s: "2 processes". */
void unit_counted(struct strbuf *out, int64_t count, const char *word);
void unit_time(struct strbuf *out, uint64_t ns); /* "0 s", "3.2 ms", "12.345 s", "2 min 3 s" */
void unit_ms(struct strbuf *out, int64_t ns);    /* "1,234.5 ms" */
/* For times that the kernel counts in ticks of 10 ms: "about 120 ms", "less than 10 ms". */
void unit_ticks(struct strbuf *out, uint64_t ns);
void unit_percent(struct strbuf *out, double part, double whole); /* "12.3"; "-" if `whole` is 0 */

/* Appends text with control characters shown as '?': a profile must not send them to the
 * terminal. */
void unit_text(struct strbuf *out, const char *text);
/* The columns that UTF-8 text takes on a terminal, one for each character. */
size_t unit_columns(const char *text);

#endif
