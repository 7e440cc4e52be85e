/*
 * run_summary: what `run` prints on stderr: a line while the program runs, and the closing lines
 * when it has ended.
 */
#ifndef TIDE_CLI_RUN_SUMMARY_H
#define TIDE_CLI_RUN_SUMMARY_H

#include "collect/session/session.h"

struct run_progress {
    uint64_t events, time_ns; /* at the last line */
    uint64_t work_ns;         /* when the work at the end was first shown; 0: not yet */
    bool shown;
    bool has_terminal; /* the program writes to one */
};

/* For session_options.progress; `context`: a run_progress. */
void run_show_progress(void *context, const struct session_status *s);

/* `all`: all processes were recorded. */
void run_show_summary(const struct session_result *r, bool all);

#endif
