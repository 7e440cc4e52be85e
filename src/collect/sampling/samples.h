/*
 * samples: reads the kernel's events of CPU time and page faults (perf.h), and counts them in the
 * ledgers of targets.
 *
 * The kernel also reports which processes exist and what they execute. So a process becomes a
 * target even if the preloaded library cannot report it (a static program, or nothing is
 * preloaded). Samples are counted in the interval in which they are read, a few milliseconds after
 * they were taken.
 *
 * A page fault comes as a small record, which is counted, and as a copy of the stack, which says
 * where. If the copy was lost (copies are large) or is too small, the fault is charged to the stack
 * that the same thread had before, or has next, at the same instruction with the same stack
 * pointer. Copies become smaller when stacks are seen to be shallow.
 *
 * How often and what the kernel samples is decided by perf.h, and whether perf or a timer is used
 * by cli/cpu_source.h; samples_state.h lists the files.
 *
 * Threads: the session's one thread.
 */
#ifndef TIDE_COLLECT_SAMPLING_SAMPLES_H
#define TIDE_COLLECT_SAMPLING_SAMPLES_H

#include "collect/sampling/perf.h"
#include "collect/counting/target.h"

struct session;
struct samples;

/* What sampling needs from the session. The session is in a layer above, so these are callbacks. */
struct sampled_session {
    struct session *session;
    pid_t program;
    bool all, only, no_follow, launcher; /* the options of those names */
    /* Finds a process that has not ended; NULL: none. */
    struct target *(*find)(struct session *, pid_t pid);
    /* Adds a process that did not connect. `fresh`: it had used nothing before it is recorded. */
    struct target *(*add)(struct session *, pid_t pid, bool fresh);
    /* Ends the target of a process that has ended, or that executes another program. */
    void (*end)(struct session *, struct target *t, bool execed);
    /* Does --only select the program that the process executes? `name`: the kernel's name for it;
     * NULL: not known. */
    bool (*is_wanted)(const struct session *, pid_t pid, const char *name);
    bool (*is_paused)(const struct session *);
    struct target *(*first)(const struct session *); /* the program's own target; NULL: none yet */
    /* Reads what all processes have recorded up to now. */
    void (*drain)(struct session *);
};

/* Opens the events of a process that is about to execute the program. NULL: the kernel refused;
 * `err` says why. */
struct samples *samples_new(const struct sampled_session *session, const struct perf_options *o,
                            struct err *err);

/* Call it when the program has been executed; `t` is its target. */
void samples_begin(struct samples *s, struct target *t);
/* Counts what happened up to the beginning of the last pass; with `all`, up to now. */
void samples_drain(struct samples *s, bool all);
/* Call it before the session pauses or resumes: what a thread waits in between is not recorded. */
void samples_pause(struct samples *s, bool paused);
/* Notes that a thread (0: the whole process) waited for tidemark in this time, which does not count
 * as a wait of the program. */
void samples_waited_for_us(struct samples *s, pid_t pid, pid_t tid, uint64_t from_ns,
                           uint64_t to_ns);
/* The number of followed processes that still run. */
unsigned samples_running(const struct samples *s);
/* Reads what the kernel itself counted. Call it while the process lives, and again when it has
 * ended and is not reaped yet. */
void samples_count(struct target *t);
/* Does this account have CPU time of the kernel? */
bool samples_in_kernel(const struct target *t, const struct account *a);
/*
 * The CPU time that a sample counts for in the end. Samples are a period apart, but some do not
 * come, for example while another virtual machine had the processor. So each counts for its share
 * of the CPU time that the kernel reports. Rows are stored as samples x unit, so only the unit
 * changes.
 */
struct sample_units {
    uint64_t user, kernel;
};
struct sample_units samples_units(const struct sampling *g, uint64_t user, uint64_t kernel);
/* Scales the sum of the samples to what the kernel counted. Call it when the target has ended and
 * its last samples were read. */
void samples_settle(struct target *t);
/* Charges faults and times that still wait for a stack. Call it when the process has ended or is no
 * longer followed. */
void samples_end(struct samples *s, struct target *t);

/* Is CPU time also sampled in the kernel? Otherwise it is estimated. */
bool samples_see_kernel(const struct samples *s);
/* Call it at the end: counts all lost records, if the kernel counts them. */
void samples_count_lost(struct samples *s);

/* The number of processes that could not be watched, if all processes of a user are recorded. */
unsigned samples_unwatched(const struct samples *s);

/* Like perf_poll; `out` has room for samples_rings entries. */
size_t samples_poll(struct samples *s, struct pollfd *out);
void samples_polled(struct samples *s, const struct pollfd *in, size_t count);
size_t samples_rings(const struct samples *s);

#endif
