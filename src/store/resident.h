/*
 * resident: the parts of a profile that tell of a process's mappings and its resident memory. They
 * are plain data, like the rest of a recording (store/recording.h).
 */
#ifndef TIDE_STORE_RESIDENT_H
#define TIDE_STORE_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the process had mapped, as the kernel told it at a moment. */
enum mapping_flag {
    MAPPING_READ = 1,
    MAPPING_WRITE = 2,
    MAPPING_EXECUTE = 4,
    MAPPING_SHARED = 8,
    MAPPING_OWN = 16,    /* the recorder's: its library, its memory */
    MAPPING_BLOCKS = 32, /* live heap blocks lie in it */
    MAPPING_STACK = 64,  /* the stack of a thread is in it */
    MAPPING_ZEROED = 128 /* the part of a program or library that is not in its file (.bss) */
};

enum mapping_size {
    MAPPING_RSS,
    MAPPING_PSS, /* RSS, each page divided by the number of processes that have it */
    MAPPING_PRIVATE,
    MAPPING_DIRTY,
    MAPPING_ANONYMOUS, /* of RSS: no longer the file's */
    MAPPING_HUGE,      /* of that: in huge pages */
    MAPPING_SWAP,
    MAPPING_LOCKED,
    MAPPING_SIZES
};

struct mapping {
    uint64_t start, end, offset;
    uint32_t flags;  /* enum mapping_flag */
    uint32_t name;   /* in profile.map_names; 0: anonymous */
    uint32_t policy; /* of NUMA, likewise; 0: not known */
    uint32_t node_count;
    size_t first_node; /* in profile.map_nodes */
    uint64_t kib[MAPPING_SIZES];
};

#define NUMA_NODES 1024 /* Linux has no more */

/* What of a mapping is resident on one NUMA node; those of a mapping are in order of node. */
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

/* All mappings at a moment. */
struct capture {
    uint32_t kind; /* enum capture_kind */
    uint64_t time_ns;
    size_t first, count; /* in profile.mappings, in order of address */
};

/*
 * What a process's resident memory is made of, page by page, at a moment. The parts add up to what
 * is resident; PART_UNKNOWN, and what the kernel's RSS differs from their sum, is not explained.
 */
enum footprint_part {
    PART_LIVE,     /* live heap blocks, as many bytes as were asked for */
    PART_ROUNDING, /* and what the allocator adds to each: rounding, headers */
    PART_HELD,     /* free, on pages where some live block lies */
    PART_FREE,     /* whole pages of the allocator's without any live block */
    PART_MAPPED,   /* anonymous memory that the program itself mapped */
    PART_STACKS,
    PART_TEXT,     /* of the program and its libraries: as it is in their files */
    PART_DATA,     /* of them: written to, .bss, thread-local storage of the first thread */
    PART_FILES,    /* others */
    PART_SHARED,   /* memory without a file that others may have too */
    PART_KERNEL,   /* [vdso] and the like */
    PART_RECORDER, /* tidemark's */
    PART_UNKNOWN,  /* anonymous, and nobody is known to have mapped it */
    PART_ARENAS,   /* of CPython, for small objects, where these are not blocks themselves */
    FOOTPRINT_PARTS
};

enum footprint_kind {
    FOOTPRINT_PERIODIC, /* now and then */
    FOOTPRINT_MARK,     /* shortly after a mark */
    FOOTPRINT_SNAPSHOT,
    FOOTPRINT_EXIT, /* when the program began to end */
    FOOTPRINT_KINDS
};

/* Blocks of a site that keep pages: their share of the free bytes there. */
struct pin {
    uint32_t site;
    uint64_t pinned; /* of PART_HELD; shared out by the bytes that each site has on the page */
    uint64_t bytes;  /* of its blocks, on these pages */
};

struct footprint {
    uint32_t kind; /* enum footprint_kind */
    uint64_t time_ns;
    bool exact;   /* the program stood still meanwhile */
    bool partial; /* there may be blocks that were never announced: they count as free */
    uint64_t rss_bytes;
    uint64_t moved_bytes; /* by which RSS or the heap changed while it was looked at */
    uint64_t live_bytes;  /* of heap blocks, resident or not */
    uint64_t parts[FOOTPRINT_PARTS];
    uint64_t trim_bytes;         /* of PART_FREE: malloc_trim(0) should give back about as much */
    uint64_t arenas;             /* of glibc's, the first included, that have much of PART_FREE */
    size_t first_pin, pin_count; /* in profile.pins; those that pin most, in that order */
};

/* What CPython kept for small objects at a moment. */
struct arena_look {
    uint64_t time_ns;
    uint64_t arenas, bytes;         /* mapped */
    uint64_t objects, object_bytes; /* in use; bytes as the arenas have them, rounded up */
};

#endif
