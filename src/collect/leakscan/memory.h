/*
 * memory: another process's memory: what is mapped, which pages were ever touched, and what is in
 * them.
 *
 * Nothing is changed there. Pages that the process never touched are not read, as reading would
 * make them resident; they are zeros.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_MEMORY_H
#define TIDE_COLLECT_LEAKSCAN_MEMORY_H

#include <stdbool.h>
#include <sys/types.h>

#include "collect/proc/address_set.h"
#include "collect/proc/remote_memory.h"

enum region_kind {
    REGION_ANONYMOUS,
    REGION_FILE, /* or memory that is shared in another way */
    REGION_STACK,
    REGION_HEAP,
    REGION_OURS /* shared with us, or libtidemark.so */
};

struct region {
    uint64_t start, end, offset;
    enum region_kind kind;
    bool readable, writable;
    bool is_libc;
};

struct memory {
    struct remote_memory remote; /* opened by memory_map */
    VEC(struct region) regions;  /* in order */
    struct address_set resident; /* of what is writable */
    bool residency;              /* that is known; else all of it is taken to be */
    bool only_written;           /* memory_find_written was asked: the rest reads as zeros */
    struct address_set written;  /* of resident, in order */
};

/* 0, or a negative errno: it may not be looked at, or is gone. */
int memory_map(struct memory *m, pid_t pid);
void memory_find_resident(struct memory *m);
/*
 * Of a forked process: which of those pages it has, or may have, written to since. The others it
 * still shares with its parent or its brothers, so they are as they were at the fork. Pages that a
 * process shares with children of its own cannot be told from those. false: it cannot be found out.
 */
bool memory_find_written(struct memory *m);
/* What of it is read; the rest are zeros. */
static inline const struct address_set *memory_there(const struct memory *m)
{
    return m->only_written ? &m->written : &m->resident;
}
/* The mapping that an address is in, or NULL. */
const struct region *memory_at(const struct memory *m, uint64_t address);
/* One after the other; zeros where nothing can be read. */
void memory_read(void *memory, const struct address_range *spans, size_t count, char *out);
/* 0, or a negative errno: can it be read at all? */
int memory_try(const struct memory *m);
void memory_release(struct memory *m);

#endif
