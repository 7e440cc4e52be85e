/*
 * layout: the shared memory between a program and the collector, and the words they exchange in it.
 *
 * One memfd per process, made and sized by the collector, mapped by both. The program appends; the
 * collector reads; neither waits for a lock. Everything the program wrote survives its death,
 * because the collector holds its own mapping. The program may scribble over all of it: the
 * collector trusts nothing here (collect/counting/read_rings.c checks every number before use).
 *
 *     header | modules | Python code | samples | rings | cut stacks | stack tree, without end
 *
 * A tick is the number of the interval that is open; it advances at the end of each interval and at
 * each mark. An era is a shorter piece of time, by which blocks remember when they were allocated
 * (collect/counting/eras.h).
 *
 * Both sides map the file up to the first window of the stack tree, and further windows when the
 * tree has grown into them. More rings, when the program has more threads than rings, come in
 * further memfds that hold nothing but rings. The sizes below are part of the ABI and asserted;
 * change WIRE_VERSION with them.
 */
#ifndef TIDE_WIRE_LAYOUT_H
#define TIDE_WIRE_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "machine/page.h"
#include "wire/accounts.h"

#define WIRE_MAGIC   UINT64_C(0x314b52414d454954) /* "TIEMARK1" */
#define WIRE_VERSION 22

#define WIRE_PAGE    ARCH_PAGE_LARGEST /* parts begin at whole pages, whatever their size */
#define WIRE_DORMANT 0x646f726du       /* not a value that a program writes there by accident */

/*
 * A ring's memory is divided into chunks, and the program takes the lowest free one for what it
 * writes next: while the collector keeps up, the same few are used over and over and stay in the
 * cache; a burst may fill them all. No record crosses a chunk's end.
 */
#define WIRE_CHUNK_WORDS 4096u
#define WIRE_CHUNKS      28u /* 896 KiB of events a thread at the most */
#define WIRE_ORDER                                                                                 \
    64u /* logical chunks whose place is on record: more than there can be at once                 \
         */
#define WIRE_RING_WORDS (WIRE_CHUNKS * WIRE_CHUNK_WORDS)
#define WIRE_RING_BYTES (WIRE_PAGE + WIRE_RING_WORDS * 8)

/*
 * The stack tree is an array of 64-bit slots, which the program appends to. A slot holds a frame (a
 * return address, or one of the WIRE_NODE_ values below) or begins a branch. A stack is the number
 * of its innermost frame's slot. The caller of a frame is the slot before it; if a branch begins
 * there, the caller is the frame that the branch names. So the frames of a stack that are new are
 * one branch slot and one slot each, written in one go. A slot that reads 0 was claimed by a thread
 * that has not written it yet. Slot 0 is the root, and no frame.
 *
 * The file has room for up to WIRE_SLOTS_MAX slots and no memory behind those never written.
 * Neither side maps all of it: window k is the 2^(WIRE_WINDOW_BITS + k) slots that follow those of
 * window k - 1, and is mapped when it is needed. Window 0 is part of the first mapping.
 *
 * Should there be no memory for the tree, stacks are kept without their outer frames, in the
 * WIRE_CUT_SLOTS slots whose numbers begin at WIRE_CUT_FIRST and which are always mapped.
 */
#define WIRE_SLOT_BRANCH (UINT64_C(1) << 62) /* in the low 32 bits: the caller's slot */
#define WIRE_WINDOW_BITS 14
#define WIRE_WINDOWS     17 /* the last one is that of the cut stacks */
#define WIRE_CUT_FIRST   (1u << 30)
#define WIRE_CUT_ROOT    (WIRE_CUT_FIRST + 1) /* WIRE_NODE_TRUNCATED: written by the collector */
#define WIRE_CUT_SLOTS   8192u
#define WIRE_SLOTS_MAX   (WIRE_CUT_FIRST - (1u << WIRE_WINDOW_BITS))

/* The window that a slot is in, and the first slot of a window. */
static inline unsigned wire_window(uint32_t slot)
{
    return 31 - WIRE_WINDOW_BITS - (unsigned)__builtin_clz(slot + (1u << WIRE_WINDOW_BITS));
}

static inline uint32_t wire_window_start(unsigned window)
{
    return (1u << (WIRE_WINDOW_BITS + window)) - (1u << WIRE_WINDOW_BITS);
}

/* Environment of the program: where the collector listens, and the key that proves who asks. */
#define WIRE_ENV_SOCKET  "TIDEMARK_SOCKET"
#define WIRE_ENV_KEY     "TIDEMARK_KEY"
#define WIRE_ENV_ONLY    "TIDEMARK_ONLY"
#define WIRE_ENV_FILTERS "TIDEMARK_FILTERS" /* number of seccomp filters of the collector */
#define WIRE_ENV_DROP    "TIDEMARK_DROP"    /* if set: --on-full=drop */
#define WIRE_KEY_SIZE    32                 /* hexadecimal digits */

/* Put before the library's path in LD_PRELOAD if a static program passes it on: loaders that do not
 * know $ORIGIN find no such file. The folder of a program is not deeper than that. */
#define WIRE_PRELOAD_UP_8  "/../../../../../../../.."
#define WIRE_PRELOAD_UP    WIRE_PRELOAD_UP_8 WIRE_PRELOAD_UP_8 WIRE_PRELOAD_UP_8 WIRE_PRELOAD_UP_8
#define WIRE_PRELOAD_GUARD "$ORIGIN" WIRE_PRELOAD_UP

/* A frame's slot: a return address with the module epoch in bits 48 to 59; or one of these. */
#define WIRE_NODE_TRUNCATED   UINT64_C(1)  /* outer frames that were left out */
#define WIRE_NODE_INCOMPLETE  UINT64_C(2)  /* the walk could not go on: no unwind information */
#define WIRE_NODE_POOL        UINT64_C(16) /* + number: not a frame, but the pool of a block */
#define WIRE_POOLS            4096         /* numbers of pools are less */
#define WIRE_POOLS_NAMED      4091         /* from here on, numbers are not given to names: */
#define WIRE_POOL_TENSORS     4091 /* memory of graphics processors, as PyTorch divides it */
#define WIRE_POOL_GPU_HANDLES 4092 /* what the driver gave by a handle (cuMemCreate) */
#define WIRE_POOL_GPU         4093 /* what the driver gave by its address */
#define WIRE_POOL_ARENAS      4094 /* not a pool: used for arenas of CPython */

/* A frame of Python: the number of its code (offset of its wire_code / 8) and its line. */
#define WIRE_NODE_PYTHON        (UINT64_C(1) << 63)
#define WIRE_PYTHON(code, line) (WIRE_NODE_PYTHON | (uint64_t)(code) << 32 | (uint32_t)(line))
#define WIRE_CODE_MAX           (1u << 28) /* code numbers are below this */

/*
 * What is known about Python code: texts, and code objects that refer to them by offset / 8.
 * Records follow each other, 8-byte aligned; the first is at 8. Equal ones are written once.
 */
enum wire_python_kind { WIRE_PYTHON_TEXT = 1, WIRE_PYTHON_CODE };
enum wire_lines {                      /* how code says which line an instruction belongs to */
                  WIRE_LINES_LNOTAB,   /* up to 3.9: pairs of increments */
                  WIRE_LINES_RANGES,   /* 3.10: PEP 626 */
                  WIRE_LINES_LOCATIONS /* from 3.11 on */
};

struct wire_text {
    uint32_t kind;
    uint32_t size; /* bytes after this struct, UTF-8 */
};
static_assert(sizeof(struct wire_text) == 8, "wire ABI");

struct wire_code {
    uint32_t kind;
    uint32_t size; /* bytes of the line table, after this struct: for the recorder's own use */
    uint32_t file, name;
    uint32_t first_line;
    uint32_t lines; /* enum wire_lines */
};
static_assert(sizeof(struct wire_code) == 24, "wire ABI");

/* Who reports memory of graphics processors: CUDA's driver, PyTorch's caching allocator. */
enum wire_gpu { WIRE_GPU_DRIVER = 1, WIRE_GPU_TENSORS = 2 };

/* What is recorded of Python's frames in this process. */
enum wire_python_state {
    WIRE_PYTHON_NONE, /* no interpreter was found */
    WIRE_PYTHON_ON,
    WIRE_PYTHON_VERSION,  /* off: not one of the supported versions */
    WIRE_PYTHON_THREADED, /* off: built without the global lock */
    WIRE_PYTHON_PYPY,     /* off: another interpreter */
    WIRE_PYTHON_STRANGE,  /* off: it does not have the layout of its version */
    WIRE_PYTHON_FULL      /* on, but there is no more room for new code */
};

/* Whether CPython's allocators are wrapped. */
enum wire_objects { WIRE_OBJECTS_OFF, WIRE_OBJECTS_ON, WIRE_OBJECTS_REFUSED };

/* A loaded module, as the program found it. Records follow each other, 8-byte aligned. */
struct wire_module {
    uint64_t start, end, bias;
    uint32_t epoch;
    uint16_t path_size; /* bytes after this struct, no NUL */
    uint16_t build_id_size;
    uint8_t build_id[32];
};
static_assert(sizeof(struct wire_module) == 64, "wire ABI");

/* Memory that the recorder has mapped for itself; size 0: none. */
struct wire_own {
    _Atomic uint64_t start, size;
};
#define WIRE_OWN      56 /* of the process */
#define WIRE_RING_OWN 2  /* of a thread: its state, and what it needs for Python frames */

/* A collector that sees the size sees the start. */
static inline void wire_own_set(struct wire_own *own, uint64_t start, uint64_t size)
{
    atomic_store_explicit(&own->start, start, memory_order_relaxed);
    atomic_store_explicit(&own->size, size, memory_order_release);
}

enum wire_on_full { WIRE_WAIT, WIRE_DROP };

/* Functions whose entries lead to us. */
#define WIRE_TAKEN_MALLOC      1u /* malloc and its family, of the executable */
#define WIRE_TAKEN_OTHER_NAMES 2u /* those of an allocator that is called by other names */

/* Why the collector was not asked to read the program at its end; the last reason counts. */
enum wire_end {
    WIRE_END_UNKNOWN,     /* the program did not call an exit function that is hooked */
    WIRE_END_ASKED,       /* it was asked, and answered */
    WIRE_END_THREADS,     /* after destructors ran, other threads were still there */
    WIRE_END_PYTHON,      /* the same, and Python had ended before it could be asked */
    WIRE_END_FILTER,      /* the program runs under a seccomp filter of its own */
    WIRE_END_DESCRIPTORS, /* it has no file descriptor left */
    WIRE_END_NO_ANSWER    /* the collector could not be reached, or did not answer in time */
};

/* Bytes that may be missing at a peak, with the peak's number above them. */
#define WIRE_UNSURE_BITS 40
#define WIRE_UNSURE_MOST ((UINT64_C(1) << WIRE_UNSURE_BITS) - 1)

/* The bytes in `unsure` for this peak; 0: it is about another one. */
static inline uint64_t wire_unsure_bytes(uint64_t unsure, uint32_t epoch)
{
    bool same = unsure >> WIRE_UNSURE_BITS == (epoch & UINT32_MAX >> (WIRE_UNSURE_BITS - 32));
    return same ? unsure & WIRE_UNSURE_MOST : 0;
}

/* `unsure`, with more bytes of this peak. */
static inline uint64_t wire_unsure_add(uint64_t unsure, uint32_t epoch, uint64_t bytes)
{
    uint64_t before = wire_unsure_bytes(unsure, epoch);
    bytes = bytes < WIRE_UNSURE_MOST - before ? before + bytes : WIRE_UNSURE_MOST;
    return (uint64_t)epoch << WIRE_UNSURE_BITS | bytes;
}

/*
 * The sums of the accounts of a process (wire/accounts.h), written by the program. A peak is noted
 * when the heap shrinks for the first time after it, so the last one is not there while the heap
 * grows: the peak is the larger of peak_bytes and live_bytes.
 */
struct wire_totals {
    _Alignas(64) _Atomic uint64_t live_bytes; /* threads publish what they add when it is enough */
    _Atomic uint64_t peak_bytes;
    _Atomic uint64_t interval_peak_bytes; /* the same since the last tick or tide_figures */
    _Atomic uint32_t peak_epoch;          /* counts the peaks that were noted */
    _Atomic uint32_t peak_tick;           /* interval_peak_bytes is since this tick */
    _Atomic uint32_t total_owner;  /* the only thread that changes the heap now; 0: several */
    _Atomic uint64_t unsure;       /* bytes that may be missing at a peak (wire_unsure_add) */
    _Atomic uint32_t accounts_end; /* numbers from WIRE_ACCOUNT_USUAL to this are claimed, */
    _Atomic uint32_t spare_end;    /* and from WIRE_ACCOUNT_FIRST to this */
    /* Freed blocks of those that existed at the fork. */
    _Atomic uint64_t inherited_blocks, inherited_bytes;
    _Atomic uint64_t unknown_frees; /* frees of blocks that were never reported */
    _Atomic uint64_t missed_frees;  /* blocks whose address was reused */
    /* The block index is in the program's own memory (record/block_index.h). */
    _Atomic uint64_t index_parts; /* address of an array of wire_index_part */
    _Atomic uint32_t index_part_count;
    _Atomic uint32_t index_wide_count;
    _Atomic uint64_t index_wide; /* address of wire_wide: sizes that do not fit into entries */
    /* run --sample: instead of the index, the address of a table of wire_block, at the beginning of
     * a page, + the binary logarithm of its size; 0: none was recorded yet. */
    _Atomic uint64_t sample_table;
};

struct wire_header {
    /* Written by the collector before the program maps it; constant. */
    uint64_t magic;
    uint32_t version, on_full;
    uint64_t size;
    uint64_t modules_offset, modules_size;
    uint64_t cut_offset, slots_offset, rings_offset;
    uint32_t ring_count;
    uint32_t slots_limit; /* the file has room for so many slots of the stack tree */
    uint32_t python_size; /* 0: Python's frames are not wanted */
    uint64_t python_offset;
    uint32_t mark_on;        /* functions whose entries shall be marks; 0: none (WIRE_FUNCTIONS) */
    uint64_t plant_leak;     /* bytes that each mark shall leak; 0: none */
    uint32_t objects_wanted; /* 1: CPython's own allocators shall be wrapped */
    uint32_t cpu_signal;     /* --cpu=timer: the signal to use; 0: any that is free */
    uint64_t cpu_period_ns;  /* CPU time between two samples of a thread; 0: no timers are wanted */
    uint64_t samples_offset; /* of WIRE_SAMPLES samples */
    uint64_t routes_offset;  /* of a page with a struct wire_routes (wire/routes.h) */
    uint64_t sample_bytes;   /* run --sample: one allocation per so many bytes; 0: all */
    uint64_t sample_seed;    /* for the choice of allocations */
    uint64_t accounts_offset; /* of the accounts in the file, which is not mapped from there on */
    uint64_t eras_offset;     /* WIRE_ERAS times at which eras began */
    uint32_t accounts_limit;  /* the file has room for so many units; 0: none */
    uint32_t first_era;       /* a block of an earlier era was inherited at a fork */
    uint64_t clock_ns;        /* the collector's monotonic clock when it answered WIRE_HELLO */
    uint32_t pid;             /* of the process, in the collector's pid namespace */

    /* Written by the collector while the program runs. Every hook reads this line, so nothing else
     * is in it. */
    _Alignas(64) union {
        _Atomic uint64_t moment; /* both of these, which are read and advanced together */
        struct {
            _Atomic uint32_t era;  /* about a millisecond each; one begins with each tick */
            _Atomic uint32_t tick; /* counts clock ticks; never 0 */
        };
    };
    _Atomic uint32_t detached; /* the collector is gone: stop recording */
    _Atomic uint32_t paused;   /* by either side: allocations are not recorded */
    _Atomic uint32_t dormant;  /* by the collector: WIRE_DORMANT: hooks only forward */

    /* Written by the program. */
    _Alignas(64) _Atomic uint32_t slots_end; /* of the stack tree: slots below it are claimed */
    _Atomic uint32_t cut_end;                /* likewise, of the cut stacks */
    _Atomic uint32_t modules_used;           /* bytes of complete module records */
    _Atomic uint32_t rings_used;             /* rings that threads were given, in their order */
    _Atomic uint32_t unfollowed;             /* children that could not ask for memory */
    _Atomic uint32_t entries_taken;          /* of WIRE_TAKEN_ */
    _Atomic uint64_t unrecorded;             /* events of threads that could get no ring */
    _Atomic uint32_t python;                 /* enum wire_python_state */
    _Atomic uint32_t python_version;         /* 0x030b07f0: 3.11.7; 0: not known */
    _Atomic uint32_t python_used;            /* bytes of complete records, from 8 on */
    _Atomic uint32_t objects;                /* enum wire_objects */
    /* Of enum wire_gpu: whose functions are hooked, and whose could not be. */
    _Atomic uint32_t gpu_hooked, gpu_refused;
    /* Where the interpreter says which thread finalises it; 0: nowhere. */
    _Atomic uint64_t python_finalizing;
    _Atomic uint64_t python_int_type; /* the address of the type of ints; 0: not known */
    /* Memory that the recorder mapped for itself, except that of threads. */
    struct wire_own own[WIRE_OWN];
    _Atomic uint32_t end;             /* enum wire_end */
    _Atomic uint32_t cpu_state;       /* enum wire_cpu */
    _Atomic uint64_t cpu_lost;        /* periods of CPU time without a sample */
    _Atomic uint64_t samples_claimed; /* by threads that write a sample */
    /* By the collector: those before may be overwritten. */
    _Alignas(64) _Atomic uint64_t samples_read;
    struct wire_totals totals;
};
static_assert(sizeof(struct wire_header) <= WIRE_PAGE, "the header is one page");

/* What became of the timers of --cpu=timer; the last one counts. */
enum wire_cpu {
    WIRE_CPU_NONE,      /* there were none */
    WIRE_CPU_ON,        /* threads have timers */
    WIRE_CPU_NO_SIGNAL, /* off: the program uses the requested signal, or all */
    WIRE_CPU_REFUSED,   /* some thread got none: the kernel refused (RLIMIT_SIGPENDING) */
    WIRE_CPU_FILTER     /* off: the program was about to install a seccomp filter */
};

/*
 * A sample of CPU time, by the handler of a timer's signal.
 *
 * All threads of a process share one buffer. A thread claims an entry by advancing samples_claimed,
 * writes, and then stores `number` with release order: the sample is complete when that is the
 * number of the claim + 1. There is room for WIRE_SAMPLES that were not read; what does not fit is
 * counted in cpu_lost.
 */
struct wire_sample {
    _Atomic uint64_t number;
    uint32_t tid;
    uint32_t stack;
    uint32_t periods; /* of CPU time that it stands for */
    uint32_t tick;    /* when it was taken */
};
static_assert(sizeof(struct wire_sample) == 24, "wire ABI");
#define WIRE_SAMPLES 8192u
#define WIRE_SAMPLES_SIZE                                                                          \
    ((WIRE_SAMPLES * sizeof(struct wire_sample) + WIRE_PAGE - 1) / WIRE_PAGE * WIRE_PAGE)

/*
 * One thread's events: 64-bit words. Positions only grow. Logical chunk position / WIRE_CHUNK_WORDS
 * is at the place in order[], which is written before `written` passes into it.
 */
struct wire_ring {
    _Alignas(64) _Atomic uint64_t written; /* by the program, after the words it covers */
    _Atomic uint64_t dropped;              /* records not written because there was no room */
    _Atomic uint8_t order[WIRE_ORDER];     /* by the program */
    _Atomic uint64_t waits;                /* by the program: times that it waited for room, */
    _Atomic uint64_t growths_left_out;     /* number of WIRE_GROWTHs that it left out instead */
    _Alignas(64) _Atomic uint64_t read;    /* by the collector, after it is done with the words */
    _Alignas(64) _Atomic uint64_t stack;   /* by the program: an address of its thread's stack, */
    _Atomic uint64_t signal_stack; /* and of the one that it has for signals; 0: none is known */
    _Alignas(64) struct wire_own own[WIRE_RING_OWN]; /* by the program */
    /* By the program: its accounts with changes, and the one whose row is being written: once
     * `written` has reached row_end, that row is in the ring and no longer in the account. */
    _Alignas(64) _Atomic uint32_t dirty; /* a list of accounts by their next_dirty; WIRE_LAST */
    _Atomic uint32_t row_of;             /* an account; 0: none is being written */
    _Atomic uint64_t row_end;
    /* Counts lists that were written: odd while one is being written. */
    _Atomic uint32_t rows_written;
    /* Of its accounts, as in wire_account.owner; 0 while another thread begins or gets its name. */
    _Atomic uint32_t owner;
    _Atomic uint32_t reallocating; /* 1: its block is in neither place */
    _Atomic uint64_t owner_from;   /* what is in the ring from here on belongs to the owner */
};
static_assert(sizeof(struct wire_ring) <= WIRE_PAGE, "a ring's header is one page");

/*
 * Records: the first word has the kind in its high 4 bits, 12 bits of detail, and an address or
 * number in its low 48.
 */
enum wire_kind {
    WIRE_NOTHING,   /* never written: a zero word means damage */
    WIRE_ROW_SMALL, /* account, allocs, frees | bytes, freed, slack, slack freed; detail = 1: all
                       frees were of temporary blocks (wire/accounts.h) */
    WIRE_ROW,    /* account | allocs, frees | bytes | freed | slack, slack freed | temps, reallocs
                       | bytes of temps */
    WIRE_GROWTH, /* old address, detail = 1: by realloc | new address | old size | new size |
                       accounts: old, new | eras: old, new */
    WIRE_MAP,    /* address | stack, WIRE_MAP_ARENA, from bit WIRE_MAP_EPOCH on
                       wire_totals.peak_epoch | length; detail: 0, or the pool it is a block of */
    WIRE_UNMAP,  /* address | length | wire_totals.peak_epoch, or as the detail, wire_unmap, says */
    /* Tick: what follows happened at or after it | the highest heap total before it, or 0. */
    WIRE_TICK,
    WIRE_SEQUENCE, /* number of what follows among all threads (see below) */
    /* Tid: what follows belongs to this thread; detail = 1: which has ended before | time. */
    WIRE_THREAD_BEGIN,
    WIRE_THREAD_END,  /* tid | time */
    WIRE_THREAD_NAME, /* tid | 16 bytes of name, detail: at 16 * that | time. The first ones
                          replace its earlier name */
    WIRE_PAD,         /* nothing more in this chunk */
    WIRE_FORK, /* number: the process is about to fork for the number-th time | what was freed by
                  then of what it had inherited itself: blocks | bytes */
    WIRE_NOTE, /* detail = enum wire_note, which says what the other words are; rare */
    WIRE_KINDS
};

enum wire_unmap {
    WIRE_UNMAP_DONE,
    WIRE_UNMAP_FAILED, /* the last unmap failed: nothing has changed */
    WIRE_UNMAP_POOL,   /* address | number: of the pool to which the block returns */
    /* Who refers to a handle's memory on a graphics processor, which is freed with the last. */
    WIRE_GPU_RETAINED, /* handle: it is to be released once more */
    WIRE_GPU_MAPPED,   /* address | handle | length */
    WIRE_GPU_UNMAPPED, /* address | length */
    WIRE_GPU_REFUSED   /* address: the driver refused this thread's last free: nothing changed */
};

/*
 * Notes. A mark advances the tick and so ends an interval: what has the new tick is after the mark.
 * dlclose does so too, for reasons of its own; it says so, because its interval need not be kept.
 */
enum wire_note {
    WIRE_NOTE_UNLOAD,  /* low: the tick that it began */
    WIRE_NOTE_MARK,    /* low: the tick that it began | time | VM, RSS, shared: pages | minor, major
                         faults | 0, or number of the function entered (then without label) | label:
                         64   bytes */
    WIRE_NOTE_VALUE,   /* low: the tick of the mark it belongs to | double | key: 64 bytes */
    WIRE_NOTE_PAUSED,  /* from here on there may be blocks that were never reported */
    WIRE_NOTE_POOL,    /* low: a pool's number | its name: 64 bytes */
    WIRE_NOTE_HELD,    /* low: the tick of the mark it belongs to | a wire_held */
    WIRE_NOTE_TOUCHED, /* low: address of a large block | bytes of it that were never resident |
                          account | size; it is about to be freed */
    WIRE_NOTE_ARENAS,  /* low: the tick of the mark it belongs to | bytes of CPython's arenas that
                          were not resident */
};
/* What the program's allocator reports about itself. */
enum wire_allocator {
    WIRE_ALLOCATOR_NONE, /* nothing: it cannot be asked, or not now */
    WIRE_ALLOCATOR_GLIBC,
    WIRE_ALLOCATOR_JEMALLOC,
    WIRE_ALLOCATOR_TCMALLOC,
    WIRE_ALLOCATOR_MIMALLOC /* does not report what is free */
};
struct wire_held {
    uint64_t allocator; /* enum wire_allocator */
    uint64_t held_bytes, free_bytes;
};
static_assert(sizeof(struct wire_held) == 24, "wire ABI");
#define WIRE_NOTE_TEXT  8  /* words of a label or key: the last ones */
#define WIRE_LABEL_SIZE 64 /* bytes of it, NUL included where it is shorter */

/* How many bytes of a label are kept: all, or as many whole UTF-8 characters as fit. */
static inline size_t wire_label_size(const char *text)
{
    size_t size = 0;
    while (size < WIRE_LABEL_SIZE && text[size])
        size++;
    if (size < WIRE_LABEL_SIZE)
        return size;
    for (size--; size > WIRE_LABEL_SIZE - 4 && ((unsigned char)text[size] & 0xc0) == 0x80;)
        size--;
    return size;
}

/*
 * What threads do to the same mapping, pool or array must be read in the order in which they did
 * it. In a process with several threads, such records have a WIRE_SEQUENCE before them, with
 * numbers from one counter. What was done before has a smaller number, and was published before the
 * number was taken.
 */

#define WIRE_MAP_ARENA               (UINT64_C(1) << 32) /* of CPython, for small objects */
#define WIRE_MAP_EPOCH               33 /* from this bit on: wire_totals.peak_epoch */
#define WIRE_LOW48                   ((UINT64_C(1) << 48) - 1)
#define WIRE_WORD(kind, detail, low) ((uint64_t)(kind) << 60 | (uint64_t)(detail) << 48 | (low))
#define WIRE_KIND(word)              ((unsigned)((word) >> 60))
#define WIRE_DETAIL(word)            ((unsigned)((word) >> 48) & 0xfff)
#define WIRE_RECORD_MAX              16 /* words of the longest record */

/* Ends an interval; returns the tick before. An era ends with it. */
static inline uint32_t wire_move_tick(struct wire_header *h)
{
    return (uint32_t)(atomic_fetch_add(&h->moment, UINT64_C(1) << 32 | 1) >> 32);
}

static inline unsigned wire_record_words(unsigned kind)
{
    static const uint8_t words[16] = {
        [WIRE_NOTHING] = 1,      [WIRE_ROW_SMALL] = 2,  [WIRE_ROW] = 7,         [WIRE_GROWTH] = 6,
        [WIRE_MAP] = 3,          [WIRE_UNMAP] = 3,      [WIRE_TICK] = 2,        [WIRE_SEQUENCE] = 1,
        [WIRE_THREAD_BEGIN] = 2, [WIRE_THREAD_END] = 2, [WIRE_THREAD_NAME] = 4, [WIRE_PAD] = 1,
        [WIRE_FORK] = 3,         [WIRE_NOTE] = 16,
    };
    return words[kind];
}

/* Over the socket: a request, answered by a reply that carries one memfd if status is 0. */
enum wire_request_kind {
    WIRE_HELLO = 1,
    WIRE_MORE_RINGS,
    /* Also from `tidemark ctl`; `text` follows in the same message. No memfd comes back. */
    WIRE_SNAPSHOT, /* text: where to */
    WIRE_MARK,     /* text: the label */
    WIRE_PAUSE,
    WIRE_RESUME,
    WIRE_STATUS,  /* answered by a text */
    WIRE_EXITING, /* from the program, which waits for the answer */
    WIRE_SCAN,    /* scan for leaks now; answered by a text */
    /* run --mark-on. The collector knows the names, and searches the files. */
    WIRE_FUNCTIONS,   /* text: a loaded file, "": the program; answered by wire_function[] */
    WIRE_LEFT_ALONE,  /* text: the file of a function that does not become a mark */
    WIRE_FIGURES,     /* answered by a wire_figures */
    WIRE_PYTHON_ENDS, /* its interpreter is about to free its objects; it waits, as at its exit */
    WIRE_BOUND,       /* text: a library that called the allocator directly, and does so no more */
    WIRE_LEFT_OUT,    /* text: a program that it executes, and that cannot load the recorder */
    WIRE_START,       /* run --dormant: record from here on; by `tidemark ctl` alone */
    WIRE_STOP,        /* be dormant again */
    WIRE_LOOK,        /* as WIRE_SNAPSHOT, but it leaves no trace in the recording */
    WIRE_DETACH       /* of a program that was attached to: answered by a text when it is done */
};
enum wire_out {
    WIRE_OUT_NONE,
    WIRE_OUT_LIBC, /* it uses another C library */
    WIRE_OUT_32_BIT,
    WIRE_OUT_STATIC,    /* it has no loader; what it executes may have one */
    WIRE_OUT_SANITIZER, /* wire/sanitizer.h */
    WIRE_OUT_NO_LIBRARY /* our library cannot be read there: another root, or another user */
};
enum wire_exit {
    WIRE_EXIT_BEGINS, /* nothing that runs at exit has run yet */
    WIRE_EXIT_ENDS,   /* all of it has */
    /* Its Python begins to end, and there are other threads: in a moment it will be too late to
     * wait; the program may go on, if Python is only a part of it. */
    WIRE_EXIT_PYTHON
};

/* The heap of the process that asks, including everything that it has recorded before. */
struct wire_figures {
    uint64_t live_bytes, live_blocks;
    uint64_t total_bytes, allocations; /* since its start */
    uint64_t peak_bytes;               /* highest live bytes since its start or its last restart */
};
static_assert(sizeof(struct wire_figures) == 40, "wire ABI");

/* A function whose entries shall be marks. */
struct wire_function {
    uint64_t address; /* in its file */
    uint64_t size;
    uint32_t number; /* of the name, from 1 */
    uint32_t unused;
    uint8_t code[16]; /* its first bytes in the file: those in memory must be the same */
};
static_assert(sizeof(struct wire_function) == 40, "wire ABI");
#define WIRE_FUNCTIONS_MAX 32 /* in one file */

/* Why a function's entries are not marked. */
enum wire_left {
    WIRE_LEFT_CODE,    /* its beginning cannot be replaced */
    WIRE_LEFT_CHANGED, /* it is not what is in the file */
    WIRE_LEFT_TAKEN,   /* an earlier name means the same function */
    WIRE_LEFT_THREADS, /* other threads run already */
    WIRE_LEFT_NEEDED,  /* a mark cannot be made without it */
    WIRE_LEFT_HOOKED,  /* a hook calls it, and no mark can be made inside a hook */
    WIRE_LEFT_MANY,    /* WIRE_FUNCTIONS_MAX are marked in that file */
    WIRE_LEFT_REFUSED  /* code cannot be written to, or there is no room near it */
};
#define WIRE_TEXT_MAX 4096

struct wire_request {
    uint64_t magic;
    uint32_t version, kind;
    uint32_t ring_count;    /* WIRE_MORE_RINGS: how many */
    uint32_t limited_space; /* WIRE_HELLO: address space is limited, so ask for little of it */
    /* WIRE_HELLO of a forked process: the parent, by the collector's number for it, and the number
     * of its WIRE_FORK. */
    uint32_t parent;
    uint32_t fork;
    /* WIRE_HELLO of a forked process: its own blocks have this era or a later one. */
    uint32_t first_era;
    uint32_t pid_inside;    /* WIRE_HELLO: the process's number in its own pid namespace */
    uint32_t process;       /* of `tidemark ctl`: which process is meant; 0: all */
    uint32_t exit;          /* WIRE_EXITING: enum wire_exit */
    uint32_t python_ended;  /* WIRE_EXITING: there is an interpreter, and it has ended */
    uint32_t restart_peak;  /* WIRE_FIGURES: the peak begins anew */
    uint32_t function;      /* WIRE_LEFT_ALONE: its number; 0: all in files that are loaded later */
    uint32_t reason;        /* WIRE_LEFT_ALONE: enum wire_left; WIRE_LEFT_OUT: enum wire_out */
    uint32_t missed_before; /* WIRE_BOUND: earlier calls of the library were missed */
    /* About the thread that asks, unless it is `tidemark ctl`: */
    uint32_t thread;         /* its tid */
    uint64_t thread_pointer; /* near which its thread-local storage is */
    uint64_t stack;          /* WIRE_EXITING: the program's frames begin here */
    struct wire_held held;   /* WIRE_SNAPSHOT, WIRE_EXITING */
    char key[WIRE_KEY_SIZE];
};
static_assert(sizeof(struct wire_request) == 144, "wire ABI");

struct wire_reply {
    int32_t status; /* 0, or a negative errno: do not record */
    uint32_t count; /* of rings in the memfd; or of structs that follow */
    uint64_t size;  /* of the memfd; or of what follows */
};
static_assert(sizeof(struct wire_reply) == 16, "wire ABI");

#endif
