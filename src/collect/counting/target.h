/*
 * target: one process that is being recorded: its shared memory, and what was made of it so far.
 *
 * The program owns the shared memory as much as we do and may have scribbled over it: every number
 * read there is checked before it is used, and read only once.
 *
 * A process that is sampled (samples.h) may be a target before it says hello, or without ever
 * doing so: it then has no shared memory (header is NULL).
 *
 * Life: target_new when the process says hello; target_drain again and again; target_end once, when
 * it is gone; then target_finish makes the profile that goes into the file.
 */
#ifndef TIDE_COLLECT_COUNTING_TARGET_H
#define TIDE_COLLECT_COUNTING_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "collect/counting/eras.h"
#include "collect/counting/blocks.h"
#include "collect/counting/realloc_chains.h"
#include "collect/counting/ledger.h"
#include "collect/counting/mark_on.h"
#include "collect/naming/naming.h"
#include "collect/counting/pools.h"
#include "collect/counting/program_stacks.h"
#include "collect/naming/jit_names.h"
#include "collect/naming/python_code.h"
#include "collect/counting/program_mmaps.h"
#include "collect/proc/address_set.h"
#include "collect/counting/stack_tree.h"
#include "collect/counting/live_summary.h"
#include "collect/counting/interval_log.h"
#include "store/recording.h"
#include "wire/layout.h"

#define NO_THREAD       UINT32_MAX
#define RECENT_ACCOUNTS 1024

struct recent_account {
    uint32_t stack, thread, account;
};

/* One ring and where we are in it. */
struct reader {
    struct wire_ring *ring;
    const uint64_t *chunks; /* WIRE_CHUNKS places */
    const uint64_t *chunk;  /* the one we are in */
    uint64_t at;            /* words read */
    uint64_t due;           /* words there were when this pass began: they will be read in it */
    uint64_t head;          /* words there were a moment later: they may be */
    uint64_t clock;         /* logical time of what comes next */
    uint32_t tick;
    uint32_t thread;       /* whose events these are, in profile.threads; NO_THREAD at first */
    uint32_t first_thread; /* what that was under its first name */
    uint32_t names;        /* that it has told: the first is inherited, the second its own */
    uint64_t last_alloc; /* address of this thread's latest allocation, while it may be temporary */
    struct fresh fresh;  /* the same, until it does anything else to the heap */
    uint64_t dropped;
    struct recent_account recent[RECENT_ACCOUNTS]; /* by stack */
    uint64_t foreign_blocks, foreign_bytes;        /* of others, that it freed in this batch */
    bool damaged;             /* nonsense was found: this ring is not read any more */
    bool in_realloc;          /* the next record is what came of a realloc */
    bool old_known;           /* of it: `old` was a live block, */
    bool old_foreign;         /* and another thread's, */
    bool old_counted;         /* or counted as an unknown one, */
    struct blocks *old_table; /* in this table */
    struct block old;
    unsigned old_life; /* the bucket in which its end was counted */
    struct cuts cuts;  /* what its last munmap unmapped, until it is known that it did */
};

/* An interval's end that was announced and waits until all events before it have been read. */
struct boundary {
    uint32_t tick; /* the last one before it */
    uint64_t time_ns;
    bool programs; /* made by the program: a mark, unless it says otherwise */
    bool marked;   /* by someone from outside */
};

/* A mark, until the profile is made. Its live figures are the timeline's. */
struct pending_mark {
    uint32_t tick; /* the first one after it */
    uint32_t label, thread;
    struct stamp stamp;
};

/* What was live when the process forked, for a child that may yet say hello. */
struct fork_image {
    uint32_t number;
    struct amount live;
    VEC(struct blocks) tables;       /* its own blocks, then those it had inherited */
    struct address_set maps, loader; /* as in the target */
    size_t bytes;                    /* that it takes here */
};

/* What not_recorded.c knows of it. */
struct watched {
    char name[16];      /* the kernel's, while it lived; empty: not looked at yet */
    char last_name[16]; /* and when it had ended; empty: too late */
    char *became; /* file of another program, or its name; NULL: still the one that said hello */
    bool is_path;
    bool is_elsewhere;        /* in another network namespace */
    unsigned libraries_looks; /* how often its libraries were looked at */
};

/* What became of a process that has ended (packing.c): its chunks of the file, and what is asked of
 * it once its tables are gone. */
struct packed {
    bool figures, names;  /* their chunks are made */
    struct strbuf chunks; /* of process 0: who writes them gives them their number */
    bool counted;         /* what follows is known */
    uint64_t lost_events, truncated_stacks, incomplete_stacks;
    struct sample_sums sampled;
};

struct segment {
    void *memory;
    size_t size;
};

struct target {
    pid_t pid;
    int pidfd;
    int fd;
    dev_t exe_device; /* the program file, to see when it is another */
    ino_t exe_inode;
    char name[16]; /* the kernel's, when it said hello */
    struct watched watched;
    struct wire_header *header;
    size_t size;       /* of the mapping at header */
    uint64_t start_ns; /* on the session's clock */
    uint64_t start_monotonic_ns;
    uint32_t modules_read;
    uint64_t python_offset; /* of its records, and their room */
    uint32_t python_size;
    struct python_codes python;
    struct jit_names jit;
    bool ended;
    bool gone;                    /* the process is, but what it left may not have been read */
    VEC(struct segment) segments; /* further rings */

    VEC(struct reader) readers;
    VEC(struct reader *) active; /* of this pass */
    VEC(struct boundary) boundaries;
    uint32_t tick; /* ends of intervals before this one have been seen to */
    VEC(struct pending_mark) marks;
    VEC(struct mark_value) mark_values; /* `mark` is a tick */
    VEC(uint32_t) unloads;              /* ticks that no mark made, and not met yet */
    struct strpool labels;
    struct mark_on *mark_on; /* the session's; NULL: nobody asked */
    struct ledger ledger;
    struct blocks blocks;
    struct eras eras;
    VEC(struct live_summary) scans;
    struct growth_table realloc_chains;
    VEC(struct freed_look) looks; /* at large blocks that were freed */
    struct map look_of;           /* site -> its place there */
    struct program_mmaps ranges;
    struct pools pools;
    VEC(struct fork_image) images;
    VEC(struct blocks) inherited;      /* blocks of its parents, as they were at the forks */
    struct address_set inherited_maps; /* and their mappings */
    struct address_set loader;         /* what was mapped before malloc was there */
    bool heap_unknown;                 /* it was forked, and what it inherited is not known */
    bool forked;                       /* it goes on with its parent's program */
    bool has_forked;                   /* so that its pages may be its children's too */
    uint64_t end_spent_ns;             /* on its end: end_budget.h */
    char *scan_left_out;               /* why there was no time for a scan at its end; or NULL */
    struct interval_log timeline;

    uint64_t pass_words; /* the most that one ring had in the last pass */
    uint64_t pass_bytes; /* allocated in this pass: bounds the peak's error */
    struct batch *batch; /* drain.c's room to work in */

    uint64_t events;
    uint64_t missed_frees;
    bool was_paused;        /* so that some blocks were never announced, */
    uint64_t unseen_frees;  /* and this many frees are theirs */
    uint64_t unrecorded;    /* of header->unrecorded, what has been counted as lost */
    uint32_t unfollowed;    /* header->unfollowed, in the end */
    uint32_t entries_taken; /* header->entries_taken, in the end */
    uint32_t end;           /* header->end, in the end */
    bool was_joined;        /* the program has made use of the memory that it was given */
    uint32_t python_state, python_version, objects_state; /* of the header, in the end */
    bool objects_wanted;
    struct program_stacks program_stacks;
    struct profile profile;
    struct packed packed;
    bool python_ended;        /* its interpreter has: what it leaves is not what it had */
    bool ends_early;          /* it was looked at when Python began to end, and may go on */
    uint32_t python_end_tick; /* the first since it began to; 0: it has not */
    bool has_arenas;          /* CPython has mapped some */
    uint64_t arenas_length_ns, next_arenas_ns; /* arenas.c: distance of looks, when one is due */
    uint64_t stamp_length_ns, next_stamp_ns;
    uint64_t maps_length_ns, next_maps_ns; /* maps.c: distance of captures, when one is due, */
    uint64_t maps_rest_ns;                 /* and not before, */
    uint64_t maps_rss_bytes;               /* and what was resident at the last */
    uint64_t footprint_apart_ns, next_footprint_ns; /* footprint.c: likewise */
    uint64_t footprint_rest_ns;
    size_t footprint_marks; /* marks that there were at the last */

    struct stack_tree stacks;      /* of samples */
    size_t stacks_named;           /* of them, handed to naming */
    VEC(uint32_t) sampled_threads; /* numbers that samples gave, and no event of theirs came yet */
    struct sampling before;        /* the kernel's counts, before this program was executed */
};

struct target *target_new(pid_t pid, bool small, enum wire_on_full on_full, uint64_t interval_ns,
                          struct err *err);
/* Without shared memory. */
struct target *target_new_bare(pid_t pid, uint64_t interval_ns);
/* Its shared memory, which it can be given; 0 or a negative errno. */
int target_attach(struct target *t, bool small, enum wire_on_full on_full, struct err *err);
/* The command line and the file, if they are not known yet: a program that was just executed may
 * have none for a moment. */
void target_look(struct target *t);
void target_free(struct target *t);
/* Can shared memory be made here at all? Asked before the program starts. */
int target_check(struct err *err);
/* Further rings, in a memfd of their own; its fd, to be passed on and closed, or a negative errno.
 */
int target_more_rings(struct target *t, uint32_t count, size_t *size);

/* Reads all that was there at the call. now_ns: time since the target's start. Returns words read.
 */
uint64_t target_drain(struct target *t, uint64_t now_ns);
/* Announces the end of an interval, which the next target_drain carries out. */
void target_boundary(struct target *t, uint64_t now_ns);
/* The process is gone: reads the rest and closes the last interval. */
void target_end(struct target *t, uint64_t now_ns);
/* Gives back what was needed only to read events; what its children inherit stays. After
 * target_end. */
void target_let_go(struct target *t);
/* After that, gives back what target_finish makes a profile from. */
void target_release_figures(struct target *t);
/* Why it is not known what pointed to its last blocks, if that is so and no reason was given yet.
 */
void target_explain(struct target *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Closes the last interval with what was read so far, for target_finish to be called next. */
void target_pause(struct target *t, uint64_t now_ns);
/* Takes note of modules, stacks and Python code that are new. */
void target_update_code(struct target *t);
/* The memory that the recorder has mapped for itself in the program. */
void target_own(const struct target *t, struct address_set *out);
/* It was looked at as if it were ending, and has gone on since: only its Python ended. */
bool target_went_on(const struct target *t, uint64_t looked_ns, uint64_t now_ns);
/* May there be blocks that were never announced? */
bool target_may_lack_blocks(const struct target *t);
/* Fills target.profile's sites and totals; the interval log is in target.timeline. */
void target_finish(struct target *t);

/* packing.c */
/* It has ended: fills the sums in target.packed. */
void packing_count(struct target *t);
/* It has ended: makes the chunks of its figures, and gives back what they were made from. Strings
 * go to `strings`, which must be those of the file. */
void packing_figures(struct target *t, struct strpool *strings);
/* After that, when its names are known: the rest that is not small. */
void packing_names(struct target *t, struct naming *naming, struct strpool *strings);
/* Appends all its chunks as those of process `number`, those too that are not made yet. Its profile
 * has then lost its figures and its code. */
void packing_write(struct target *t, struct naming *naming, struct strpool *strings,
                   uint32_t number, struct strbuf *out);

/* drain.c */
uint64_t drain_rings(struct target *t, uint64_t now_ns);

/* marks.c */
/* A WIRE_NOTE; returns the tick that it begins, or 0. */
uint32_t marks_note(struct target *t, uint32_t thread, const uint64_t *words);
/* From outside: ends an interval now. */
void marks_add(struct target *t, const char *label, uint64_t now_ns);
/* When does the interval end that this tick is the last of? *kept: at a mark. */
uint64_t marks_end(struct target *t, const struct boundary *b, bool *kept);
/* Fills target.profile's marks. */
void marks_finish(struct target *t, struct strpool *strings);
void marks_release(struct target *t);

/* untouched.c */
/* A WIRE_NOTE_TOUCHED: the block is about to be freed, and so much of it was never resident. */
void untouched_note(struct target *t, uint64_t address, uint64_t bytes);
/* Fills target.profile's looks. */
void untouched_finish(struct target *t);
void untouched_release(struct target *t);

/* inherit.c */
/* `child` was made by the parent's fork of that number: hands over what was live then. */
void inherit_hand_over(struct target *parent, uint32_t number, struct target *child);
void inherit_fork(struct target *t, uint32_t number); /* the process is about to fork */
/* A block that is not one of its own is freed: false: nor was it inherited. */
bool inherit_take(struct target *t, uint64_t address, struct block *out, struct blocks **table);
/* That did not happen after all. */
void inherit_put(struct target *t, struct blocks *table, const struct block *b);
/* Gives back all images but the last ones, of at most so many bytes; how many those have. */
size_t inherit_keep(struct target *t, size_t bytes);
void inherit_release(struct target *t);

#endif
