/*
 * memory: reads the memory of another process: its mappings, the pages that were ever touched, and
 * their contents. Nothing is changed there.
 *
 * Pages that the process never touched hold zeros. They are not read, because reading would make
 * them resident.
 *
 * Ownership: memory_release frees; {0} is empty. Threads: memory_read may be called by several at a
 * time, all else by one.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_MEMORY_H
#define TIDE_COLLECT_LEAKSCAN_MEMORY_H

#include <stdbool.h>
#include <sys/types.h>

#include "collect/proc/address_set.h"
#include "collect/proc/remote_memory.h"
#include "collect/proc/smaps.h"

enum region_kind {
    REGION_ANONYMOUS,
    REGION_FILE, /* or memory that is shared by other means */
    REGION_STACK,
    REGION_HEAP,
    REGION_OURS /* tidemark's: memory shared with the collector, or libtidemark.so */
};

struct region {
    uint64_t start, end, offset;
    enum region_kind kind;
    bool readable, writable;
    /* The program may have written to it: it can, or it made the mapping read-only afterwards. */
    bool written;
    bool generated; /* code that is not from a file: the program made it, or the kernel did */
    bool is_libc;
};

struct memory {
    struct remote_memory remote; /* opened by memory_map */
    VEC(struct region) regions;  /* in order */
    struct address_set resident; /* the resident pages of the mappings that may be written */
    uint64_t generated_bytes;    /* how much of it is generated code */
    bool residency;              /* `resident` is known; otherwise all pages count as resident */
    bool only_written; /* memory_find_written has been called: all other pages read as zeros */
    /* The part of `resident` that was written to since the fork, in order. */
    struct address_set written;
};

/* Returns 0, or a negative errno: the process may not be read, or is gone. `still`: its mappings,
 * if they have been read; or NULL. */
int memory_map(struct memory *m, pid_t pid, const struct proc_still *still);
void memory_find_resident(struct memory *m);
/*
 * For a forked process: finds the resident pages that it has, or may have, written to since the
 * fork. The other pages are still shared with its parent or siblings, so they are as they were at
 * the fork. (Pages that a process shares with its own children cannot be distinguished from these.)
 * Returns false if this is not known.
 */
bool memory_find_written(struct memory *m);
/* The ranges of memory that the scan reads; everything else counts as zeros. */
static inline const struct address_set *memory_there(const struct memory *m)
{
    return m->only_written ? &m->written : &m->resident;
}
/* The mapping that an address is in, or NULL. */
const struct region *memory_at(const struct memory *m, uint64_t address);
/* Reads the ranges into `out`, one after the other; zeros where nothing can be read. */
void memory_read(void *memory, const struct address_range *spans, size_t count, char *out);
/* The first part of a range whose pages are resident; an empty range at its end if there is
 * none. */
struct address_range memory_next(void *memory, struct address_range range);
/* Can the memory be read at all? Returns 0, or a negative errno. */
int memory_try(const struct memory *m);
void memory_release(struct memory *m);

#endif
