/*
 * perf: the kernel's events of a program and all it starts, in the order in which they happened.
 *
 * What is opened, for each CPU: a tracker (programs, threads, mappings), and as asked for
 * - task-clock: a sample, with a copy of the stack, each time a thread has used so much CPU time;
 *   an event for each size of the copy, of which one is awake;
 * - page faults twice: small records, of which thousands fit even where locked memory is scarce,
 *   so that none is lost; and copies of the stack, of which some may be (samples.h joins them),
 *   again an event for each size;
 * - when threads leave the processor and get it back; and, for those who may look into the kernel,
 *   the stack of a thread that leaves.
 * All but the stacks of faults and of leaving threads are in one ring a CPU, these in others.
 *
 * Who may look into the kernel gets samples of CPU time while it is at work, with the stack of the
 * program that called it. Others get those of user mode only; then it is also recorded when threads
 * are on the processor, and some page faults with their stacks, so that the time in between can be
 * estimated (sampled_kernel.c).
 *
 * Events of different CPUs are merged by time. Records up to a time are complete only when every
 * CPU has passed it, so readers ask for those that are older than the beginning of their last pass.
 *
 * One thread. A record's bytes are good until the next one is asked for.
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
    bool wall;              /* when threads leave and get the processor, too */
    bool all;               /* not one program and what it starts, but all others too */
    bool system;            /* of all processes there are, and not of one and what it starts */
};

enum perf_kind {
    PERF_CPU,
    PERF_FAULT,       /* without a stack */
    PERF_FAULT_STACK, /* the same fault, with its stack */
    PERF_ENTRY,       /* one fault of many, with its stack: the kernel was entered */
    PERF_OFF_STACK,   /* the stack of a thread that is about to leave the processor */
    PERF_OFF,         /* it does */
    PERF_ON,          /* it is back */
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
            uint64_t address; /* of a fault */
            const uint8_t *stack;
            uint64_t stack_size;
            uint64_t stack_room; /* that the copy had; if it is less, the stack ended */
            bool in_kernel;      /* the kernel was at work; registers and stack are the program's */
        };
        struct {
            uint64_t start, size, offset; /* of a mapping */
            const char *path;
            const uint8_t *build_id;
            uint32_t build_id_size;
            bool executable;
        };
        struct {
            const char *name;
            bool exec;
        };
        struct {
            pid_t parent, parent_tid;
        };
        bool preempted; /* of PERF_OFF: it could go on, but others are to have a turn */
        struct {
            uint64_t lost;
            bool lost_stacks; /* and nothing else */
        };
    };
};

struct perf_ring {
    int fd; /* of the event that it belongs to; -1: the ring is not there */
    char *memory;
    uint64_t at, head;
    uint64_t next_time_ns; /* of the record at `at`; UINT64_MAX: there is none */
    int cpu;
    bool stacks; /* that small records in another ring go with */
    bool closed; /* the program has ended; polling would never sleep */
};

#define PERF_CPU_COPIES    3 /* sizes of the copy of a sample's stack */
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
    bool stacks; /* its records are in a ring of stacks */
};

struct perf {
    struct perf_options options;
    VEC(struct perf_ring) rings;
    VEC(struct perf_event) events;
    struct map kinds;             /* event id -> enum perf_kind */
    VEC(struct perf_copy) copies; /* those with copies of stacks; each is in `events` too */
    unsigned copy, copy_most; /* of CPU time: the size that is in use, and the largest there is */
    unsigned fault_copy;      /* of faults: likewise; 0 is the largest */
    bool kernel;              /* CPU time is sampled in the kernel, too */
    bool counts_lost;         /* each event knows how many records of it were lost */
    bool at_once;             /* events that are opened count from then on, and not from exec */
    size_t ring_bytes;
    char *joined; /* a record that begins at the end of a ring and ends at its beginning */
};

/* May these events be opened, of a process of our own, and is there memory for them? 0, or a
 * negative errno and a sentence. */
int perf_check(const struct perf_options *o, struct err *err);
/* Opens them for a process that is about to execute a program; they count from then on. */
int perf_open(struct perf *p, const struct perf_options *o, pid_t pid, struct err *err);
/* Also for a thread that runs already, and what it starts. 0, or a negative errno. */
int perf_watch(struct perf *p, pid_t tid);
/* From now on samples of CPU time have a larger copy of the stack. false: it is the largest. */
bool perf_copy_more(struct perf *p);
/* How many bytes of it they have. */
uint32_t perf_copied(const struct perf *p);
/* From now on stacks of faults have the smallest copy with room for so much, or the largest. */
void perf_copy_faults(struct perf *p, uint64_t bytes);
uint32_t perf_fault_copied(const struct perf *p);
/* Is time in the kernel to be estimated, from entries and times on the processor? */
bool perf_estimates(const struct perf *p);
/* Of how many faults one is a PERF_ENTRY, or has a stack. */
uint64_t perf_entries_apart(const struct perf *p);
/* Records that were lost, except for stacks, as each event has counted them. false: the kernel
 * (before Linux 6.0) does not tell, but by PERF_LOST when it has room again. */
bool perf_lost(const struct perf *p, uint64_t *lost);
void perf_close(struct perf *p);

/* Looks how far the rings are. true: one of them is half full, so not to wait. */
bool perf_look(struct perf *p);
/* The oldest record not read yet, if it is not younger than `until_ns`. */
bool perf_next(struct perf *p, uint64_t until_ns, struct perf_record *out);
/* Lets the kernel write where records have been read. */
void perf_give_back(struct perf *p);
/* Appends what to wait for to `out`, which has room for p->rings.count; how many. */
size_t perf_poll(struct perf *p, struct pollfd *out);
/* After poll(2) filled them in. */
void perf_polled(struct perf *p, const struct pollfd *in, size_t count);

#endif
