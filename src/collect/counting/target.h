/*
 * target: one process that is being recorded: its shared memory, and what the collector has counted
 * so far.
 *
 * The program can write to the shared memory and may have damaged it, so the collector reads every
 * number in it only once, and checks it before use. A process that is sampled (samples.h) may be a
 * target before it connects, or without ever connecting: then it has no shared memory (header is
 * NULL).
 *
 * A boundary is the end of an interval that was announced; rows before it may still come.
 * Reading the rings is called draining (read_rings.c); target_finish.c makes the profile.
 *
 * Order of calls: target_new_bare and target_attach when the process connects (target_new does
 * both); target_drain repeatedly; target_end once, when the process has ended; then
 * target_finish_stacks and target_finish, which make the profile for the file.
 */
#ifndef TIDE_COLLECT_COUNTING_TARGET_H
#define TIDE_COLLECT_COUNTING_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "collect/counting/accounts.h"
#include "collect/counting/block_index.h"
#include "collect/counting/blocks.h"
#include "collect/counting/eras.h"
#include "collect/counting/fork_image.h"
#include "collect/counting/interval_log.h"
#include "collect/counting/late_samples.h"
#include "collect/counting/ledger.h"
#include "collect/counting/live_summary.h"
#include "collect/counting/mark_on.h"
#include "collect/counting/marks.h"
#include "collect/counting/pools.h"
#include "collect/counting/program_mmaps.h"
#include "collect/counting/program_stacks.h"
#include "collect/counting/realloc_chains.h"
#include "collect/counting/sampled_tree.h"
#include "collect/counting/schedule.h"
#include "collect/counting/thread_numbers.h"
#include "collect/counting/untouched.h"
#include "collect/naming/jit_names.h"
#include "collect/naming/naming.h"
#include "collect/naming/python_code.h"
#include "collect/proc/address_set.h"
#include "collect/proc/smaps.h"
#include "store/recording.h"
#include "wire/layout.h"
#include "wire/routes.h"

#define NO_THREAD UINT32_MAX

/* One ring, and the position up to which it was read. */
struct reader {
    struct wire_ring *ring;
    const uint64_t *chunks; /* WIRE_CHUNKS entries */
    const uint64_t *chunk;  /* the current chunk */
    uint64_t at;            /* number of words read */
    uint64_t due;           /* words that existed when this pass began, and that it must read */
    uint64_t head;          /* words that existed a moment later, and that this pass may read */
    uint64_t sequence; /* sequence number of the last record read, over all rings; 0: it had none */
    uint32_t tick;
    uint32_t thread;       /* the ring's thread: index into profile.threads; NO_THREAD at first */
    uint32_t first_thread; /* the index of the thread under its first name */
    /* Number of names that the thread has reported: it inherits the first one. */
    uint32_t names;
    uint64_t dropped;
    bool damaged;     /* the ring contains nonsense, and is not read any more */
    struct cuts cuts; /* what the thread's last munmap unmapped, until the call has succeeded */
    struct pool_free freed; /* the thread's last free in a pool, until the call has succeeded */
};

/* The end of an interval that was announced and waits until everything before it has been read. */
struct boundary {
    uint32_t tick; /* the last tick before the end */
    uint64_t time_ns;
    /* The collector may wait a while for threads to report what they counted before it. */
    bool patient;
    bool programs; /* the program made it: it is a mark, unless the program says otherwise */
    bool kept;     /* the collector made it, and it is kept like a mark */
};

/* What not_recorded.c knows about the process. */
struct watched {
    char name[16];      /* the kernel's name while the process ran; empty: not read yet */
    char last_name[16]; /* the kernel's name after the process ended; empty: could not be read */
    /* File or name of another program that the process executed; NULL: it is still the program that
     * connected. */
    char *became;
    bool is_path;
    bool is_elsewhere;           /* the process is in another network namespace */
    unsigned libraries_readings; /* how often the collector read the list of its libraries */
};

/* The chunks of the file for a process that has ended (session/packing.h), and the figures that are
 * needed after its tables are freed. */
struct packed {
    bool figures, names;  /* the chunks of the figures, and of the names, are made */
    struct strbuf chunks; /* they have process number 0; the writer sets the number */
    bool counted;         /* the following sums are known */
    uint64_t lost_events, truncated_stacks, incomplete_stacks;
    struct sample_sums sampled;
};

/* What the collector knows about the Python interpreter of a process. */
struct target_python {
    uint64_t offset; /* offset of its records in the shared memory, and their room */
    uint32_t size;
    struct python_codes codes;
    uint32_t state, version, objects_state; /* from the header, at the end */
    bool objects_wanted;
    bool has_arenas; /* the interpreter has mapped arenas */
    bool ended;      /* the interpreter has ended, and has freed most of its memory */
    /* The collector read the process when its interpreter began to end; the process may
     * continue. */
    bool ends_early;
    uint32_t end_tick; /* the first tick after the interpreter began to end; 0: it has not */
};

struct segment {
    void *memory;
    size_t size;
};

struct target {
    pid_t pid;
    struct thread_numbers thread_numbers;
    int pidfd;
    int fd;
    dev_t exe_device; /* the program file, to notice when it changes */
    ino_t exe_inode;
    uint64_t stack_start; /* differs if the same file was executed again; 0: not known */
    char name[16];        /* the kernel's name when it connected */
    struct watched watched;
    struct wire_header *header;
    size_t size;       /* size of the mapping at `header` */
    uint64_t start_ns; /* on the session's clock */
    uint64_t start_monotonic_ns;
    uint32_t modules_read;
    struct target_python python;
    struct jit_names jit;
    bool ended;
    bool gone;                    /* the process has ended, but its rings may not have been read */
    VEC(struct segment) segments; /* further rings */

    VEC(char *) rings; /* all that the program has, in the order in which it hands them out */
    VEC(struct reader) readers;  /* of those that a thread was given (target_meet_rings) */
    VEC(struct reader *) active; /* the rings that this pass reads */
    VEC(struct boundary) boundaries;
    bool patient;  /* patient boundaries may be put off to a later pass */
    bool stopped;  /* its threads are stopped, so none of them will report */
    uint32_t tick; /* ends of intervals before this tick have been handled */
    struct marks marks;
    struct mark_on *mark_on; /* the session's; NULL: not asked for */
    uint64_t eras_offset;
    uint64_t routes_offset;
    VEC(struct wire_index_part) index_parts; /* the parts of its block index that have been read */
    struct block_copy block_copy;
    struct accounts accounts;
    struct ledger ledger;
    struct eras eras;
    struct {
        VEC(struct live_summary) results;
        struct address_set loader; /* what was mapped before malloc existed */
        char *left_out;            /* why the scan at its end was left out; NULL: it was not */
    } scan;                        /* leakscan/scan.c */
    struct realloc_chains realloc_chains;
    struct untouched untouched;
    struct program_mmaps program_mmaps;
    struct pools pools;
    struct inheritance inheritance;
    bool forked;     /* the process continues its parent's program */
    bool has_forked; /* the process has forked: its children may share its pages */
    /* Its mappings while it waits at its end and nothing can change them; NULL: read them. */
    struct proc_still *still;
    uint64_t end_spent_ns; /* time spent on the work at its end (end_budget.h) */
    struct interval_log timeline;

    uint64_t pass_words; /* the most words that one ring had in the last pass */

    uint64_t events;
    uint64_t missed_frees;
    uint64_t growths_left_out; /* steps of growing arrays that are not counted */
    bool dormant, was_dormant; /* its hooks only forward calls now, or did so at its start */
    unsigned stops;            /* how often it became dormant: frees were missed then */
    bool was_paused;           /* recording was paused, so some blocks were never reported */
    /* Unknown frees since a pause, probably of blocks allocated in it. */
    uint64_t unannounced_frees;
    /* The process was already running at the attach: frees of older blocks are counted in its
     * profile. */
    bool attached;
    uint64_t unrecorded;    /* the part of header->unrecorded that has been counted as lost */
    uint32_t unfollowed;    /* header->unfollowed at the end */
    uint32_t entries_taken; /* header->entries_taken at the end */
    /* Of enum wire_gpu: who reports memory of graphics processors, and who could not be hooked. */
    uint32_t gpu_hooked, gpu_refused;
    uint32_t end;    /* header->end at the end of the process */
    bool was_joined; /* the program has used the memory that it was given */
    struct program_stacks program_stacks;
    struct profile profile;
    struct packed packed;
    struct schedule arenas_due; /* resident/python_arenas.c */
    struct schedule sizes_due;  /* resident/process_sizes.c */
    struct {
        struct schedule due;
        uint64_t rss_bytes; /* resident at the last capture */
    } maps;                 /* resident/maps.c */
    struct {
        struct schedule due;
        size_t marks; /* number of marks when resident memory was last accounted for */
    } footprint;      /* resident/footprint.c */
    struct {
        struct sampled_tree stacks;
        size_t stacks_named; /* number of stacks that were passed to naming */
        /* After target_finish: what was added to their node numbers in the profile. */
        uint32_t joined;
        /* Numbers of threads that are known only from samples, and have had no event of their
         * own. */
        VEC(uint32_t) threads;
        VEC(struct late_sample) late;
        struct sampling before; /* what the kernel had counted before this program was executed */
    } sampled;                  /* sampling/ */
    struct {
        uint64_t period_ns;  /* 0: no samples are taken */
        uint64_t offset;     /* offset of the samples in the shared memory */
        uint64_t read, lost; /* numbers of samples so far */
    } timer_samples;         /* timer_samples.c */
};

struct target *target_new(pid_t pid, bool limited_space, enum wire_on_full on_full,
                          uint64_t interval_ns, struct err *err);
/* A target without shared memory. */
struct target *target_new_bare(pid_t pid, uint64_t interval_ns);
/* The process has run until `now_ns` without an event: an interval of its own, so that what follows
 * is not taken to be from that time. Before the first event. */
void target_begin_late(struct target *t, uint64_t now_ns);
/* Creates the shared memory of a target, which is then passed to the process. Returns 0, or a
 * negative errno. */
int target_attach(struct target *t, bool limited_space, enum wire_on_full on_full, struct err *err);
/* Reads the command line and the program file, unless they are known. A program that was just
 * executed may have no command line for a moment. */
void target_read_program(struct target *t);
void target_free(struct target *t);
/* The last target with this pid; NULL: there is none. */
struct target *target_find(struct target *const *targets, size_t count, pid_t pid);
/* Can shared memory be created here at all? Called before the program starts. */
int target_check(struct err *err);
/* Creates further rings in a memfd of their own. Returns its fd, to be passed on and closed, or a
 * negative errno. */
int target_more_rings(struct target *t, uint32_t count, size_t *size);
/* Adds readers for the rings that threads were given since the last call. No other ring is ever
 * touched: reading it would take a page of memory. */
void target_meet_rings(struct target *t);

/* Reads everything that existed at the call, and ends all intervals that were announced; it waits a
 * little for a thread that is reporting. Use target_pass if they may end later. now_ns: time since
 * the target's start. Returns the number of words read. */
uint64_t target_drain(struct target *t, uint64_t now_ns);
/* Announces the end of an interval, which the next target_drain carries out. */
void target_boundary(struct target *t, uint64_t now_ns);
/* The same for a moment that is kept like a mark: what happens after it is counted apart. */
void target_boundary_kept(struct target *t, uint64_t now_ns);
/* The tick that the program has reached. */
static inline uint32_t target_tick(const struct target *t)
{
    return t->header ? atomic_load(&t->header->tick) : t->tick;
}
/* A time of the monotonic clock, since the process began. */
static inline uint64_t target_time(const struct target *t, uint64_t monotonic_ns)
{
    return monotonic_ns > t->start_monotonic_ns ? monotonic_ns - t->start_monotonic_ns : 0;
}
/* Calls target_drain, and announces the end of an interval when it is due. It gives threads some
 * time to report what they have counted before that end, because reading their accounts costs
 * more. */
uint64_t target_pass(struct target *t, uint64_t now_ns);
/* Reads the rest of the records and closes the last interval. Call it when the process has
 * ended. */
void target_end(struct target *t, uint64_t now_ns);
/* run --dormant: makes the hooks of the process record from here on, or only forward calls. The
 * target must have a header. */
void target_wake(struct target *t);
void target_put_to_sleep(struct target *t);
/* Frees what was needed only to read events, except what children inherit. Call it after
 * target_end. */
void target_release_events(struct target *t);
/* Frees what target_finish makes a profile from. Call it after target_release_events. */
void target_release_figures(struct target *t);
/* Sets the reason why the reachability of the last blocks is not known, if it is not known and no
 * reason was set yet. */
void target_explain(struct target *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Closes the last interval with what was read so far; target_finish must be called next. */
void target_pause(struct target *t, uint64_t now_ns);
/* Reads modules, stacks and Python code that are new. */
void target_update_code(struct target *t);
/* The memory that the recorder has mapped for itself in the program. */
void target_own(const struct target *t, struct address_set *out);
/* Did the process continue after the collector read it as if it were ending? Then only its
 * interpreter has ended. */
bool target_went_on(const struct target *t, uint64_t looked_ns, uint64_t now_ns);
/* The counter for frees of blocks that were never reported. */
uint64_t *target_unknown_frees(struct target *t);
/* May there be blocks that were never reported? */
bool target_may_lack_blocks(const struct target *t);
/* The highest live total of a process since its start, while it is still running. */
uint64_t target_peak_bytes(const struct target *t);
/* The highest live total since target_watch_peak, or since the start. */
uint64_t target_watched_peak(struct target *t);
void target_watch_peak(struct target *t);
/* Fills the nodes of target.profile. */
void target_finish_stacks(struct target *t);
/* Fills the rest of target.profile, except for names and for tables that may be too large to have
 * twice: the sites stay in target.ledger (ledger_site_at), and the rows in target.timeline. */
void target_finish(struct target *t);

/* target_command.c */
void target_read_command(struct target *t);
/* A forked process has its parent's arguments until it sets a title for ps, as servers do to tell
 * their workers apart. `stack_start` was read after this title: each exec chooses another one, so
 * it shows whether the process still runs the same program. */
void target_use_title(struct target *t, const struct strbuf *title, uint64_t stack_start);

/* read_rings.c */
uint64_t drain_rings(struct target *t, uint64_t now_ns);
/* Reads what the threads of a process have counted and not reported yet, up to the end of the first
 * interval that waits to be ended. */
void drain_counters(struct target *t);

#endif
