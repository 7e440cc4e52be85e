/*
 * resident: the parts of a profile that describe a process's mappings and its resident memory. They
 * are plain data, like the rest of a recording (store/recording.h).
 */
#ifndef TIDE_STORE_RESIDENT_H
#define TIDE_STORE_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flags of a mapping, as the kernel reported it at one moment. */
enum mapping_flag {
    MAPPING_READ = 1,
    MAPPING_WRITE = 2,
    MAPPING_EXECUTE = 4,
    MAPPING_SHARED = 8,
    MAPPING_OWN = 16,    /* the recorder's library and memory */
    MAPPING_BLOCKS = 32, /* live heap blocks are in it */
    MAPPING_STACK = 64,  /* a thread's stack is in it */
    MAPPING_ZEROED = 128 /* data of a program or library that is not in its file (.bss) */
};

enum mapping_size {
    MAPPING_RSS,
    MAPPING_PSS, /* RSS, each page divided by the number of processes that share it */
    MAPPING_PRIVATE,
    MAPPING_DIRTY,
    MAPPING_ANONYMOUS, /* the part of RSS that no longer equals the file */
    MAPPING_HUGE,      /* the part of that in huge pages */
    MAPPING_SWAP,
    MAPPING_LOCKED,
    MAPPING_SIZES
};

struct mapping {
    uint64_t start, end, offset;
    uint32_t flags;  /* enum mapping_flag */
    uint32_t name;   /* index into profile.map_names; 0: anonymous */
    uint32_t policy; /* NUMA policy, in the same way; 0: not known */
    uint32_t node_count;
    size_t first_node; /* index into profile.map_nodes */
    uint64_t kib[MAPPING_SIZES];
};

#define NUMA_NODES 1024 /* Linux has no more */

/* How much of a mapping is resident on one NUMA node; the entries of a mapping are in order of
 * node. */
struct mapping_node {
    uint32_t node;
    uint64_t kib;
};

enum capture_kind {
    CAPTURE_START,    /* soon after the start */
    CAPTURE_PERIODIC, /* now and then */
    CAPTURE_SNAPSHOT,
    CAPTURE_EXIT, /* when the program began to end */
    CAPTURE_KINDS
};

/* All mappings at one moment. */
struct capture {
    uint32_t kind; /* enum capture_kind */
    uint64_t time_ns;
    size_t first, count; /* indexes into profile.mappings, in order of address */
};

/*
 * What a process's resident memory consists of at one moment, page by page. The parts add up to
 * what is resident. PART_UNKNOWN, and the difference between their sum and the kernel's RSS, remain
 * unexplained.
 */
enum footprint_part {
    PART_LIVE,     /* live heap blocks, the bytes that were requested */
    PART_ROUNDING, /* what the allocator adds to each: rounding, headers */
    PART_HELD,     /* free bytes on pages that also hold a live block */
    PART_FREE,     /* whole pages of the allocator without any live block */
    PART_MAPPED,   /* anonymous memory that the program itself mapped */
    PART_STACKS,
    PART_TEXT, /* of the program and its libraries: the unmodified part of their files */
    /* Of the program and its libraries: modified data, .bss, thread-local storage of the first
     * thread. */
    PART_DATA,
    PART_FILES,    /* other files */
    PART_SHARED,   /* memory without a file that other processes may share */
    PART_KERNEL,   /* [vdso] and the like */
    PART_RECORDER, /* tidemark's own */
    PART_UNKNOWN,  /* anonymous, and it is not known who mapped it */
    PART_ARENAS,   /* CPython's arenas for small objects, if these are not blocks themselves */
    FOOTPRINT_PARTS
};

enum footprint_kind {
    FOOTPRINT_PERIODIC, /* now and then */
    FOOTPRINT_MARK,     /* shortly after a mark */
    FOOTPRINT_SNAPSHOT,
    FOOTPRINT_EXIT, /* when the program began to end */
    FOOTPRINT_KINDS
};

/* The blocks of a site that keep pages resident: their share of the free bytes there. */
struct pin {
    uint32_t site;
    /* Bytes of PART_HELD, shared out by the bytes that each site has on the page. */
    uint64_t pinned;
    uint64_t bytes; /* bytes of its blocks on these pages */
};

struct footprint {
    uint32_t kind; /* enum footprint_kind */
    uint64_t time_ns;
    bool exact;   /* the program was stopped meanwhile */
    bool partial; /* there may be blocks that were never recorded: they count as free */
    uint64_t rss_bytes;
    uint64_t moved_bytes; /* how much RSS or the heap changed during the reading */
    uint64_t live_bytes;  /* live heap bytes, resident or not */
    uint64_t parts[FOOTPRINT_PARTS];
    uint64_t trim_bytes; /* the part of PART_FREE that malloc_trim(0) should release */
    uint64_t arenas;     /* arenas of glibc's, the first included, with much of PART_FREE */
    /* Indexes into profile.pins; those that pin most, the largest first. */
    size_t first_pin, pin_count;
};

/* How full CPython's arenas for small objects were at one moment. */
struct arena_reading {
    uint64_t time_ns;
    uint64_t arenas, bytes;         /* mapped */
    uint64_t objects, object_bytes; /* in use; bytes rounded up as in the arenas */
};

#endif
