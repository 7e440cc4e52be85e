/*
 * peak_options: the options that decide what counts as a peak, for `peaks` and `tree`, which must
 * agree on its number; and those that both share with `threads`.
 */
#ifndef TIDE_CLI_PEAK_OPTIONS_H
#define TIDE_CLI_PEAK_OPTIONS_H

#include "analyse/peaks.h"
#include "cli/query_options.h"

#define PEAK_OPTIONS_DEFAULT                                                                       \
    (struct peak_options)                                                                          \
    {                                                                                              \
        .least_change = -1                                                                         \
    }

/* The option for the lowest peak has a different name in each. */
#define PEAK_OPTION_LIST(least)                                                                    \
    {least, required_argument, NULL, OPT_PEAK_LEAST},                                              \
        {"peak-delta-time", required_argument, NULL, OPT_PEAK_DELTA_TIME},                         \
    {                                                                                              \
        "peak-delta-value", required_argument, NULL, OPT_PEAK_DELTA_VALUE                          \
    }

enum { OPT_PEAK_LEAST = QUERY_EXTRA, OPT_PEAK_DELTA_TIME, OPT_PEAK_DELTA_VALUE, OPT_PEAK_NEXT };

/* Takes one of the options above; `least` is the name of the first. -EINVAL: not a size, not a
 * time. */
int peak_take(struct peak_options *o, int val, const char *least, const char *argument,
              struct err *err);

/* What the commands that follow threads over time share: their options, and the end of their help
 * up to the examples. `top` says what --top does, `data` what else --json has. */
extern const char *const lines_options[];
#define LINES_COMMAND(name_, rows)                                                                 \
    .name = (name_), .text_rows = (rows), .files = 1, .timeline = true, .one_process = true,       \
    .only = lines_options
void lines_help(const char *top, int text_rows, const char *data);

#endif
