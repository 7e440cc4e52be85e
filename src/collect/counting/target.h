/*
 * target: one process that is being recorded: its shared memory, and what was derived from it so
 * far.
 *
 * The program can write to the shared memory as much as we can and may have damaged it: every
 * number in it is read only once, and checked before it is used. A process that is sampled
 * (samples.h) may be a target before it connects, or without ever connecting: then it has no shared
 * memory (header is NULL).
 *
 * Life: target_new when the process connects; target_drain again and again; target_end once, when
 * it is gone; then target_finish makes the profile for the file.
 */
#ifndef TIDE_COLLECT_COUNTING_TARGET_H
#define TIDE_COLLECT_COUNTING_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "collect/counting/accounts.h"
#include "collect/counting/eras.h"
#include "collect/counting/block_index.h"
#include "collect/counting/blocks.h"
#include "collect/counting/inherit.h"
#include "collect/counting/realloc_chains.h"
#include "collect/counting/ledger.h"
#include "collect/counting/mark_on.h"
#include "collect/counting/marks.h"
#include "collect/naming/naming.h"
#include "collect/counting/pools.h"
#include "collect/counting/program_stacks.h"
#include "collect/naming/jit_names.h"
#include "collect/naming/python_code.h"
#include "collect/counting/program_mmaps.h"
#include "collect/proc/address_set.h"
#include "collect/counting/schedule.h"
#include "collect/counting/sampled_tree.h"
#include "collect/counting/untouched.h"
#include "collect/counting/live_summary.h"
#include "collect/counting/interval_log.h"
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
    uint64_t due;           /* words that existed when this pass began: they will be read in it */
    uint64_t head;          /* words that existed a moment later: they may be read in it */
    uint64_t sequence; /* sequence number of the last record read, over all rings; 0: it had none */
    uint32_t tick;
    uint32_t thread; /* whose records these are: index into profile.threads; NO_THREAD at first */
    uint32_t first_thread; /* its index under its first name */
    /* Number of names it has reported: the first is inherited, the second its own. */
    uint32_t names;
    uint64_t dropped;
    bool damaged;     /* nonsense was found: this ring is not read any more */
    struct cuts cuts; /* what its last munmap unmapped, until it is known to have succeeded */
};

/* The end of an interval that was announced and waits until everything before it has been read. */
struct boundary {
    uint32_t tick; /* the last one before it */
    uint64_t time_ns;
    bool patient;  /* threads may report by themselves what they counted before it */
    bool programs; /* made by the program: a mark, unless it says otherwise */
    bool marked;   /* made by somebody from outside */
};

/* What not_recorded.c knows about the process. */
struct watched {
    char name[16];      /* the kernel's name while it lived; empty: not read yet */
    char last_name[16]; /* the kernel's name when it had ended; empty: too late */
    /* File or name of another program that it executed; NULL: still the one that connected. */
    char *became;
    bool is_path;
    bool is_elsewhere;           /* it is in another network namespace */
    unsigned libraries_readings; /* how often its libraries were read */
};

/* A process that has ended (packing.c): its chunks of the file, and what may be asked about it when
 * its tables are freed. */
struct packed {
    bool figures, names;  /* their chunks are made */
    struct strbuf chunks; /* of process 0: the writer gives them their number */
    bool counted;         /* what follows is known */
    uint64_t lost_events, truncated_stacks, incomplete_stacks;
    struct sample_sums sampled;
};

/* What is known about the interpreter in it. */
struct target_python {
    uint64_t offset; /* offset of its records in the shared memory, and their room */
    uint32_t size;
    struct python_codes codes;
    uint32_t state, version, objects_state; /* from the header, at the end */
    bool objects_wanted;
    bool has_arenas;   /* it has mapped arenas */
    bool ended;        /* its interpreter has ended: what it leaves is not what it had */
    bool ends_early;   /* the process was read when it began to end, and may go on */
    uint32_t end_tick; /* the first tick since it began to end; 0: it has not */
};

struct segment {
    void *memory;
    size_t size;
};

struct target {
    pid_t pid;
    int pidfd;
    int fd;
    dev_t exe_device; /* the program file, to notice when it changes */
    ino_t exe_inode;
    uint64_t
        stack_start; /* an address; differs if the same file was executed again; 0: not known */
    char name[16];   /* the kernel's name when it connected */
    struct watched watched;
    struct wire_header *header;
    size_t size;       /* of the mapping at header */
    uint64_t start_ns; /* on the session's clock */
    uint64_t start_monotonic_ns;
    uint32_t modules_read;
    struct target_python python;
    struct jit_names jit;
    bool ended;
    bool gone;                    /* the process is gone, but what it left may not have been read */
    VEC(struct segment) segments; /* further rings */

    VEC(struct reader) readers;
    VEC(struct reader *) active; /* of this pass */
    VEC(struct boundary) boundaries;
    bool patient;  /* a patient boundary need not be handled in this pass */
    uint32_t tick; /* ends of intervals before this tick have been handled */
    struct marks marks;
    struct mark_on *mark_on; /* the session's; NULL: not asked for */
    uint64_t eras_offset;
    uint64_t routes_offset;
    VEC(struct wire_index_part) index_parts; /* of its block index, as far as they were read */
    struct block_copy block_copy;
    struct accounts accounts;
    struct ledger ledger;
    struct eras eras;
    struct {
        VEC(struct live_summary) results;
        struct address_set loader; /* what was mapped before malloc existed */
        char *left_out;            /* why there was no time for a scan at its end, or NULL */
    } scan;                        /* leakscan/scan.c */
    struct realloc_chains realloc_chains;
    struct untouched untouched;
    struct program_mmaps program_mmaps;
    struct pools pools;
    struct inheritance inheritance;
    bool forked;           /* it continues its parent's program */
    bool has_forked;       /* so its pages may be shared with its children */
    uint64_t end_spent_ns; /* spent on its end (end_budget.h) */
    struct interval_log timeline;

    uint64_t pass_words; /* the most words that one ring had in the last pass */

    uint64_t events;
    uint64_t missed_frees;
    uint64_t growths_left_out;  /* steps of growing arrays that are not counted */
    bool dormant, was_dormant;  /* its hooks only forward, or did so at its start */
    unsigned stops;             /* how often they began to: frees were missed then */
    bool was_paused;            /* so some blocks were never reported, */
    uint64_t unannounced_frees; /* and so many frees belong to these */
    /* It was already running: blocks from before are freed, and counted in its profile. */
    bool attached;
    uint64_t unrecorded;    /* the part of header->unrecorded that has been counted as lost */
    uint32_t unfollowed;    /* header->unfollowed, in the end */
    uint32_t entries_taken; /* header->entries_taken, in the end */
    uint32_t end;           /* header->end, in the end */
    bool was_joined;        /* the program has used the memory that it was given */
    struct program_stacks program_stacks;
    struct profile profile;
    struct packed packed;
    struct schedule arenas_due; /* resident/python_arenas.c */
    struct schedule stamps_due; /* stamps.c */
    struct {
        struct schedule due;
        uint64_t rss_bytes; /* resident at the last capture */
    } maps;                 /* resident/maps.c */
    struct {
        struct schedule due;
        size_t marks; /* marks that there were at the last account */
    } footprint;      /* resident/footprint.c */
    struct {
        struct sampled_tree stacks;
        size_t stacks_named; /* how many of them were passed to naming */
        uint32_t joined;     /* when finished: what their numbers have grown by in the profile */
        /* Thread numbers that samples gave and that have had no event of their own. */
        VEC(uint32_t) threads;
        struct sampling before; /* the kernel's counts, before this program was executed */
    } sampled;                  /* sampling/ */
    struct {
        uint64_t period_ns;  /* 0: no samples are taken */
        uint64_t offset;     /* of them in the shared memory */
        uint64_t read, lost; /* so far */
    } timer_samples;         /* timer_samples.c */
};

struct target *target_new(pid_t pid, bool limited_space, enum wire_on_full on_full,
                          uint64_t interval_ns, struct err *err);
/* A target without shared memory. */
struct target *target_new_bare(pid_t pid, uint64_t interval_ns);
/* Creates its shared memory, to be passed to it. Returns 0, or a negative errno. */
int target_attach(struct target *t, bool limited_space, enum wire_on_full on_full, struct err *err);
/* Reads the command line and the file, unless they are known: a program that was just executed may
 * have none for a moment. */
void target_read_program(struct target *t);
void target_free(struct target *t);
/* The last one of that pid; NULL: none. */
struct target *target_find(struct target *const *targets, size_t count, pid_t pid);
/* Can shared memory be created here at all? Called before the program starts. */
int target_check(struct err *err);
/* Creates further rings in a memfd of their own. Returns its fd, to be passed on and closed, or a
 * negative errno. */
int target_more_rings(struct target *t, uint32_t count, size_t *size);

/* Reads everything that existed at the call. now_ns: time since the target's start. Returns the
 * number of words read. */
uint64_t target_drain(struct target *t, uint64_t now_ns);
/* Announces the end of an interval, which the next target_drain carries out. */
void target_boundary(struct target *t, uint64_t now_ns);
/* Calls target_drain, and announces the end of an interval when it is due. For a moment, threads
 * may report by themselves what they have counted before it: reading their accounts costs more. */
uint64_t target_pass(struct target *t, uint64_t now_ns);
/* The process is gone: reads the rest and closes the last interval. */
void target_end(struct target *t, uint64_t now_ns);
/* run --dormant: its hooks record from here on, or do not. The target must have a header. */
void target_wake(struct target *t);
void target_put_to_sleep(struct target *t);
/* Call it after target_end: frees what was needed only to read events; what its children inherit
 * stays. */
void target_release_events(struct target *t);
/* Call it after that: frees what target_finish makes a profile from. */
void target_release_figures(struct target *t);
/* Sets why reachability of its last blocks is unknown, if it is and no reason was given yet. */
void target_explain(struct target *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Closes the last interval with what was read so far; target_finish must be called next. */
void target_pause(struct target *t, uint64_t now_ns);
/* Reads modules, stacks and Python code that are new. */
void target_update_code(struct target *t);
/* The memory that the recorder has mapped for itself in the program. */
void target_own(const struct target *t, struct address_set *out);
/* The process was read as if it were ending, and has gone on since: only its Python ended. */
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
/* Fills target.profile, except for what there may be too much of to have it twice: its sites are in
 * target.ledger (ledger_site_at), its rows in target.timeline. */
void target_finish(struct target *t);

/* packing.c */
/* The process has ended: fills the sums in target.packed. */
void packing_count(struct target *t);
/* The process has ended: makes the chunks of its figures, and frees what they were made from.
 * Strings go to `strings`, which must be those of the file. */
void packing_figures(struct target *t, struct strpool *strings);
/* Call it after that, when its names are known: makes the remaining large chunks. */
void packing_names(struct target *t, struct naming *naming, struct strpool *strings);
/* Appends all its chunks as those of process `number`, including those that are not made yet.
 * Afterwards its profile has no figures and no code. */
void packing_write(struct target *t, struct naming *naming, struct strpool *strings,
                   uint32_t number, struct strbuf *out);

/* target_command.c */
void target_read_command(struct target *t);
/* A forked process has its parent's arguments until it sets a title for ps, as servers do to tell
 * their workers apart. `stack_start` was read after this title: each exec chooses another one, so it
 * shows whether the process still runs the same program. */
void target_use_title(struct target *t, const struct strbuf *title, uint64_t stack_start);

/* drain.c */
uint64_t drain_rings(struct target *t, uint64_t now_ns);
/* Reads what its threads have counted and not reported yet. */
void drain_counters(struct target *t, uint64_t now_ns);

#endif
