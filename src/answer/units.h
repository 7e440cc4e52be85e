/*
 * units of reports: what base/units.h has, and percent, amounts of a metric, text from a profile.
 */
#ifndef TIDE_ANSWER_UNITS_H
#define TIDE_ANSWER_UNITS_H

#include <stdint.h>

#include "base/units.h"
#include "model/query.h"

void unit_percent(struct strbuf *out, double part, double whole); /* "12.3"; "-" of nothing */
/* What the kernel divides by its ticks of 10 ms: "about 120 ms", "less than 10 ms". */
void unit_ticks(struct strbuf *out, uint64_t ns);
/* In the metric's own unit: ms of CPU time, or bytes. */
void unit_amount(struct strbuf *out, enum metric metric, int64_t amount);

/* " --process PID", for a command that is to be about the same one; nothing where none was chosen.
 */
void unit_process(struct strbuf *out, const char *process);

#endif
