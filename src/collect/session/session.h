/*
 * session: one `tidemark run`: starts the program, records it and its children, writes the file.
 *
 * Single-threaded but for the naming worker. The loop sleeps about a millisecond between passes
 * while there is something to read, longer when there is not, and not at all when a ring fills up.
 *
 * Nothing here prints; `progress` is called now and then from the loop.
 */
#ifndef TIDE_COLLECT_SESSION_SESSION_H
#define TIDE_COLLECT_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "collect/counting/ledger.h"
#include "collect/sampling/perf.h"
#include "store/recording.h"
#include "wire/layout.h"

struct session_status {
    uint64_t elapsed_ns, live_bytes, peak_bytes, events;
    unsigned processes;
    bool program_ended; /* its children go on */
    const char *work;   /* at the end: what is done now ("finding names"); NULL: it records */
    size_t done, total; /* of that; total 0: it is not counted */
};

struct session_options {
    char *const *argv;   /* the program and its arguments, NULL at the end */
    const char *library; /* libtidemark.so; NULL: nothing is preloaded, there are only samples */
    pid_t attach_to;     /* a process that runs already, in place of argv[0]; 0: none */
    bool only_new;       /* what it allocated before is not counted */
    uint64_t
        duration_ns; /* to be attached for so long; 0: until it ends, or we are asked to leave */
    struct perf_options sampling; /* all 0: none */
    uint64_t cpu_timer_ns;        /* --cpu=timer: CPU time between two samples; 0: no timers */
    uint32_t cpu_signal;          /* that they send; 0: any that is free */
    const char *sampling_refused; /* NULL, or why there is none though it was asked for */
    const char *only;             /* names, one a line; NULL: all programs */
    bool no_follow;
    bool all;            /* all processes of this user, or all there are, until the program ends */
    bool launcher;       /* the program only starts others: it is not recorded itself */
    bool no_python;      /* stacks without Python frames */
    bool python_objects; /* CPython's own allocators are wrapped */
    const char *const *mark_on; /* functions whose entries are marks */
    size_t mark_on_count;
    enum wire_on_full on_full;
    uint64_t interval_ns;
    const char *output;         /* pattern (output.h) */
    uint64_t snapshot_every_ns; /* 0: none but those that are asked for */
    /* Takes those of the clock, in a copy of the collector; NULL: they are written to files. */
    int (*push_snapshot)(void *context, const struct strbuf *bytes, struct err *err);
    void *push_context;
    const struct trigger *triggers; /* of further ones (triggers.h) */
    size_t trigger_count;
    unsigned keep_snapshots;   /* of those that nobody asked for, so many of the newest; 0: all */
    bool dormant;              /* until someone starts it: the hooks only forward */
    bool paused;               /* until someone resumes */
    uint64_t plant_leak_bytes; /* that each mark of a program shall leak */
    uint64_t sample_bytes;     /* one allocation is recorded per so many; 0: all are */
    uint64_t sample_seed;      /* for which ones */
    bool no_scan;              /* scan for leaks only when asked to */
    bool full_scan;            /* look at all of it, however long it takes (end_budget.h) */
    const struct recorded_default *defaults; /* for reports; kept in the file as they are */
    size_t default_count;
    uint32_t rank1, ranks; /* of a parallel job: its rank from 1, and how many there are; 0: none */
    void (*progress)(void *context, const struct session_status *status);
    /* From now on it is recorded, by so many functions; NULL: nobody wants to know. */
    void (*attached)(void *context, pid_t pid, unsigned functions);
    void *context;
};

/* What a process did, in all. */
struct process_figures {
    uint64_t allocations, live_bytes, live_blocks; /* live: at its end */
    struct sample_sums sampled;
};

struct session_result {
    int status;                  /* as a shell gives it: exit code, or 128 + signal */
    struct recording *recording; /* processes without figures: they are in the file */
    uint64_t lost_events, truncated_stacks, incomplete_stacks; /* of all of them */
    VEC(struct process_figures) figures; /* one for each profile of the recording */
    char *file;                          /* where it went; NULL if it could be written nowhere */
    struct strbuf
        passed_on; /* the recording, where it went to a command and cannot be read again */
};

/* Can this process be attached to? 0, or a negative errno and a sentence. Changes nothing. */
int session_check_attach(pid_t pid, struct err *err);

/* 0 once the program was started, however it ended; else a negative errno: it was not.
 * result->status is then 125, 126 or 127. Once in a process, which ends soon after: what was
 * gathered is not given back piece by piece while the user waits. */
int session_run(const struct session_options *o, struct session_result *result, struct err *err);

#endif
