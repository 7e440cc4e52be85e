/*
 * perf: reads the kernel's events of a program and of all processes that it starts, in the order of
 * time.
 *
 * For each CPU, perf_open opens a tracker (programs, threads, mappings) and, if asked for,
 * - task-clock: a sample with a copy of the stack each time a thread has used a certain amount of
 *   CPU time. There is one event for each size of the copy, one of which is enabled.
 * - page faults, twice: as small records, thousands of which fit even where locked memory is
 *   scarce, so that none is lost; and as copies of the stack, some of which may be lost (samples.h
 *   joins the two). Again there is one event for each size.
 * - when threads leave the processor and get it back and, if the user may look into the kernel, the
 *   stack of a thread that leaves.
 *
 * Each CPU has one ring for all records except the stacks of faults and of leaving threads, which
 * are in separate rings.
 *
 * If the user may look into the kernel, CPU time is also sampled while the kernel works, with the
 * stack of the program that called it. Otherwise only user mode is sampled. Then the events also
 * record when threads are on the processor, and some page faults with their stacks, so that the
 * time in between can be estimated (sampled_kernel.c).
 *
 * Events of different CPUs are merged by time. Records up to a time are complete only when every
 * CPU has passed that time, so readers ask for records that are older than the beginning of their
 * last pass.
 *
 * Threads: one. A record's bytes are valid until the next record is read.
 */
#ifndef TIDE_COLLECT_SAMPLING_PERF_H
#define TIDE_COLLECT_SAMPLING_PERF_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/map.h"
#include "machine/page.h"
#include "machine/registers.h"

struct perf_options {
    uint64_t cpu_period_ns; /* 0: no CPU samples */
    uint64_t fault_period;  /* 0: no page faults; 1: every one */
    bool wall;              /* also record when threads leave and get the processor */
    bool all;               /* run --all: copies of stacks are small, because there are many */
    bool system;            /* one event per CPU for the whole machine, which needs a privilege */
};

enum perf_kind {
    PERF_CPU,
    PERF_FAULT,       /* without a stack */
    PERF_FAULT_STACK, /* the same fault, with its stack */
    PERF_ENTRY,       /* one fault of many, with its stack: a moment when the kernel was entered */
    PERF_OFF_STACK,   /* the stack of a thread that is about to leave the processor */
    PERF_OFF,         /* the thread leaves the processor */
    PERF_ON,          /* the thread is back on a processor */
    PERF_MMAP,
    PERF_COMM,
    PERF_FORK,
    PERF_EXIT,
    PERF_LOST,
    PERF_OTHER
};

struct perf_record {
    enum perf_kind kind;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    pid_t pid, tid;
    union {
        struct {
            struct arch_registers registers;
            uint64_t address; /* address of a page fault */
            const uint8_t *stack;
            uint64_t stack_size;
            /* The size of the copy. If stack_size is smaller, the copy reaches the end of the
             * stack. */
            uint64_t stack_room;
            bool in_kernel; /* the kernel was working; registers and stack are the program's */
        };
        struct {
            uint64_t start, size, offset; /* PERF_MMAP: the mapping */
            const char *path;
            const uint8_t *build_id;
            uint32_t build_id_size;
            bool executable;
        };
        struct {
            const char *name;
            bool exec;
        };
        pid_t parent;
        bool preempted; /* PERF_OFF: the thread could run on, but others get a turn */
        struct {
            uint64_t lost;
            bool lost_stacks; /* PERF_LOST: only stacks were lost */
        };
    };
};

struct perf_ring {
    int fd; /* descriptor of the ring's event; -1: there is no ring */
    char *memory;
    uint64_t at, head;
    uint64_t next_time_ns; /* time of the record at `at`; UINT64_MAX: none */
    int cpu;
    bool stacks; /* the ring has stacks; the matching small records are in another ring */
    bool closed; /* the program has ended; a poll would return at once for ever */
};

#define PERF_CPU_COPIES    3 /* sizes of the stack copy of a CPU sample */
#define PERF_FAULT_COPIES  3
#define PERF_FAULT_LARGEST 8192
#define PERF_PAGE_BYTES    page_bytes()

struct perf_copy {
    int fd;
    enum perf_kind kind; /* PERF_CPU or PERF_FAULT */
    unsigned copy;
};

struct perf_event {
    int fd;
    bool stacks; /* its records are written to a ring of stacks */
};

struct perf {
    struct perf_options options;
    VEC(struct perf_ring) rings;
    VEC(struct perf_event) events;
    struct map kinds;             /* event id -> enum perf_kind */
    VEC(struct perf_copy) copies; /* the events with copies of stacks, each also in `events` */
    unsigned copy, copy_most;     /* CPU time: the size in use, and the largest that is available */
    unsigned fault_copy;          /* faults: the size in use; 0 is the largest */
    bool kernel;                  /* CPU time is sampled in the kernel too */
    bool counts_lost;             /* each event counts its lost records */
    bool at_once;                 /* new events count from when they are opened, not from exec */
    size_t ring_bytes;
    char *joined; /* a record that wraps around the end of a ring, in one piece */
};

/* May this user open these events for an own process, and is there memory for them? Returns 0,
 * or a negative errno and a sentence. */
int perf_check(const struct perf_options *o, struct err *err);
/* Opens the events for a process that is about to execute a program; they count from exec on. */
int perf_open(struct perf *p, const struct perf_options *o, pid_t pid, struct err *err);
/* Opens the events also for a thread that already runs, and for what it starts. Returns 0, or a
 * negative errno. */
int perf_watch(struct perf *p, pid_t tid);
/* Lets samples of CPU time have a larger copy of the stack from now on. false: it is already the
 * largest. */
bool perf_copy_more(struct perf *p);
/* How many bytes of the stack a sample of CPU time has. */
uint32_t perf_copied(const struct perf *p);
/* From now on, copies stacks of faults with the smallest size that has room for this many bytes, or
 * with the largest size. */
void perf_copy_faults(struct perf *p, uint64_t bytes);
uint32_t perf_fault_copied(const struct perf *p);
/* Must time in the kernel be estimated, from entries and from times on the processor? */
bool perf_estimates(const struct perf *p);
/* One of this many faults is a PERF_ENTRY, or has a stack. */
uint64_t perf_entries_apart(const struct perf *p);
/* Counts the records that were lost, without stacks. false: the kernel (before Linux 6.0) does not
 * count them; it only writes PERF_LOST when a ring has room again. */
bool perf_lost(const struct perf *p, uint64_t *lost);
void perf_close(struct perf *p);

/* Reads how full the rings are. true: one of them is half full, so do not sleep. */
bool perf_read_heads(struct perf *p);
/* The oldest record that has not been read, unless it is younger than `until_ns`. */
bool perf_next(struct perf *p, uint64_t until_ns, struct perf_record *out);
/* Lets the kernel overwrite the records that have been read. */
void perf_give_back(struct perf *p);
/* Appends what to poll to `out`, which has room for p->rings.count entries. Returns how many. */
size_t perf_poll(struct perf *p, struct pollfd *out);
/* Call it after poll(2) has filled in the entries. */
void perf_polled(struct perf *p, const struct pollfd *in, size_t count);

#endif
