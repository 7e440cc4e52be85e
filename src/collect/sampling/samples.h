/*
 * samples: CPU time and page faults, from the kernel's events (perf.h) to the ledgers of targets.
 *
 * The kernel also tells which processes there are and what they execute, so a process that the
 * preloaded library cannot speak for (a static program, or nothing is preloaded) is a target all
 * the same. Samples are counted in the interval in which they are read, a few milliseconds after
 * they were taken.
 *
 * A page fault comes as a small record, which is counted, and as a copy of the stack, which says
 * where. Where the copy was lost (they are large) or too small, the fault is charged to the stack
 * that the same thread had before or has next at the same instruction with the same stack pointer.
 * Copies become small when stacks are seen to be shallow.
 *
 * Called from the session's one thread.
 */
#ifndef TIDE_COLLECT_SAMPLING_SAMPLES_H
#define TIDE_COLLECT_SAMPLING_SAMPLES_H

#include "collect/sampling/perf.h"
#include "collect/counting/target.h"

struct session;
struct samples;

/* What sampling asks of the session that it is a part of, which stands above it. */
struct sampled_session {
    struct session *session;
    pid_t program;
    bool all, only, no_follow, launcher; /* its options */
    /* A process that has not ended; NULL: none. */
    struct target *(*find)(struct session *, pid_t pid);
    /* A process that did not say hello. `fresh`: it had used nothing before it is recorded. */
    struct target *(*add)(struct session *, pid_t pid, bool fresh);
    /* It has ended, or executes another program. */
    void (*end)(struct session *, struct target *t, bool execed);
    /* Does --only ask for what the process executes? `name`: the kernel's; NULL: not known. */
    bool (*is_wanted)(const struct session *, pid_t pid, const char *name);
    bool (*is_paused)(const struct session *);
    struct target *(*first)(const struct session *); /* NULL: none yet */
    /* Reads what all processes have recorded up to now. */
    void (*drain)(struct session *);
};

/* Opens the events of a process that is about to execute the program. NULL: refused, `err` says
 * why. */
struct samples *samples_new(const struct sampled_session *session, const struct perf_options *o,
                            struct err *err);

/* The program has been executed: `t` is its target. */
void samples_begin(struct samples *s, struct target *t);
/* Counts what happened up to the last pass; `all`: up to now. */
void samples_drain(struct samples *s, bool all);
/* Before the session pauses, or goes on: what a thread waits in between is not recorded. */
void samples_pause(struct samples *s, bool paused);
/* The thread, or 0: all of the process, waited for tidemark in between: that is no wait of its own.
 */
void samples_waited_for_us(struct samples *s, pid_t pid, pid_t tid, uint64_t from_ns,
                           uint64_t to_ns);
/* Processes that run, as far as they are followed. */
unsigned samples_running(const struct samples *s);
/* What the kernel itself counted; while the process lives, and once more when it has ended and is
 * not reaped yet. */
void samples_count(struct target *t);
/* Of an account of CPU time: was the kernel at work? */
bool samples_in_kernel(const struct target *t, const struct account *a);
/* The target has ended and its last samples were read: brings their sum to what was counted. */
void samples_settle(struct target *t);
/* The process has ended, or is not followed any longer: settles what waits for a stack. */
void samples_end(struct samples *s, struct target *t);

/* Is CPU time sampled in the kernel, too? Else it is estimated. */
bool samples_see_kernel(const struct samples *s);
/* At the end: what was lost, the last of it too, where the kernel counts it. */
void samples_count_lost(struct samples *s);

/* Of all processes of a user, those that could not be watched. */
unsigned samples_unwatched(const struct samples *s);

size_t samples_poll(struct samples *s, struct pollfd *out); /* perf.h; room for samples_rings */
void samples_polled(struct samples *s, const struct pollfd *in, size_t count);
size_t samples_rings(const struct samples *s);

#endif
