/*
 * units: numbers as people read them: KiB and MiB, thousands separators, percent, times.
 *
 * All append to a strbuf. 1 KiB is 1,024 bytes, 1 MiB 1,048,576.
 */
#ifndef TIDE_REPORT_UNITS_H
#define TIDE_REPORT_UNITS_H

#include <stdint.h>

#include "base/strbuf.h"
#include "model/query.h"

void unit_bytes(struct strbuf *out, int64_t bytes);  /* "512 B", "1.5 KiB", "-3.0 MiB" */
void unit_count(struct strbuf *out, int64_t count);  /* "1,234,567" */
void unit_blocks(struct strbuf *out, int64_t count); /* "1 block", "1,234 blocks" */
void unit_percent(struct strbuf *out, double part, double whole); /* "12.3"; "-" of nothing */
void unit_ms(struct strbuf *out, int64_t ns);                     /* "1,234.5 ms" */
/* What the kernel divides by its ticks of 10 ms: "about 120 ms", "less than 10 ms". */
void unit_ticks(struct strbuf *out, uint64_t ns);
/* In the metric's own unit: ms of CPU time, or bytes. */
void unit_amount(struct strbuf *out, enum metric metric, int64_t amount);
void unit_time(struct strbuf *out, uint64_t ns); /* "0 s", "3.2 ms", "12.345 s", "2 min 3 s" */

/* Appends text with control characters shown as '?': a profile must not drive the terminal. */
void unit_text(struct strbuf *out, const char *text);
/* " --process PID", for a command that is to be about the same one; nothing where none was chosen.
 */
void unit_process(struct strbuf *out, const char *process);

/* Columns that UTF-8 text takes on a terminal, each character as one. */
size_t unit_columns(const char *text);

#endif
