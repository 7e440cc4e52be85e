/*
 * samples_state: what the files behind samples.h share.
 *
 *   samples.c          the whole: opening, reading record by record, the end
 *   sampled_process.c  processes and threads: what the kernel tells of them
 *   sampled_stack.c    from registers and a copy of the stack to a node
 *   sampled_fault.c    page faults: joined with their stacks, and counted
 *   sampled_wait.c     time off the processor
 *   sampled_kernel.c   time in the kernel, where it may not be sampled
 *   sampled_found.c    processes that were there before us, of which the kernel told nothing
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

/* A fault whose stack has not come, or not all of it. */
struct lone_fault {
    uint64_t pc, sp, address;
    uint32_t part;  /* the stack as far as it was copied; 0: nothing of it is known */
    uint32_t owner; /* account of the block that the page belongs to, or NO_OWNER */
};
#define NO_OWNER UINT32_MAX

/* A thread's time off the processor; stacks are nodes, 0: none is known. */
struct off {
    uint64_t since_ns; /* 0: it is on */
    bool preempted;    /* it could go on, but others had a turn */
    bool counted;      /* a part of this time off has been */
    uint32_t stack;    /* where it left */
    bool ours;         /* it left in the recorder, which waits for the collector */
    bool leaving_ours;
    uint32_t leaving; /* where it is about to leave */
    uint32_t last_wait, last_sample;
    uint64_t waited_ns, ready_ns; /* not charged to a stack yet, */
    uint64_t waits;               /* of so many */
    uint64_t next_look_ns;
};

/* Where a thread's time in the kernel goes that may not be sampled. Times are CPU time of the
 * thread; stacks are nodes, 0: none. */
struct unsampled {
    bool on;
    uint64_t on_ns;    /* since when; the one time that is on the clock */
    uint64_t used_ns;  /* before that */
    uint64_t until_ns; /* what was used up to here is charged, or waits */
    uint32_t entry;    /* the last that entered the kernel, */
    uint64_t entry_ns; /* then */
    uint64_t waiting;  /* periods, for the next stack that is known */
    uint32_t last;     /* and the last one before it */
};

struct sampled_thread {
    pid_t tid;
    uint32_t number;        /* in profile.threads of the target; NO_THREAD: not yet */
    char name[16];          /* empty: it was given none */
    struct lone_fault last; /* the last fault with a stack, */
    uint32_t last_stack;    /* which is this; 0: none */
    struct lone_fault cut;  /* the last one with a part of its stack */
    struct owner owner;
    bool last_counted;
    VEC(struct lone_fault) lone;
    struct off off;
    struct unsampled unsampled;
};

struct process {
    pid_t pid, parent;
    bool alive;
    bool expects_exec;     /* of the program itself, whose target is there */
    bool skipped;          /* not to be recorded */
    bool fresh;            /* forked, and has used next to nothing since that is not recorded */
    struct target *target; /* NULL: nothing to count yet */
    struct sampled_maps mappings;
    struct rules *rules;  /* NULL: no stack yet */
    struct map epilogues; /* return address in code without unwind information -> its frame */
    struct touched_pages pages;
    VEC(struct sampled_thread) threads; /* that have not ended */
    struct map by_tid;                  /* -> index in threads */
};

/* A thread waited for tidemark. */
struct own_wait {
    pid_t pid;
    pid_t tid; /* 0: all threads, which were held */
    uint64_t from_ns, to_ns;
};

#define OWN_WAITS 256 /* are remembered: what is older was read long ago */

struct samples {
    struct sampled_session session;
    struct perf perf;
    struct code_files files;
    VEC(struct process *) processes;
    struct map by_pid;     /* -> index in processes; the last of that pid */
    uint64_t passed_ns;    /* when the last pass began */
    bool watches;          /* the processes of this user, one by one */
    uint64_t next_scan_ns; /* for new ones */
    unsigned scans;
    struct map seen; /* pid -> number of the scan that saw it first; WATCHED: it is watched */
    unsigned unwatched;
    struct own_wait own_waits[OWN_WAITS]; /* by turns, */
    size_t own_wait_count;                /* of so many */
    uint64_t copied, cut; /* samples with a copy of the present size, and of them, too deep */
    unsigned shallow; /* stacks of faults since the copy had another size, or since the start, */
    uint64_t deepest; /* and the most bytes that one of them needed */
    bool was_deep;    /* a small copy was too small once: from then on it is the largest */
    uint64_t addresses[FRAMES_MAX];
};

/* sampled_process.c */

/* The last of that pid; NULL: none is known. */
struct process *process_of(const struct samples *s, pid_t pid);
struct process *process_new(struct samples *s, pid_t pid, pid_t parent);
/* What it was is forgotten: it executes another program, or its pid is another's. */
void process_clear(struct process *p);
/* The one of that number; it is added if it is not there. Good until the next call. */
struct sampled_thread *thread_of(struct process *p, pid_t tid);
/* Is there something to count for it? */
bool has_target(struct samples *s, struct process *p);
/* In profile.threads of its target. */
uint32_t thread_number(struct process *p, struct sampled_thread *t, uint64_t time_ns);
/* Its target ends, or it executes something else: what waits to be counted waits no longer. */
void process_settle(struct samples *s, struct process *p, uint64_t time_ns);
void take_name(struct samples *s, struct process *p, const struct perf_record *r);
void take_fork(struct samples *s, const struct perf_record *r);
void take_exit(struct samples *s, struct process *p, const struct perf_record *r);
void take_mapping(struct samples *s, struct process *p, const struct perf_record *r);

/* Is it one that the user does not want? `name`: the kernel's; NULL: not known. */
bool is_skipped(const struct samples *s, pid_t pid, const char *name);

/* sampled_found.c */

/* A process that runs already: what it has mapped and its threads are asked for. */
struct process *process_found(struct samples *s, pid_t pid);
/* Of recordings of all processes of a user: opens the events of those that are new. */
void watch_others(struct samples *s);

/* sampled_stack.c */

/* The stack of a sample, in the target's own tree. */
uint32_t stack_of(struct samples *s, struct process *p, const struct perf_record *r);
/* Of a fault: the same. *cut: there is more, but it was not copied. */
uint32_t stack_of_fault(struct samples *s, struct process *p, const struct perf_record *r,
                        bool *cut);
/* Of two addresses of nodes: are they in one function? */
bool is_same_function(struct process *p, uint64_t a, uint64_t b);
/* Below a stack of the program: the kernel works for it. */
uint32_t kernel_stack(struct process *p, uint32_t stack);
/* The address as a node has it, its module made known to the profile. */
uint64_t node_address(struct process *p, uint64_t address);
/* The stack of a thread that waits, as it is found now, and whether it does so in the recorder; 0:
 * it does not, or may not be looked at. */
uint32_t stack_of_blocked(struct samples *s, struct process *p, pid_t tid, bool *ours);
/* Is this code the recorder's? */
bool is_recorder(const struct process *p, uint64_t pc);

/* sampled_fault.c */

void take_fault(struct samples *s, struct process *p, const struct perf_record *r);
/* Whatever faults wait for, they wait no longer. */
void settle_faults(struct samples *s, struct process *p, struct sampled_thread *t);

/* sampled_wait.c */

void take_switch(struct samples *s, struct process *p, const struct perf_record *r);
void take_off_stack(struct samples *s, struct process *p, const struct perf_record *r);
/* A sample of CPU time with this stack was counted. */
void note_sample(struct samples *s, struct process *p, struct sampled_thread *t, uint32_t stack);
/* After a pass that has read what happened up to then: looks at threads that wait. */
void look_at_waits(struct samples *s, uint64_t until_ns);
/* Recording pauses, or goes on: what lies in between belongs to no wait. */
void cut_waits(struct samples *s, bool paused, uint64_t time_ns);
/* The thread ends, or is not followed any longer. */
void settle_off(struct samples *s, struct process *p, struct sampled_thread *t, uint64_t time_ns);

/* sampled_kernel.c */

/* The thread gets the processor, or leaves it. */
void kernel_switch(struct sampled_thread *t, bool on, uint64_t time_ns);
/* It had this stack in user mode when a period of its CPU time was over. */
void kernel_sampled(struct samples *s, struct process *p, struct sampled_thread *t,
                    uint64_t time_ns, uint32_t stack);
/* It entered the kernel with this stack. */
void kernel_entered(struct samples *s, struct process *p, struct sampled_thread *t,
                    uint64_t time_ns, uint32_t stack);
/* It ends, or is not followed any longer. */
void kernel_settle(struct samples *s, struct process *p, struct sampled_thread *t,
                   uint64_t time_ns);
/* Records were lost: what is not charged yet is not known. */
void kernel_forget(struct samples *s);

#endif
