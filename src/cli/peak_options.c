#include "cli/peak_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/parse_amount.h"

const char *const lines_options[] = {
    "at", "since", "top", "process", "json", "csv", "help", QUERY_FOCUS_OPTIONS, NULL};

void lines_help(const char *top, int text_rows, const char *data)
{
    printf(QUERY_FOCUS_HELP
           "  --top N          %s, 0: all (text: %d; otherwise all)\n"
           "  --process PID    another process of the recording (PID#N: its N-th program), or all\n"
           "  --json, --csv    exact numbers for scripts%s\n"
           "  --help           this text\n"
           "\n"
           "Examples:\n",
           top, text_rows, data);
}

static int take_size(const char *option, const char *text, int64_t *bytes, struct err *err)
{
    return amount_parse(text, bytes)
               ? 0
               : err_set(err, -EINVAL, "%s '%s' is not a size such as 4096, 64K or 10MB", option,
                         text);
}

static int take_time(const char *text, uint64_t *ns, struct err *err)
{
    char *end;
    double value = decimal_parse(text, &end); /* seconds, as in ThreadGraph, or a duration */
    if (end != text && !*end && value >= 0 && value < 1e9) {
        *ns = (uint64_t)(value * 1e9);
        return 0;
    }
    if (!duration_parse(text, &value) || !(value >= 0))
        return err_set(err, -EINVAL, "--peak-delta-time '%s' is not a time such as 0.5 or 20ms",
                       text);
    *ns = (uint64_t)value;
    return 0;
}

int peak_take(struct peak_options *o, int val, const char *least, const char *argument,
              struct err *err)
{
    return val == OPT_PEAK_LEAST ? take_size(least, argument, &o->least_bytes, err)
           : val == OPT_PEAK_DELTA_VALUE
               ? take_size("--peak-delta-value", argument, &o->least_change, err)
               : take_time(argument, &o->least_time_ns, err);
}
