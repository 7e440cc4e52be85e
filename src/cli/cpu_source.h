/*
 * cpu_source: how `run --cpu` samples CPU time: by the kernel's perf events, or by timers in the
 * program (record/cpu_timer.h), which need no permission and see Python frames.
 *
 * What perf opens is decided by collect/sampling/perf.h.
 *
 * --cpu may be given several times: a number, 'wall', 'timer' and 'perf' each add to the request.
 */
#ifndef TIDE_CLI_CPU_SOURCE_H
#define TIDE_CLI_CPU_SOURCE_H

#include <stdbool.h>

#include "collect/session/session.h"

#define CPU_PERF_HZ       999 /* not 1000, to be out of step with what happens every millisecond */
#define FAULT_PERIOD_MOST 1000000000 /* one sample for at most so many page faults */

enum cpu_source {
    /* Timers for Python programs and where perf events are forbidden, otherwise perf events. */
    CPU_ANY,
    CPU_PERF,
    CPU_TIMER
};

struct cpu_request {
    bool asked, wall;
    double hz; /* 0: the default */
    enum cpu_source source;
    uint32_t signal; /* the signal that timers send; 0: any free one */
};

/* Samples per second: false: it is no number, or not from 1 to 10,000. */
bool cpu_hz_parse(const char *text, double *hz);
/* `value`: what follows --cpu=, or NULL. false: it makes no sense. */
bool cpu_request_add(struct cpu_request *r, const char *value);
bool cpu_request_signal(struct cpu_request *r, const char *value);
/* Why the requests cannot be combined; NULL: they can. `alone`: nothing is preloaded. */
const char *cpu_request_conflict(const struct cpu_request *r, bool alone);

/*
 * Sets the session's options; argv and fault_period must be set already. Returns 0, or -1 if the
 * user asked for something that is forbidden here: then the program must not be started. err: a
 * sentence for the user, or empty.
 */
int cpu_request_settle(const struct cpu_request *r, bool alone, struct session_options *o,
                       struct err *err);

#endif
