/*
 * samples_state: the structures that the files of samples.h share.
 *
 *   samples.c          opening the events, reading record by record, the end
 *   sampled_process.c  processes and threads, as the kernel reports them
 *   sampled_stack.c    from registers and a copy of the stack to a node
 *   sampled_fault.c    page faults: joined with their stacks, and counted
 *   sampled_wait.c     time off the processor
 *   sampled_kernel.c   time in the kernel, if the user may not sample it
 *   sampled_existing.c processes that existed before the recording, which the kernel did not report
 *   sampled_count.c    what the kernel itself counted
 */
#ifndef TIDE_COLLECT_SAMPLING_SAMPLES_STATE_H
#define TIDE_COLLECT_SAMPLING_SAMPLES_STATE_H

#include "base/clock.h"
#include "collect/naming/sampled_maps.h"
#include "collect/sampling/fault_owners.h"
#include "collect/sampling/touched_pages.h"
#include "collect/sampling/samples.h"

#define FRAMES_MAX 2048

/* A fault whose stack has not been read yet, or not completely. */
struct lone_fault {
    uint64_t pc, sp, address, time_ns;
    uint32_t part;  /* the copied part of the stack; 0: nothing of the stack is known */
    uint32_t owner; /* account of the block that the page belongs to, or NO_OWNER */
};
#define NO_OWNER UINT32_MAX

/* A thread's time off the processor. Stacks are nodes; 0: not known. */
struct off {
    uint64_t since_ns; /* when the thread left the processor; 0: it is on the processor */
    bool preempted;    /* the thread could have continued, but others got the processor */
    bool counted;      /* a part of this time has been charged */
    uint32_t stack;    /* where the thread left */
    bool ours;         /* the thread left in the recorder, which waits for the collector */
    bool leaving_ours;
    uint32_t leaving; /* the stack with which the thread is about to leave */
    uint32_t last_wait, last_sample;
    uint64_t waited_ns, ready_ns; /* times that are not charged to a stack yet */
    uint64_t waits;               /* number of waits in waited_ns */
    uint64_t next_examined_ns;
};

/* A thread's time in the kernel, where that may not be sampled. Times are CPU time of the thread.
 * Stacks are nodes; 0: none. */
struct unsampled {
    bool on;
    uint64_t on_ns;    /* when the thread got the processor; the only clock time in this struct */
    uint64_t used_ns;  /* CPU time before on_ns */
    uint64_t until_ns; /* CPU time up to here was charged, or is in `waiting` */
    uint32_t entry;    /* where it last entered the kernel */
    uint64_t entry_ns; /* CPU time when it last entered the kernel */
    uint64_t waiting;  /* periods to be charged to the next stack that is known */
    uint32_t last;     /* the last stack before the waiting periods */
};

struct sampled_thread {
    pid_t tid;
    uint32_t number;        /* index into profile.threads of the target; NO_THREAD: none yet */
    char name[16];          /* empty: it has no name of its own */
    struct lone_fault last; /* the last fault with a stack */
    uint32_t last_stack;    /* the stack of that fault; 0: none */
    struct lone_fault cut;  /* the last fault with a part of its stack */
    struct owner owner;
    bool last_counted;
    VEC(struct lone_fault) lone;
    struct off off;
    struct unsampled unsampled;
};

struct process {
    pid_t pid, parent;
    bool alive;
    bool expects_exec;     /* the process becomes the program, whose target exists already */
    bool skipped;          /* the process is not recorded */
    bool fresh;            /* the process was forked, and is recorded from nearly its beginning */
    struct target *target; /* NULL: nothing to count yet */
    struct sampled_maps mappings;
    struct rules *rules;  /* NULL: no stack has been unwound yet */
    struct map epilogues; /* return address in code without unwind information -> its frame */
    struct touched_pages pages;
    VEC(struct sampled_thread) threads; /* the threads that have not ended */
    struct map by_tid;                  /* thread id -> index in threads */
};

/* A time during which a thread waited for tidemark. */
struct own_wait {
    pid_t pid;
    pid_t tid; /* 0: all threads, which were stopped */
    uint64_t from_ns, to_ns;
};

#define OWN_WAITS                                                                                  \
    256 /* number of own waits that are remembered; older ones have been read long ago */

struct samples {
    struct sampled_session session;
    struct perf perf;
    struct code_files files;
    VEC(struct process *) processes;
    struct map by_pid;         /* pid -> index in processes, of the last one with that pid */
    uint64_t passed_ns;        /* when the last pass began */
    VEC(struct target *) late; /* those that have samples which came late in this pass */
    bool watches;              /* the processes of this user are watched, one by one */
    uint64_t next_scan_ns;     /* when to look for new processes */
    unsigned scans;
    struct map seen; /* pid -> number of the scan that first saw it; WATCHED: it is watched */
    unsigned unwatched;
    struct own_wait own_waits[OWN_WAITS]; /* a circular buffer */
    size_t own_wait_count;                /* how many were ever added */
    /* Numbers of samples with a copy of the current size: all, and those whose stack was deeper
     * than the copy. */
    uint64_t copied, cut;
    unsigned shallow; /* stacks of faults in a row since the size of the copy changed */
    uint64_t deepest; /* the most bytes that one of these stacks needed */
    bool was_deep;    /* a small copy was too small once, so the largest is used from then on */
    uint64_t addresses[FRAMES_MAX];
};

/* sampled_process.c */

/* The last process with that pid; NULL: none is known. */
struct process *process_of(const struct samples *s, pid_t pid);
struct process *process_new(struct samples *s, pid_t pid, pid_t parent);
/* Finds or adds the thread with this id. The result is valid until the next call. */
struct sampled_thread *thread_of(struct process *p, pid_t tid);
/* Does the process have a target, or can it be given one? */
bool has_target(struct samples *s, struct process *p);
/* The thread's index in profile.threads of its target. */
uint32_t thread_number(struct process *p, struct sampled_thread *t, uint64_t time_ns);
/* Charges all faults and times that are not charged yet, because the target ends or executes
 * another program. */
void process_settle(struct samples *s, struct process *p, uint64_t time_ns);
void take_name(struct samples *s, struct process *p, const struct perf_record *r);
void take_fork(struct samples *s, const struct perf_record *r);
void take_exit(struct samples *s, struct process *p, const struct perf_record *r);
void take_mapping(struct samples *s, struct process *p, const struct perf_record *r);

/* Do the options exclude this process? `name` is the kernel's name for it; NULL: not known. */
bool is_skipped(const struct samples *s, pid_t pid, const char *name);

/* sampled_count.c */

/* Adds `count` samples with the sum `amount` that were taken at this time. `kind` is as for
 * ledger_sample. */
void add_sample(struct samples *s, struct target *t, uint32_t account, uint64_t count,
                uint64_t amount, enum column kind, uint64_t time_ns);

/* sampled_existing.c */

/* Adds a process that runs already: reads its mappings and threads. */
struct process *process_found(struct samples *s, pid_t pid);
/* For recordings of all processes of a user: opens the events of new processes. */
void watch_others(struct samples *s);

/* sampled_stack.c */

/* The stack of a sample, as a node of the target's own tree. */
uint32_t stack_of(struct samples *s, struct process *p, const struct perf_record *r);
/* The stack of a page fault, as a node. *cut: the stack is deeper than the copy. */
uint32_t stack_of_fault(struct samples *s, struct process *p, const struct perf_record *r,
                        bool *cut);
/* Are two addresses of nodes in one function? */
bool is_same_function(struct process *p, uint64_t a, uint64_t b);
/* The node for "in the kernel" below a stack of the program. */
uint32_t kernel_stack(struct process *p, uint32_t stack);
/* The address in the form that nodes have; adds its module to the profile. */
uint64_t node_address(struct process *p, uint64_t address);
/* The stack of a waiting thread, read now. *ours: it waits in the recorder. 0: it does not wait, or
 * may not be read. */
uint32_t stack_of_blocked(struct samples *s, struct process *p, pid_t tid, bool *ours);
/* Does this code belong to the recorder? */
bool is_recorder(const struct process *p, uint64_t pc);

/* sampled_fault.c */

void take_fault(struct samples *s, struct process *p, const struct perf_record *r);
/* Charges all faults that wait for a stack. */
void settle_faults(struct samples *s, struct process *p, struct sampled_thread *t);

/* sampled_wait.c */

void take_switch(struct samples *s, struct process *p, const struct perf_record *r);
void take_off_stack(struct samples *s, struct process *p, const struct perf_record *r);
/* Notes that a sample of CPU time with this stack was counted. */
void note_sample(struct samples *s, struct process *p, struct sampled_thread *t, uint32_t stack,
                 uint64_t time_ns);
/* Examines waiting threads. Call it after a pass that has read everything up to `until_ns`. */
void examine_waits(struct samples *s, uint64_t until_ns);
/* Makes all current waits begin anew, because recording pauses or resumes; a pause first charges
 * the time so far. */
void cut_waits(struct samples *s, bool paused, uint64_t time_ns);
/* The thread ends, or is no longer followed. */
void settle_off(struct samples *s, struct process *p, struct sampled_thread *t, uint64_t time_ns);

/* sampled_kernel.c */

/* Handles a thread that gets the processor, or leaves it. */
void kernel_switch(struct sampled_thread *t, bool on, uint64_t time_ns);
/* Handles a sample: the thread had this stack in user mode at the end of a period of its CPU
 * time. */
void kernel_sampled(struct samples *s, struct process *p, struct sampled_thread *t,
                    uint64_t time_ns, uint32_t stack);
/* Notes that the thread entered the kernel with this stack. */
void kernel_entered(struct samples *s, struct process *p, struct sampled_thread *t,
                    uint64_t time_ns, uint32_t stack);
/* The thread ends, or is no longer followed. */
void kernel_settle(struct samples *s, struct process *p, struct sampled_thread *t,
                   uint64_t time_ns);
/* Drops times that are not charged yet, because records were lost. */
void kernel_forget(struct samples *s);

#endif
