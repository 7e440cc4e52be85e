/*
 * units of reports: what base/units.h has, and percent, amounts of a metric, text from a profile.
 */
#ifndef TIDE_REPORT_UNITS_H
#define TIDE_REPORT_UNITS_H

#include <stdint.h>

#include "base/units.h"
#include "model/query.h"

void unit_percent(struct strbuf *out, double part, double whole); /* "12.3"; "-" of nothing */
void unit_ms(struct strbuf *out, int64_t ns);                     /* "1,234.5 ms" */
/* What the kernel divides by its ticks of 10 ms: "about 120 ms", "less than 10 ms". */
void unit_ticks(struct strbuf *out, uint64_t ns);
/* In the metric's own unit: ms of CPU time, or bytes. */
void unit_amount(struct strbuf *out, enum metric metric, int64_t amount);

/* Appends text with control characters shown as '?': a profile must not drive the terminal. */
void unit_text(struct strbuf *out, const char *text);
/* " --process PID", for a command that is to be about the same one; nothing where none was chosen.
 */
void unit_process(struct strbuf *out, const char *process);

/* Columns that UTF-8 text takes on a terminal, each character as one. */
size_t unit_columns(const char *text);

#endif
