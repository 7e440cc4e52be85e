/*
 * metric_limits: the --limit of `view` and `history`, and the exit status that it gives. How a
 * limit is written and compared is decided by view/metric_limit.h.
 */
#ifndef TIDE_CLI_METRIC_LIMITS_H
#define TIDE_CLI_METRIC_LIMITS_H

#include <stddef.h>

#include "view/metric_limit.h"

#define LIMITS_BROKEN 3 /* exit status */

/* Prints on stderr which limits are exceeded. Returns 0, or LIMITS_BROKEN. */
int limits_status(const char *command, const struct limit *limits, size_t count);

#endif
