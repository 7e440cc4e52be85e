/*
 * roots: from where in a process blocks can be reached, other than from blocks.
 *
 * Data of the program and its libraries, files and shared memory that is mapped for writing; the
 * stacks of its threads, from the stack pointer on; thread-local storage and what the loader
 * allocated before malloc was there; the program's own mappings.
 *
 * Not the memory that an allocator got for itself. It has stale and internal pointers in it, and
 * there is no telling it from other mappings by its looks; so an anonymous mapping counts only if
 * it is known to be one of the above. `everything`: blocks may exist that were never announced.
 * Then all memory counts: what they point to must not be called lost.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_ROOTS_H
#define TIDE_COLLECT_LEAKSCAN_ROOTS_H

#include "collect/leakscan/memory.h"
#include "collect/leakscan/reachability.h"

struct root_thread {
    uint64_t stack, pointer; /* as in stop_threads.h */
};

struct root_facts {
    const struct memory *memory;
    struct address_set mapped; /* by the program, and by the loader; settled */
    struct address_set own;    /* the recorder's; settled */
    VEC(struct root_thread) threads;
    bool everything;
};

/* What the loader had got when the process said hello. */
void roots_at_start(const struct memory *m, uint64_t thread_pointer, struct address_set *out);
/* Takes all roots but registers into `reach`, which is ready. */
void roots_take(const struct root_facts *f, struct reachability *reach);

#endif
