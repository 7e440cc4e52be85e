/*
 * units: base/units.h, and percent, amounts of a metric, and text from a profile.
 */
#ifndef TIDE_ANSWER_UNITS_H
#define TIDE_ANSWER_UNITS_H

#include <stdint.h>

#include "base/units.h"
#include "model/query.h"

void unit_percent(struct strbuf *out, double part, double whole); /* "12.3"; "-" if `whole` is 0 */
/* For times that the kernel counts in ticks of 10 ms: "about 120 ms", "less than 10 ms". */
void unit_ticks(struct strbuf *out, uint64_t ns);
/* In the metric's own unit: ms of CPU time, or bytes. */
void unit_amount(struct strbuf *out, enum metric metric, int64_t amount);

/* " --process PID", for a suggested command about the same process; nothing if none was chosen. */
void unit_process(struct strbuf *out, const char *process);

#endif
