/*
 * recording: what a .tide file holds, in memory. docs/FORMAT.md is its twin.
 *
 * One recording is one run; it holds one profile for each process that was recorded. The writer
 * (store/writer.h) and the reader (store/reader.h) move these structures to and from a file; they
 * are plain data, without behaviour. src/model asks questions of them.
 *
 * The heart is the interval log. Time is cut into intervals; for each interval and each site that
 * was touched in it there is one row of counts (enum column). A site is one (stack, thread,
 * domain). Summing the rows of the intervals up to a moment gives every total at that moment; the
 * difference of two moments is the sum over the intervals between them.
 *
 * Ownership: recording_free releases everything that the reader allocated.
 */
#ifndef TIDE_STORE_RECORDING_H
#define TIDE_STORE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "store/resident.h"

enum domain {
    DOMAIN_HEAP,    /* malloc and its family, operator new */
    DOMAIN_MAPPED,  /* mmap, as the program itself called it */
    DOMAIN_POOL,    /* blocks of its own allocators, as it tells of them (tide_alloc) */
    DOMAIN_CPU,     /* samples of CPU time: a block is a sample, bytes are ns */
    DOMAIN_FAULTS,  /* page faults: bytes are what became resident (enum column) */
    DOMAIN_TOUCHED, /* the same faults, where the memory was allocated that they touched */
    DOMAIN_FOREIGN, /* blocks of the heap that a thread freed and others had allocated; no stack */
    DOMAIN_WAITING, /* off the processor, waiting for something: a block is once, bytes are ns */
    DOMAIN_READY,   /* likewise, for others had a turn */
    DOMAIN_ARENA,   /* what CPython maps for small objects, where these are not blocks themselves */
    DOMAIN_COUNT
};

/* Are the stacks of this domain found by the collector, and not by the program itself? */
static inline bool domain_is_sampled(uint32_t domain)
{
    return domain == DOMAIN_CPU || domain == DOMAIN_FAULTS || domain == DOMAIN_WAITING ||
           domain == DOMAIN_READY;
}

/* Is it part of what is live? */
static inline bool domain_is_live(uint32_t domain)
{
    return domain == DOMAIN_HEAP || domain == DOMAIN_ARENA;
}

/* The columns of a row: what happened at one site in one interval. Each only ever grows over time.
 */
enum column {
    COL_ALLOCS, /* blocks handed out */
    COL_BYTES,  /* their requested size */
    COL_FREES,  /* blocks given back that this site had allocated */
    COL_FREED,  /* their requested size */
    COL_TEMPS,  /* of COL_FREES: freed by the allocating thread with no allocation of it between */
    COL_TEMP_BYTES,   /* their requested size */
    COL_USABLE,       /* what the allocator really set aside for COL_ALLOCS */
    COL_USABLE_FREED, /* likewise for COL_FREES */
    COL_REALLOCS,     /* of COL_ALLOCS: results of realloc of an existing block */
    COLUMNS
};

/* In DOMAIN_FAULTS and DOMAIN_TOUCHED, of COL_ALLOCS. */
#define COL_FILE_FAULTS COL_REALLOCS /* pages of files */
#define COL_COPIES      COL_TEMPS    /* of pages shared since a fork: no more is resident */
#define COL_HUGE_FAULTS COL_FREES    /* 2 MiB at once */

/* A loaded file (program or library). Two modules that were at the same addresses at different
 * times differ in `epoch`. */
struct module {
    uint64_t start, end; /* run-time addresses, end exclusive */
    uint64_t bias;       /* run-time address - address in the ELF file */
    uint32_t epoch;
    char *path;
    uint8_t build_id[32];
    uint32_t build_id_size; /* 0: the file has none */
};

/*
 * A node of the stack tree; its number is its place in profile.nodes. Node 0 is the root and not a
 * frame; the path from a node to the root is a stack, innermost frame first. `address` is a return
 * address in the low 48 bits (look up address - 1) and the module epoch in the high 16; or, with
 * the highest bit set, a frame of Python, which only profile.symbols explains.
 * NODE_TRUNCATED and NODE_INCOMPLETE are not frames: they stand for outer frames that were cut off,
 * or could not be found. NODE_KERNEL is the innermost frame of a sample of CPU time that the kernel
 * spent for the program. NODE_POOL + its number is the pool that a block is from; it has a name as
 * functions have.
 */
struct node {
    uint32_t parent;
    uint64_t address;
};

#define NODE_TRUNCATED          UINT64_C(1)
#define NODE_INCOMPLETE         UINT64_C(2)
#define NODE_KERNEL             UINT64_C(3)
#define NODE_POOL               UINT64_C(16)
#define NODE_IS_POOL(address)   ((address) > NODE_POOL && (address) < NODE_POOL + 4096)
#define NODE_PYTHON             (UINT64_C(1) << 63)
#define NODE_IS_PYTHON(address) (((address)&NODE_PYTHON) != 0)
#define NODE_PC(address)        ((address) & ((UINT64_C(1) << 48) - 1))
#define NODE_EPOCH(address)     ((uint32_t)((address) >> 48))

struct thread {
    uint32_t tid;
    char *name; /* "main" for the first thread unless it was renamed. One that had a name of its own
                   and took another is two of these, with the same tid. */
    uint64_t start_ns, end_ns;
};

/* What a block takes: asked for, and set aside. */
struct unit {
    uint64_t bytes, usable;
};

struct site {
    /* Over the whole run; these cannot be had from rows. */
    uint64_t at_peak_bytes,
        at_peak_blocks; /* live here when the process's live total was highest */
    uint64_t at_peak_usable;
    /* Of its first allocation. Most sites have one size: store/rows.h */
    union {
        struct {
            uint64_t unit_bytes, unit_usable;
        };
        struct unit unit;
    };
    uint64_t own_peak_blocks; /* those of own_peak_bytes */
    uint32_t node, thread, domain;
    uint64_t own_peak_bytes; /* the most that was ever live here */
    uint64_t largest_bytes;  /* largest single allocation */
};

struct row {
    uint32_t site;
    uint64_t columns[COLUMNS];
};

struct interval {
    uint64_t end_ns;     /* since the start of the process's recording; the next one begins here */
    uint64_t peak_bytes; /* highest live heap total inside it */
    uint64_t unknown_frees; /* frees of blocks never seen allocated */
    uint64_t lost_events;   /* events dropped because a ring was full (--on-full=drop) */
    uint64_t
        truncated_stacks; /* allocations whose stack was cut or could not be followed to its end */
    uint64_t incomplete_stacks;  /* ... whose stack could not be followed to its end */
    size_t first_row, row_count; /* in profile.rows */
};

/* What the program's allocator says of itself: which one it is, or nothing. */
enum stamp_allocator {
    STAMP_UNKNOWN,
    STAMP_GLIBC,
    STAMP_JEMALLOC,
    STAMP_TCMALLOC,
    STAMP_MIMALLOC, /* free_bytes are not known */
    STAMP_ALLOCATORS
};

/* The process as /proc shows it, at a moment. */
struct stamp {
    uint64_t time_ns;
    uint64_t vm_bytes, rss_bytes, anon_bytes;
    uint64_t minor_faults, major_faults;
    uint64_t live_bytes, live_blocks, allocations;
    uint64_t allocator;  /* enum stamp_allocator */
    uint64_t held_bytes; /* that it has from the system, */
    uint64_t free_bytes; /* and of these, what is not part of any block */
};

static inline bool stamp_held_known(const struct stamp *s)
{
    return s->allocator != STAMP_UNKNOWN && s->allocator < STAMP_ALLOCATORS;
}

static inline bool stamp_free_known(const struct stamp *s)
{
    return stamp_held_known(s) && s->allocator != STAMP_MIMALLOC;
}

/* A moment that the program, or someone for it, gave a name. */
struct mark {
    uint32_t label;   /* in recording.strings, */
    const char *name; /* which is this one: set by the reader */
    uint32_t thread;  /* who made it, in profile.threads */
    size_t intervals; /* that lie before it */
    struct stamp stamp;
    /* Bytes of CPython's arenas that were not resident, counted by the thread that made the mark. */
    uint64_t absent_bytes;
    bool absent_known;
};

struct mark_value {
    uint32_t mark; /* in profile.marks */
    uint32_t key;  /* in recording.strings */
    double value;
};

/* Did anything still point to a block? */
enum reach {
    REACH_UNKNOWN,   /* nobody looked */
    REACH_LOST,      /* nothing does, */
    REACH_INDIRECT,  /* or only blocks that are lost themselves */
    REACH_REACHABLE, /* a global, a stack, a register, thread-local storage, or such a block */
    REACHES
};

/* Blocks that were live at a scan: those of one site, one interval of birth and one reach. */
struct live_row {
    uint32_t site;
    uint32_t interval; /* in which they were allocated */
    uint32_t reach;    /* enum reach */
    uint64_t blocks, bytes, usable;
    uint64_t untouched;             /* of bytes: on pages that were never resident */
    uint64_t first_ns, last_ns;     /* about when the first and the last of them was allocated */
    uint64_t led_blocks, led_bytes; /* of lost ones: indirect blocks that they lead to, each the
                                       share of one lost block */
};

enum scan_kind {
    SCAN_ASKED, /* by someone, while it ran */
    SCAN_EXIT,  /* when the program began to end, before destructors ran */
    SCAN_END,   /* the last thing that is known of it; always there, and the last one */
    SCAN_KINDS
};

/* A look at all live blocks at a moment. */
struct scan {
    uint32_t kind; /* enum scan_kind */
    uint64_t time_ns;
    size_t intervals;            /* that lie before it */
    uint64_t held_ns;            /* how long the program was held for it */
    bool residency;              /* live_row.untouched is known */
    bool led;                    /* live_row.led_bytes is known */
    char *unreachable;           /* NULL, or why no reach is known: one sentence */
    size_t first_row, row_count; /* in profile.live */
};

#define SAMPLE_BYTES_LEAST 64
#define SAMPLE_BYTES_MOST  ((uint64_t)1 << 40) /* of profile.sample_bytes */

/* Blocks of a site in one bucket (store/buckets.h) of a histogram. */
struct bucket_row {
    uint32_t site, bucket;
    uint64_t count, bytes; /* bytes: of sizes only */
};

struct bucket_rows {
    struct bucket_row *items;
    size_t count, capacity;
};

/* Large blocks of a site whose pages were looked at when they were freed. */
struct freed_look {
    uint32_t site;
    uint64_t blocks, bytes;
    uint64_t untouched_blocks; /* of blocks: with a page that was never resident */
    uint64_t untouched;        /* of bytes: on such pages */
};

/*
 * Arrays that grow: a block is replaced by a larger one and freed, or realloc does it. A chain is
 * what one array went through, and is counted at the site where it first grew.
 */
struct chain_figures {
    uint64_t chains, growths; /* begun, and steps in all of them */
    uint64_t by_realloc;      /* of growths */
    uint64_t in_place;        /* of by_realloc: at the same address, so that nothing was copied */
    uint64_t even;            /* of growths: by about the same factor as the one before it */
    uint64_t otherwise;       /* blocks replaced in the same way by smaller or far larger ones */
    uint64_t old_bytes;       /* of all growths: what they began with, */
    uint64_t new_bytes;       /* and what they made of it */
    uint64_t copied_bytes;    /* of old_bytes: of those that were not in place */
    uint64_t longest;         /* growths of the longest */
    uint64_t first_bytes;     /* the least that one began with */
    uint64_t largest_bytes;   /* that one came to */
    uint64_t transient_bytes; /* the most that an old block and its new one had together */
    uint64_t left_bytes;      /* the most that the freed blocks of one had together */
    uint64_t unit_bytes;      /* all their sizes are multiples of this */
};

struct chain_row {
    uint32_t site;
    struct chain_figures of;
};

/* One resolved frame: numbers are into recording.strings. */
enum frame_kind { FRAME_NATIVE, FRAME_INLINED, FRAME_PYTHON };

struct frame {
    uint32_t function, module, file; /* file 0: unknown */
    uint32_t line;                   /* 0: unknown */
    enum frame_kind kind;
};

/* What a forked process found of its parent's heap. */
struct inherited {
    uint32_t parent; /* 0: it was not forked, or that is not known */
    uint64_t blocks, bytes;
    uint64_t freed_blocks, freed_bytes; /* of them, by this process */
};

/* What is known of CPU time in the kernel: how much it was in all; or, where the program was then.
 */
enum sampled_kernel { KERNEL_COUNTED, KERNEL_SAMPLED, KERNEL_ESTIMATED };

/* How the kernel was asked for samples, and what it counted itself. */
struct sampling {
    bool alone; /* nothing was preloaded: there is no heap to tell of */
    bool wall;  /* time off the processor was recorded */
    bool timer; /* CPU time was sampled by timers in the program, that of the kernel too */
    enum sampled_kernel kernel;
    uint64_t cpu_period_ns; /* CPU time between two samples of a thread; 0: not sampled */
    uint64_t fault_period;  /* faults from one that is recorded to the next; 0: not recorded */
    uint64_t lost;          /* samples of any process, for want of room; in the first profile */
    bool counted;           /* what follows is known */
    uint64_t user_ns, system_ns;
    uint64_t minor_faults, major_faults;
};

/* Of a process that ran already when `tidemark attach` came. */
enum before_attach {
    BEFORE_NOT_ASKED,
    BEFORE_KNOWN,
    BEFORE_OTHER,     /* another allocator than glibc's serves it */
    BEFORE_TOO_LARGE, /* it would have stood still for too long */
    BEFORE_STRANGE    /* its heap is not as glibc's is expected to be */
};
/* Of the blocks from before the attach that were still in use when recording ended. */
struct older_reach {
    bool known;
    uint64_t blocks, bytes;           /* that were looked at */
    uint64_t lost_blocks, lost_bytes; /* of these: nothing points to them, or only lost ones do */
};
struct attached_before {
    bool is;
    bool detached;             /* it went on without us; else it ended */
    enum before_attach before; /* is it known what its heap held then? As its allocator counts: */
    uint64_t before_blocks, before_bytes; /* blocks in use, and their bytes */
    uint64_t frees;                       /* of blocks that were never seen allocated */
    struct older_reach reach;
};

/*
 * What a profile that was imported from another tool's file does not know (docs/FORMAT.md, IMPT).
 * A figure that is not known is 0 in the profile, and answers must not show it: text says "not
 * known", JSON has null. All are known of a profile that tidemark recorded.
 */
enum unknown {
    UNKNOWN_TOTALS = 1 << 0,    /* all that was ever allocated, and what was freed of it */
    UNKNOWN_LIVE = 1 << 1,      /* what was live at the end */
    UNKNOWN_PEAK = 1 << 2,      /* what was live at the peak */
    UNKNOWN_COUNTS = 1 << 3,    /* numbers of blocks: only bytes are known */
    UNKNOWN_TIME = 1 << 4,      /* how long it ran, and when anything happened */
    UNKNOWN_PEAK_TIME = 1 << 5, /* when the peak was */
    UNKNOWN_THREADS = 1 << 6,
    UNKNOWN_TEMPORARY = 1 << 7,
    UNKNOWN_REALLOCATIONS = 1 << 8,
    UNKNOWN_USABLE = 1 << 9,    /* what the allocator set aside for blocks */
    UNKNOWN_OWN_PEAK = 1 << 10, /* the highest live bytes of each stack */
    UNKNOWN_LARGEST = 1 << 11,  /* the largest block of each stack */
    UNKNOWN_PROCESS = 1 << 12,  /* its pid */
    UNKNOWN_COMMAND = 1 << 13,
    UNKNOWN_LOSSES = 1 << 14,   /* lost events, cut stacks, frees of unknown blocks */
    UNKNOWN_CPU_TIME = 1 << 15, /* samples are counted, and nothing says what time one stands for */
    UNKNOWN_HISTORY = 1 << 16,  /* how memory changed over time: it is known for one moment */
    UNKNOWN_MAPPED = 1 << 17    /* mappings of the program itself */
};
#define UNKNOWN_ALL ((1u << 18) - 1)

struct imported {
    char *from; /* the tool and its version: "heaptrack 1.4.0"; NULL: it was recorded by tidemark */
    char *file; /* name of the file */
    uint32_t unknown; /* enum unknown */
};

struct merge;

struct profile {
    uint32_t pid, ppid;
    VEC(char *) command;
    char *executable;
    char *host;
    uint64_t start_unix_ns;
    uint64_t duration_ns;
    int exit_code;       /* -1: unknown or ended by a signal */
    int signal;          /* 0: none */
    bool complete;       /* ended, and everything up to the end was read */
    bool execed;         /* ended by becoming another program */
    uint32_t together;   /* processes that it stands for (model/combined_profile.h), or recordings
                          (`merge`); 0: it is one. Not in files */
    uint32_t rank1;      /* its rank in a job of many processes (MPI), from 1; 0: it has none */
    uint32_t ranks;      /* in that job; 0: not known */
    struct merge *merge; /* NULL, or what it was merged from (store/merge.h): then the rows are sums
                            over all inputs, in two intervals that meet when each began to end */
    struct inherited inherited;
    struct attached_before attached;
    struct sampling sampling;
    struct imported imported;
    /* run --sample: one allocation was recorded per so many bytes, and all figures of the heap are
     * estimates (model/estimate.h); 0: all were. */
    uint64_t sample_bytes;
    uint64_t peak_bytes, peak_blocks, peak_time_ns;
    uint64_t waits;           /* times that a thread waited until the collector had read */
    uint64_t peak_skew_bytes; /* bound on the peak's error when several threads ran; 0: exact */
    /* The most memory that it held: its live heap, and of what it mapped itself as much as was
     * resident. It is known to the stamp, so it may be below peak_bytes. */
    uint64_t memory_peak_bytes;

    VEC(struct module) modules; /* in order of epoch, once they have been read */
    VEC(struct node) nodes;
    VEC(struct thread) threads;
    VEC(struct site) sites;
    VEC(struct interval) intervals;
    VEC(struct row) rows;
    VEC(struct stamp) stamps;
    VEC(struct mark) marks; /* in order of time */
    VEC(struct mark_value) mark_values;
    VEC(struct scan) scans; /* in order of time */
    VEC(struct live_row) live;
    VEC(struct capture) captures; /* in order of time */
    VEC(struct mapping) mappings;
    VEC(struct mapping_node) map_nodes;
    struct strpool map_names;
    VEC(struct footprint) footprints; /* in order of time */
    VEC(struct pin) pins;
    uint32_t python_version;       /* of CPython, as 0x030b07f0: 3.11.7; 0: there is none */
    bool python_objects;           /* its objects are blocks of the heap */
    size_t python_end;             /* intervals before its interpreter began to end; 0: not seen */
    VEC(struct arena_look) arenas; /* in order of time, and not after its interpreter ended */
    bool has_histograms;
    struct bucket_rows sizes;     /* allocations not here are in the bucket of site.unit_bytes */
    struct bucket_rows lifetimes; /* of freed blocks; those not here are in the shortest bucket */
    VEC(struct freed_look) looks; /* these three are in order of site, and bucket */
    VEC(struct chain_row) chains; /* in order of site */
    VEC(char *) notes;            /* one sentence each: what could not be seen, and what to do */

    /* Symbols: node address -> run of frames, innermost (inlined) first. */
    VEC(struct frame) frames;
    VEC(uint32_t)
    frame_runs; /* start of each run in frames; the next run's start is its end; one more at the end
                 */
    struct map symbols; /* node address -> number of the run */
};

/* What `run` was told to leave out of reports, unless they are asked not to. */
enum default_kind {
    DEFAULT_WITHIN,
    DEFAULT_IGNORE,
    DEFAULT_SUPPRESSIONS,
    DEFAULT_OF_PROGRAM, /* suppressions that the program has inside it, for leaks alone */
    DEFAULT_KINDS
};

struct recorded_default {
    enum default_kind kind;
    char *name; /* of suppressions: the file they came from, or the program; else "" */
    char *text; /* the regular expression, or the whole file */
};

struct recording {
    VEC(struct profile) profiles; /* the program itself is first, children in order of start */
    struct profile
        *combined; /* NULL, or all of them as one (model/combined_profile.h); not in files */
    struct strpool strings;
    VEC(struct recorded_default) defaults;
    bool complete;    /* the file ends as a finished recording does */
    char *incomplete; /* NULL, or one sentence: what is missing */
};

/* By this figure processes are compared. */
static inline uint64_t profile_memory(const struct profile *p)
{
    return p->memory_peak_bytes > p->peak_bytes ? p->memory_peak_bytes : p->peak_bytes;
}

/* Does it lack any of these (enum unknown)? */
static inline bool profile_lacks(const struct profile *p, uint32_t what)
{
    return (p->imported.unknown & what) != 0;
}

static inline bool profile_is_sampled(const struct profile *p)
{
    return p->sampling.cpu_period_ns || p->sampling.fault_period;
}

struct recording *recording_new(void);
void profile_release(struct profile *p);
/* For each node what its stack ends with: 0, NODE_TRUNCATED or NODE_INCOMPLETE. The caller frees
 * it.
 */
uint8_t *profile_stack_ends(const struct profile *p);
/* What was counted of it; then its code: who it is, how it ended and its threads stay. */
void profile_release_figures(struct profile *p);
void profile_release_names(struct profile *p);
void recording_free(struct recording *r); /* NULL is fine */

#endif
