/*
 * recording: the contents of a .tide file in memory; docs/FORMAT.md describes the same as bytes.
 *
 * One recording is one run. It holds one profile for each process that was recorded. The writer
 * (store/writer.h) and the reader (store/reader.h) move these structures to and from a file. They
 * are plain data without behaviour; src/model answers questions about them.
 *
 * Words that are used everywhere: a *site* is one (stack, thread, domain), the place at which
 * something is counted; a *stamp* is one reading of the sizes of a process (RSS and others); a
 * *footprint* is the account of what resident pages consist of; a *capture* is the list of mappings
 * at a moment.
 *
 * The central part is the interval log. Time is divided into intervals. For each interval and each
 * site at which something happened in it, there is one row of counts (enum column). The sum of the
 * rows of all intervals up to a moment is every total at that moment; the difference between two
 * moments is the sum over the intervals between them.
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
    DOMAIN_POOL,    /* blocks of the program's own allocators, as it reports them (tide_alloc) */
    DOMAIN_CPU,     /* samples of CPU time: a block is a sample, bytes are ns */
    DOMAIN_FAULTS,  /* page faults: bytes are what became resident (enum column) */
    DOMAIN_TOUCHED, /* the same faults, charged to where the touched memory was allocated */
    DOMAIN_FOREIGN, /* heap blocks that a thread freed and others had allocated; no stack */
    /* Off the processor, waiting for something: a block is one wait, bytes are ns. */
    DOMAIN_WAITING,
    DOMAIN_READY,  /* the same, but ready to run while others had the processor */
    DOMAIN_ARENA,  /* what CPython maps for small objects, if these are not blocks themselves */
    DOMAIN_GPU,    /* memory of graphics processors, as CUDA's driver gives it */
    DOMAIN_TENSOR, /* the same, as PyTorch's caching allocator divides it */
    DOMAIN_COUNT
};

/* Does the collector find the stacks of this domain, rather than the program itself? */
static inline bool domain_is_sampled(uint32_t domain)
{
    return domain == DOMAIN_CPU || domain == DOMAIN_FAULTS || domain == DOMAIN_WAITING ||
           domain == DOMAIN_READY;
}

/* Does the domain count as live memory? */
static inline bool domain_is_live(uint32_t domain)
{
    return domain == DOMAIN_HEAP || domain == DOMAIN_ARENA;
}

/* Memory of graphics processors is counted twice: as the driver gives it, and as the framework
 * divides it. Each of the two has a peak of its own. */
enum gpu_view { GPU_DRIVER, GPU_TENSORS, GPU_VIEWS };
static inline enum domain gpu_domain(enum gpu_view view)
{
    return view == GPU_DRIVER ? DOMAIN_GPU : DOMAIN_TENSOR;
}
static inline bool domain_is_gpu(uint32_t domain)
{
    return domain == DOMAIN_GPU || domain == DOMAIN_TENSOR;
}

/* The columns of a row: what happened at one site in one interval. The sum of a column over time
 * never decreases. */
enum column {
    COL_ALLOCS,       /* blocks allocated */
    COL_BYTES,        /* their requested size */
    COL_FREES,        /* blocks freed that this site had allocated */
    COL_FREED,        /* their requested size */
    COL_TEMPS,        /* of COL_FREES: freed by the allocating thread before its next allocation */
    COL_TEMP_BYTES,   /* their requested size */
    COL_USABLE,       /* what the allocator really reserved for COL_ALLOCS */
    COL_USABLE_FREED, /* the same for COL_FREES */
    COL_REALLOCS,     /* of COL_ALLOCS: results of realloc of an existing block */
    COLUMNS
};

/* In DOMAIN_FAULTS and DOMAIN_TOUCHED these count parts of COL_ALLOCS. */
#define COL_FILE_FAULTS COL_REALLOCS /* pages of files */
#define COL_COPIES      COL_TEMPS    /* copies of pages shared since a fork: RSS does not grow */
#define COL_HUGE_FAULTS COL_FREES    /* 2 MiB at once */

/* A loaded file (program or library). Modules that occupied the same addresses at different times
 * differ in `epoch`. */
struct module {
    uint64_t start, end; /* run-time addresses, end exclusive */
    uint64_t bias;       /* run-time address minus address in the ELF file */
    uint32_t epoch;
    char *path;
    uint8_t build_id[32];
    uint32_t build_id_size; /* 0: the file has none */
};

/*
 * A node of the stack tree; its number is its index in profile.nodes.
 *
 * Node 0 is the root and not a frame; the path from a node to the root is a stack, innermost frame
 * first. `address` is a return address in the low 48 bits (look up address - 1) and the module
 * epoch in the high 16. With the highest bit set it is a frame of Python, which only
 * profile.symbols explains. NODE_TRUNCATED and NODE_INCOMPLETE are not frames: they stand for outer
 * frames that were cut off, or could not be found. NODE_KERNEL is the innermost frame of a sample
 * of CPU time that the kernel spent for the program. NODE_POOL + its number is the pool that a
 * block is from; it has a name as functions have.
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
    /* "main" for the first thread unless it was renamed. A thread that was renamed is listed twice,
     * with the same tid. */
    char *name;
    uint64_t start_ns, end_ns;
};

/* The size of a block: requested, and reserved by the allocator. */
struct unit {
    uint64_t bytes, usable;
};

/* What is known about memory of graphics processors, in one view (enum gpu_view). */
struct gpu_figures {
    bool known; /* its functions were hooked; otherwise the program has none, or a note says why */
    uint64_t peak_bytes, peak_blocks;
    uint64_t peak_ns; /* the end of the interval that has the peak */
};

struct site {
    /* Values for the whole run, which cannot be computed from rows. */
    /* Live here when the process's live total was highest; in a domain of graphics processors, when
     * the total of that domain was highest. */
    uint64_t at_peak_bytes, at_peak_blocks;
    uint64_t at_peak_usable;
    /* The size of its first allocation. Most sites have only one size (store/rows.h). */
    union {
        struct {
            uint64_t unit_bytes, unit_usable;
        };
        struct unit unit;
    };
    uint64_t own_peak_blocks; /* the number of blocks at own_peak_bytes */
    uint32_t node, thread, domain;
    uint64_t own_peak_bytes; /* the highest live bytes of this site */
    uint64_t largest_bytes;  /* largest single allocation */
};

struct row {
    uint32_t site;
    uint64_t columns[COLUMNS];
};

struct interval {
    uint64_t end_ns; /* since the start of the process's recording; the next interval begins here */
    uint64_t peak_bytes;         /* highest total of live heap bytes in it */
    uint64_t unknown_frees;      /* frees of blocks whose allocation was not seen */
    uint64_t lost_events;        /* events dropped because a ring was full (--on-full=drop) */
    uint64_t truncated_stacks;   /* allocations whose stack was cut, for any reason */
    uint64_t incomplete_stacks;  /* those whose stack could not be unwound to its end */
    size_t first_row, row_count; /* index into profile.rows */
};

/* The end of a process of a combined profile (model/combined_profile.h). */
struct process_end {
    size_t intervals;          /* number of intervals before it */
    uint32_t site, site_count; /* its sites in the combined profile */
};

/* Which allocator reports the figures of a stamp, if any. */
enum stamp_allocator {
    STAMP_UNKNOWN,
    STAMP_GLIBC,
    STAMP_JEMALLOC,
    STAMP_TCMALLOC,
    STAMP_MIMALLOC, /* free_bytes is not known */
    STAMP_ALLOCATORS
};

/* The process as /proc shows it at one moment. */
struct stamp {
    uint64_t time_ns;
    uint64_t vm_bytes, rss_bytes, anon_bytes;
    uint64_t minor_faults, major_faults;
    uint64_t live_bytes, live_blocks, allocations;
    uint64_t allocator;  /* enum stamp_allocator */
    uint64_t held_bytes; /* what it has from the system */
    uint64_t free_bytes; /* the part of these that belongs to no block */
};

static inline bool stamp_held_known(const struct stamp *s)
{
    return s->allocator != STAMP_UNKNOWN && s->allocator < STAMP_ALLOCATORS;
}

static inline bool stamp_free_known(const struct stamp *s)
{
    return stamp_held_known(s) && s->allocator != STAMP_MIMALLOC;
}

/* Bytes of a name that are kept: of a longer label, as many whole characters as fit. */
#define MARK_NAME_MOST 63
/* A moment that the program, or the user, gave a name. */
struct mark {
    uint32_t label;   /* index into recording.strings */
    const char *name; /* that string; set by the reader */
    uint32_t thread;  /* the thread that made it; index into profile.threads */
    size_t intervals; /* number of intervals before it */
    struct stamp stamp;
    /* Bytes of CPython's arenas that were not resident, as counted by the thread that made the
     * mark. */
    uint64_t absent_bytes;
    bool absent_known;
};

struct mark_value {
    uint32_t mark; /* index into profile.marks */
    uint32_t key;  /* index into recording.strings */
    double value;
};

/* What a scan found about a block: does anything still point to it? */
enum reach {
    REACH_UNKNOWN,  /* not scanned */
    REACH_LOST,     /* nothing points to it */
    REACH_INDIRECT, /* only lost blocks lead to it */
    /* A global, a stack, a register, thread-local storage, or another reachable block points to
     * it. */
    REACH_REACHABLE,
    REACHES
};

/* Blocks that were live at a scan: those of one site, allocated in one interval, with one reach. */
struct live_row {
    uint32_t site;
    uint32_t interval; /* in which they were allocated */
    uint32_t reach;    /* enum reach */
    uint64_t blocks, bytes, usable;
    uint64_t untouched;         /* bytes on pages that were never resident */
    uint64_t first_ns, last_ns; /* about when the first and the last of them were allocated */
    /* Lost blocks: the indirect blocks that they lead to, each counted for one lost block only. */
    uint64_t led_blocks, led_bytes;
};

enum scan_kind {
    SCAN_ASKED, /* on request, while the program ran */
    SCAN_EXIT,  /* when the program began to end, before destructors ran */
    SCAN_END,   /* the last state that is known; every profile ends with one of these */
    SCAN_KINDS
};

/* All live blocks at one moment. */
struct scan {
    uint32_t kind; /* enum scan_kind */
    uint64_t time_ns;
    size_t intervals;            /* number of intervals before it */
    uint64_t held_ns;            /* for how long the program was stopped */
    bool residency;              /* live_row.untouched is known */
    bool led;                    /* live_row.led_bytes is known */
    char *unreachable;           /* why no reach is known, as one sentence; NULL: it is known */
    size_t first_row, row_count; /* index into profile.live */
};

#define SAMPLE_BYTES_LEAST 64
#define SAMPLE_BYTES_MOST  ((uint64_t)1 << 40) /* the largest profile.sample_bytes */

/* Blocks of a site in one bucket (store/buckets.h) of a histogram. */
struct bucket_row {
    uint32_t site, bucket;
    uint64_t count, bytes; /* bytes: only for sizes */
};

struct bucket_rows {
    struct bucket_row *items;
    size_t count, capacity;
};

/* Large blocks of a site whose pages were examined when they were freed. */
struct freed_reading {
    uint32_t site;
    uint64_t blocks, bytes;
    uint64_t untouched_blocks; /* blocks with a page that was never resident */
    uint64_t untouched;        /* bytes on such pages */
};

/*
 * Arrays that grow: a block is replaced by a larger one and freed, or realloc does it. A chain is
 * the history of one array, and is counted at the site where it first grew.
 */
struct chain_figures {
    uint64_t chains, growths; /* chains, and the steps of all of them */
    uint64_t by_realloc;      /* the part of growths that realloc did */
    uint64_t in_place;        /* the part of by_realloc at the same address: nothing was copied */
    uint64_t even;            /* growths by about the same factor as the growth before */
    uint64_t otherwise;       /* blocks replaced in the same way by smaller or far larger ones */
    uint64_t old_bytes;       /* sum of the sizes before each growth */
    uint64_t new_bytes;       /* sum of the sizes after each growth */
    uint64_t copied_bytes;    /* the part of old_bytes that was not grown in place */
    uint64_t longest;         /* growths of the longest chain */
    uint64_t first_bytes;     /* the smallest first size of a chain */
    uint64_t largest_bytes;   /* the largest size that a chain reached */
    uint64_t transient_bytes; /* the most that an old block and its replacement had together */
    uint64_t left_bytes;      /* the most that the freed blocks of one chain had together */
    uint64_t unit_bytes;      /* all their sizes are multiples of this */
};

struct chain_row {
    uint32_t site;
    struct chain_figures of;
};

/* One resolved frame. Numbers are indexes into recording.strings. */
enum frame_kind { FRAME_NATIVE, FRAME_INLINED, FRAME_PYTHON };

struct frame {
    uint32_t function, module, file; /* file 0: unknown */
    uint32_t line;                   /* 0: unknown */
    enum frame_kind kind;
};

/* What a forked process inherited of its parent's heap. */
struct inherited {
    uint32_t parent; /* pid; 0: not forked, or not known */
    uint64_t blocks, bytes;
    uint64_t freed_blocks, freed_bytes; /* the part that this process freed */
};

/* What is known about CPU time in the kernel: only its sum, or also where the program was. */
enum sampled_kernel { KERNEL_COUNTED, KERNEL_SAMPLED, KERNEL_ESTIMATED };

/* Which samples the kernel was asked for, and what it counted itself. */
struct sampling {
    bool alone; /* nothing was preloaded: there are no figures of the heap */
    bool wall;  /* time off the processor was recorded */
    bool timer; /* CPU time was sampled by timers in the program, including the kernel's time */
    enum sampled_kernel kernel;
    uint64_t cpu_period_ns; /* CPU time between two samples of a thread; 0: not sampled */
    uint64_t fault_period;  /* one fault of so many is recorded; 0: none */
    /* Samples of all processes that were lost for lack of room; in the first profile only. */
    uint64_t lost;
    bool counted; /* the following fields are known */
    uint64_t user_ns, system_ns;
    uint64_t minor_faults, major_faults;
};

/* For a process that was already running at `tidemark attach`: what is known about its heap at that
 * time. */
enum before_attach {
    BEFORE_NOT_ASKED,
    BEFORE_KNOWN,
    BEFORE_OTHER,     /* it uses another allocator than glibc's */
    BEFORE_TOO_LARGE, /* counting would have stopped the program for too long */
    BEFORE_STRANGE    /* its heap does not look like glibc's */
};
/* What points to the blocks from before the attach that were still in use when recording ended. */
struct older_reach {
    bool known;
    uint64_t blocks, bytes;           /* that were scanned */
    uint64_t lost_blocks, lost_bytes; /* of these: nothing points to them, or only lost ones do */
};
struct attached_before {
    bool is;
    bool detached; /* it went on after tidemark detached; otherwise it ended */
    /* Is it known what the heap held at the attach? The figures are those of the allocator. */
    enum before_attach before;
    uint64_t before_blocks, before_bytes; /* blocks in use, and their bytes */
    uint64_t frees;                       /* frees of blocks whose allocation was not seen */
    struct older_reach reach;
};

/*
 * What is not known about a profile that was imported from another tool's file (docs/FORMAT.md,
 * IMPT). A figure that is not known is 0 in the profile, and answers must not show it: text says
 * "not known", JSON has null. Profiles that tidemark recorded have all figures.
 */
enum unknown {
    UNKNOWN_TOTALS = 1 << 0,    /* everything that was ever allocated, and what was freed of it */
    UNKNOWN_LIVE = 1 << 1,      /* live memory at the end */
    UNKNOWN_PEAK = 1 << 2,      /* live memory at the peak */
    UNKNOWN_COUNTS = 1 << 3,    /* numbers of blocks: only bytes are known */
    UNKNOWN_TIME = 1 << 4,      /* how long it ran, and when anything happened */
    UNKNOWN_PEAK_TIME = 1 << 5, /* when the peak was */
    UNKNOWN_THREADS = 1 << 6,
    UNKNOWN_TEMPORARY = 1 << 7,
    UNKNOWN_REALLOCATIONS = 1 << 8,
    UNKNOWN_USABLE = 1 << 9,    /* what the allocator reserved for blocks */
    UNKNOWN_OWN_PEAK = 1 << 10, /* the highest live bytes of each stack */
    UNKNOWN_LARGEST = 1 << 11,  /* the largest block of each stack */
    UNKNOWN_PROCESS = 1 << 12,  /* its pid */
    UNKNOWN_COMMAND = 1 << 13,
    UNKNOWN_LOSSES = 1 << 14,   /* lost events, cut stacks, frees of unknown blocks */
    UNKNOWN_CPU_TIME = 1 << 15, /* samples are counted, but the time of one sample is not known */
    UNKNOWN_HISTORY = 1 << 16,  /* how memory changed over time: only one moment is known */
    UNKNOWN_MAPPED = 1 << 17    /* mappings of the program itself */
};
#define UNKNOWN_ALL ((1u << 18) - 1)

struct imported {
    char *from;       /* the tool and its version: "heaptrack 1.4.0"; NULL: recorded by tidemark */
    char *file;       /* name of the file */
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
    int exit_code; /* -1: not known, or killed by a signal */
    int signal;    /* 0: none */
    bool complete; /* the process ended, and everything up to its end was read */
    bool execed;   /* it ended by executing another program */
    /* How many processes (model/combined_profile.h) or recordings (`merge`) it combines; 0: it is a
     * single one. Not stored in files. */
    uint32_t together;
    uint32_t rank1; /* its rank in a job of many processes (MPI), from 1; 0: none */
    uint32_t ranks; /* number of ranks in that job; 0: not known */
    /* What it was merged from (store/merge.h), or NULL. Then the rows are sums over all inputs, in
     * two intervals that meet when each input began to end. */
    struct merge *merge;
    struct inherited inherited;
    struct attached_before attached;
    struct sampling sampling;
    struct imported imported;
    /* run --sample: one allocation per so many bytes was recorded, and all figures of the heap are
     * estimates (model/estimate.h); 0: all were recorded. */
    uint64_t sample_bytes;
    uint64_t peak_bytes, peak_blocks, peak_time_ns;
    uint64_t waits;           /* how often a thread waited for the collector to read */
    uint64_t peak_skew_bytes; /* bound of the peak's error if several threads ran; 0: exact */
    /* The most memory that it held: its live heap, and the resident part of what it mapped itself.
     * It is sampled at stamps, so it may be below peak_bytes. */
    uint64_t memory_peak_bytes;

    VEC(struct module) modules; /* in order of epoch, after reading */
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
    uint32_t python_version; /* of CPython, as 0x030b07f0: 3.11.7; 0: no Python */
    bool python_objects;     /* its objects are recorded as heap blocks */
    size_t python_end; /* number of intervals before its interpreter began to end; 0: not seen */
    VEC(struct arena_reading) arenas; /* in order of time, up to the interpreter's end */
    struct gpu_figures gpu[GPU_VIEWS];
    bool has_histograms;
    struct bucket_rows sizes;     /* allocations not listed are in the bucket of site.unit_bytes */
    struct bucket_rows lifetimes; /* of freed blocks; those not listed are in the shortest bucket */
    VEC(struct freed_reading) freed_readings; /* these three are in order of site, and of bucket */
    VEC(struct chain_row) chains;             /* in order of site */
    VEC(struct process_end) process_ends;     /* of a combined profile, in order of time */
    VEC(char *) notes; /* one sentence each: what could not be recorded, and what to do */

    /* Symbols: node address -> run of frames, innermost (inlined) first. */
    VEC(struct frame) frames;
    VEC(uint32_t)
    /* Start of each run in frames, and the end of the last; a run ends where the next begins. */
    frame_runs;
    struct map symbols; /* node address -> index of the run */
};

/* What `run` was told to leave out of reports; a report can override it. */
enum default_kind {
    DEFAULT_WITHIN,
    DEFAULT_IGNORE,
    DEFAULT_SUPPRESSIONS,
    DEFAULT_OF_PROGRAM, /* suppressions built into the program, for leaks only */
    DEFAULT_KINDS
};

struct recorded_default {
    enum default_kind kind;
    char *name; /* of suppressions: the file that they came from, or the program; otherwise "" */
    char *text; /* the regular expression, or the whole file */
};

struct recording {
    /* The program itself is first, then its children in order of start. */
    VEC(struct profile) profiles;
    /* All of them as one (model/combined_profile.h), or NULL; not stored in files. */
    struct profile *combined;
    struct strpool strings;
    VEC(struct recorded_default) defaults;
    bool complete;    /* the file ends as a finished recording does */
    char *incomplete; /* what is missing, as one sentence, or NULL */
};

/* The figure by which processes are compared. */
static inline uint64_t profile_memory(const struct profile *p)
{
    return p->memory_peak_bytes > p->peak_bytes ? p->memory_peak_bytes : p->peak_bytes;
}

/* Does the profile lack any of these figures (enum unknown)? */
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
/* The last scan of a kind; NULL: there was none. */
const struct scan *profile_scan(const struct profile *p, enum scan_kind kind);
/* How the stack of each node ends: 0, NODE_TRUNCATED or NODE_INCOMPLETE. The caller frees the
 * result. */
uint8_t *profile_stack_ends(const struct profile *p);
/* Frees its figures, and then its code. Its identity, how it ended, and its threads stay. */
void profile_release_figures(struct profile *p);
void profile_release_names(struct profile *p);
void recording_free(struct recording *r); /* accepts NULL */

#endif
