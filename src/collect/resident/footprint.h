/*
 * footprint: what a process's resident memory is made of, page by page: which pages are there
 * (pagemap), who they belong to (maps and what the recorder knows), and what live blocks lie on
 * them.
 *
 * These mappings belong to the allocator:
 *
 * - [heap]
 * - what looks like an arena of glibc (64 MiB, aligned, its end reserved)
 * - any other anonymous mapping with a live block in it: large blocks, and the memory of jemalloc,
 *   tcmalloc and mimalloc
 * - if the sizes of blocks show that one of these three is in use: any anonymous mapping that
 *   nobody is known to have made. (The hooks see what the program maps itself, and glibc keeps no
 *   other.)
 *
 * The kernel joins neighbouring mappings, so parts of them are taken out again: what the program
 * mapped itself, unless it holds a live block; what the loader mapped before there was a malloc;
 * and the recorder's own. A page with a live block on it is always the allocator's. A stack that
 * the kernel has joined with a large block stays a stack, except for such pages.
 *
 * Footprints are taken when the program begins to end, at snapshots, soon after marks, and now and
 * then. At the end the program stands still and the account is exact. Otherwise it runs on, and
 * what it allocates or frees meanwhile counts as free: how much RSS and the heap changed is a bound of
 * that (moved_bytes). The first mark always gets a footprint, later
 * ones as often as 2 % of one processor allows. At most FOOTPRINTS_MAX are kept: if there are more,
 * every second one is dropped, but never the first and the last.
 *
 * footprint_look reads the process and its blocks; footprint_finish adds what came of it to the
 * profile. No events may be read in between.
 */
#ifndef TIDE_COLLECT_RESIDENT_FOOTPRINT_H
#define TIDE_COLLECT_RESIDENT_FOOTPRINT_H

#include "base/strbuf.h"
#include "collect/proc/pagemap.h"
#include "collect/proc/smaps.h"
#include "collect/counting/target.h"

#define FOOTPRINTS_MAX 64

struct footprint_look {
    struct strbuf text; /* what names of mappings point to */
    struct proc_mappings mappings;
    struct page_runs runs;      /* resident, in order */
    VEC(uint32_t) mapping_of;   /* each of them */
    struct footprint footprint; /* its pins are in the profile already */
    uint64_t cost_ns;           /* that it took */
};

/* After target_drain. `exact`: it stands still. If it cannot be looked at, nothing comes of it. */
void footprint_look(struct footprint_look *l, struct target *t, enum footprint_kind kind,
                    uint64_t now_ns, bool exact);
void footprint_finish(struct footprint_look *l, struct target *t);
/* While it runs; reads its events, too. */
void footprint_take(struct target *t, enum footprint_kind kind, uint64_t now_ns);
/* An estimate of what one costs, in processor time. */
uint64_t footprint_cost_ns(const struct target *t);
void footprint_if_due(struct target *t, uint64_t now_ns);
/* Has the end of the program been accounted for? */
bool footprint_has_exit(const struct target *t);

/* Every second one goes, but for the first and the last. */
void footprint_thin_out(struct profile *p);

/* footprint_join.c: fills parts, trim and arenas, and adds pins. */
void footprint_join(const struct footprint_look *l, struct target *t, struct footprint *f);

#endif
