/*
 * roots: the places in a process, other than blocks, from which blocks can be reached.
 *
 * The roots are: data of the program and its libraries; files and shared memory that are mapped
 * writable; the stacks of its threads, from the stack pointer on; thread-local storage, and what
 * the loader allocated before malloc existed; the program's own mappings, also if they have become
 * read-only; and code that the program generated.
 *
 * The memory that an allocator mapped for itself is no root: it is full of stale and internal
 * pointers. It looks like any other mapping, so an anonymous mapping counts only if it is known to
 * be one of the above.
 *
 * Registers are roots too: stop_threads.h reads them, and scan.c passes them to reachability.h,
 * which follows the pointers.
 *
 * `everything` is set if there may be blocks that were never recorded. Then all memory counts as
 * roots, because blocks to which unrecorded blocks point must not be called lost.
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
    struct address_set mapped; /* memory mapped by the program and by the loader; must be settled */
    struct address_set own;    /* the recorder's memory; must be settled */
    VEC(struct root_thread) threads;
    bool everything;
};

/* Finds what the loader had allocated when the process connected. */
void roots_at_start(const struct memory *m, uint64_t thread_pointer, struct address_set *out);
/* Takes all roots except registers into `reach`, after reachability_ready. */
void roots_take(const struct root_facts *f, struct reachability *reach);

#endif
