/*
 * session: one `tidemark run`: starts the program, records it and its children, writes the file.
 *
 * Threads: one, except for the naming worker. The loop sleeps about a millisecond between passes
 * while there is something to read, longer when there is not, and not at all when a ring fills up.
 * Nothing here prints; the loop calls `progress` now and then.
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
    bool program_ended; /* the program has ended, and its children still run */
    const char *work;   /* at the end: the current step ("finding names"); NULL: still recording */
    size_t done, total; /* progress of this step; total 0: not counted */
};

struct session_options {
    char *const *argv;   /* the program and its arguments, NULL at the end */
    const char *library; /* libtidemark.so; NULL: nothing is preloaded, only samples are taken */
    pid_t attach_to;     /* a running process, in place of argv[0]; 0: none */
    bool only_new;       /* do not count what was allocated before the attach */
    /* How long to stay attached; 0: until the program ends or we are asked to detach. */
    uint64_t duration_ns;
    struct perf_options sampling; /* all 0: none */
    uint64_t cpu_timer_ns;        /* --cpu=timer: CPU time between two samples; 0: no timers */
    uint32_t cpu_signal;          /* the signal that the timers send; 0: any free one */
    /* Why there is no sampling though it was asked for; NULL: nothing to say. */
    const char *sampling_refused;
    const char *only; /* names of programs, one per line; NULL: all programs */
    bool no_follow;
    bool all;            /* all processes of this user, or all that exist, until the program ends */
    bool launcher;       /* the program only starts others and is not recorded itself */
    bool no_python;      /* stacks without Python frames */
    bool python_objects; /* CPython's own allocators are wrapped */
    const char *const *mark_on; /* functions whose calls become marks */
    size_t mark_on_count;
    enum wire_on_full on_full;
    uint64_t interval_ns;
    const char *output;         /* a name pattern (output.h) */
    uint64_t snapshot_every_ns; /* 0: only snapshots on request */
    /* Receives the periodic snapshots, in a forked copy of the collector; NULL: they are written to
     * files. */
    int (*push_snapshot)(void *context, const struct strbuf *bytes, struct err *err);
    void *push_context;
    const struct trigger *triggers; /* conditions for further snapshots (snapshot_triggers.h) */
    size_t trigger_count;
    unsigned keep_snapshots;   /* how many of the automatic snapshots to keep, the newest; 0: all */
    bool dormant;              /* the hooks only forward until recording is started */
    bool paused;               /* recording is paused until it is resumed */
    uint64_t plant_leak_bytes; /* how many bytes each mark of the program leaks on purpose */
    uint64_t sample_bytes;     /* records one allocation per this many bytes; 0: all */
    uint64_t sample_seed;      /* for the choice of allocations */
    bool no_scan;              /* scan for leaks only on request */
    bool full_scan;            /* scan everything, however long it takes (end_budget.h) */
    /* Defaults for reports; stored in the file unchanged. */
    const struct recorded_default *defaults;
    size_t default_count;
    /* In a parallel job: its rank, from 1, and the number of ranks; 0: none. */
    uint32_t rank1, ranks;
    void (*progress)(void *context, const struct session_status *status);
    /* Called when recording of an attached program begins, with the number of functions that are
     * hooked; may be NULL. */
    void (*attached)(void *context, pid_t pid, unsigned functions);
    void *context;
};

/* The totals of a process. */
struct process_figures {
    uint64_t allocations, live_bytes, live_blocks; /* live: at its end */
    struct sample_sums sampled;
};

struct session_result {
    int status;                  /* as a shell reports it: exit code, or 128 + signal */
    struct recording *recording; /* its processes have no figures: these are in the file */
    uint64_t lost_events, truncated_stacks, incomplete_stacks; /* sums over all processes */
    VEC(struct process_figures) figures; /* one for each profile of the recording */
    char *file; /* where the file is; NULL if it could not be written anywhere */
    /* The bytes, if the recording went to a command and cannot be read again. */
    struct strbuf passed_on;
};

/* Returns 0 if the program was started, however it ended; otherwise a negative errno, and
 * result->status is 125, 126 or 127. Call it once in a process that ends soon after: its memory is
 * not freed piece by piece while the user waits. */
int session_run(const struct session_options *o, struct session_result *result, struct err *err);

#endif
