/*
 * footprint: what a process's resident memory consists of, page by page: which pages are resident
 * (pagemap), to whom they belong (maps, and what the recorder knows), and which live blocks lie on
 * them.
 *
 * These mappings belong to the allocator:
 * - [heap]
 * - what looks like an arena of glibc (64 MiB, aligned, its end reserved)
 * - any other anonymous mapping with a live block in it: large blocks, and the memory of jemalloc,
 *   tcmalloc and mimalloc
 * - if the sizes of blocks show that one of these three is in use: any anonymous mapping whose
 *   origin is unknown. (The hooks see what the program maps itself, and glibc keeps no other.)
 *
 * The kernel merges neighbouring mappings, so some parts of them do not belong to the allocator:
 * what the program mapped itself, unless it holds a live block; what the loader mapped before
 * malloc existed; and the recorder's own. A page with a live block on it always belongs to the
 * allocator. A stack that the kernel has merged with a large block counts as a stack, except for
 * pages with a live block.
 *
 * Footprints are taken when the program begins to end, at snapshots, soon after marks, and now and
 * then. At the end the program is stopped and the account is exact. Otherwise the program runs, and
 * what it allocates or frees meanwhile counts as free: moved_bytes, the change of RSS and of the
 * heap, is the bound of that error. The first mark always gets a footprint, later ones as often as
 * 2 % of one processor allows. At most FOOTPRINTS_MAX are kept: if there are more, every second one
 * is dropped, but never the first and the last.
 *
 * How large RSS is, and how it changes over time, is read by resident/process_sizes.h; a capture of
 * the mappings is taken by resident/maps.h.
 *
 * footprint_read reads the process and its blocks; footprint_finish adds the result to the profile.
 * No events may be read in between.
 */
#ifndef TIDE_COLLECT_RESIDENT_FOOTPRINT_H
#define TIDE_COLLECT_RESIDENT_FOOTPRINT_H

#include "base/strbuf.h"
#include "collect/proc/pagemap.h"
#include "collect/proc/smaps.h"
#include "collect/counting/target.h"

#define FOOTPRINTS_MAX 64

struct footprint_reading {
    struct strbuf text; /* names of mappings point into it */
    struct proc_mappings mappings;
    struct page_runs runs;      /* resident pages, in order */
    VEC(uint32_t) mapping_of;   /* for each run: index of its mapping */
    struct footprint footprint; /* its pins are already in the profile */
    uint64_t cost_ns;           /* processor time that the reading took */
};

/* Call it after target_drain. `exact`: the process is stopped. If the process cannot be read,
 * footprint_finish adds nothing. */
void footprint_read(struct footprint_reading *l, struct target *t, enum footprint_kind kind,
                    uint64_t now_ns, bool exact);
void footprint_finish(struct footprint_reading *l, struct target *t);
/* Takes a footprint of a running process, and reads its events as well. */
void footprint_take(struct target *t, enum footprint_kind kind, uint64_t now_ns);
/* The estimated cost of one footprint, in processor time. */
uint64_t footprint_cost_ns(const struct target *t);
void footprint_if_due(struct target *t, uint64_t now_ns);
/* Has a footprint been taken at the program's end? */
bool footprint_has_exit(const struct target *t);

/* Drops every second footprint, except the first and the last. */
void footprint_thin_out(struct profile *p);

/* In footprint_join.c: fills parts, trim and arenas, and adds pins. */
void footprint_join(const struct footprint_reading *l, struct target *t, struct footprint *f);

#endif
