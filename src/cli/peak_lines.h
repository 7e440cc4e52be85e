/*
 * peak_lines: the options that say what counts as a peak, for `peaks` and `tree`, which must agree
 * on its number.
 */
#ifndef TIDE_CLI_PEAK_LINES_H
#define TIDE_CLI_PEAK_LINES_H

#include "analyse/peaks.h"

#define PEAK_OPTIONS_DEFAULT                                                                       \
    (struct peak_options)                                                                          \
    {                                                                                              \
        .least_change = -1                                                                         \
    }

/* -EINVAL: not a size, not a number of seconds. */
int peak_take_size(const char *option, const char *text, int64_t *bytes, struct err *err);
int peak_take_time(const char *text, uint64_t *ns, struct err *err);

#endif
