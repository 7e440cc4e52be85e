#include "collect/leakscan/not_scanned.h"

/* The reasons that the recorder gives. */
static const char *const reasons[] = {
    [WIRE_END_THREADS] = "other threads of the program still ran after its destructors, so it was "
                         "not made to wait",
    [WIRE_END_PYTHON] = "other threads of the program still ran after its Python interpreter had "
                        "ended, so it was not made to wait",
    [WIRE_END_FILTER] =
        "the program runs under a seccomp filter of its own, so it could not ask for a leak scan",
    [WIRE_END_DESCRIPTORS] =
        "the program had no file descriptor left to ask for a leak scan (ulimit -n)",
    [WIRE_END_NO_ANSWER] = "the program could not reach the collector when it ended, or got no "
                           "answer in time",
};

void not_scanned_explain(struct target *t, bool no_scan)
{
    const char *said = t->end < sizeof reasons / sizeof *reasons ? reasons[t->end] : NULL;
    if (t->profile.sample_bytes)
        target_explain(t, "recorded with --sample: what points to a block may be in one that was "
                          "not recorded");
    else if (no_scan)
        target_explain(t, "recorded with --no-scan (--scan=off)");
    else if (t->scan.left_out)
        target_explain(t, "%s", t->scan.left_out);
    else if (t->profile.execed)
        target_explain(t, "the program executed another one (exec) before it could be scanned");
    else if (t->dormant)
        target_explain(t, "the recorder was dormant when the program ended; 'tidemark ctl PID "
                          "leaks' scans before 'tidemark ctl PID stop'");
    else if (t->profile.signal)
        target_explain(t, "the program was killed by signal %d before it could be scanned",
                       t->profile.signal);
    else
        target_explain(t, "%s",
                       said ? said
                            : "the program ended by a system call of its own, not through exit or "
                              "_exit, so it could not be scanned");
}
