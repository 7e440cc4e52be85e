/*
 * footprint: what a process's resident memory is made of, page by page: which pages are there
 * (pagemap), who they belong to (maps and what the recorder knows), and what live blocks lie on
 * them.
 *
 * The allocator's memory is: [heap]; what looks like an arena of glibc's (64 MiB, aligned, the end
 * of it reserved); any other anonymous mapping in which a live block lies, as those of large blocks
 * and of jemalloc, tcmalloc and mimalloc do. Under those, which is told by the sizes of blocks, it
 * is also any anonymous memory that nobody is known to have mapped: what the program maps itself is
 * seen, and glibc keeps none. From such a mapping are taken out: what the program
 * itself mapped (the kernel joins neighbours), unless a live block lies in that too; what the
 * loader mapped before there was a malloc; the recorder's. And whatever a mapping is, a page on
 * which a live block lies is the allocator's. Stacks that the kernel has joined with a large block
 * stay stacks but for such pages.
 *
 * When: when the program begins to end, at snapshots, soon after marks, and now and then. At its
 * end it stands still, and the account is exact. Otherwise it goes on while it is looked at: what
 * it allocates meanwhile counts as free. Marks are accounted for as often as 2 % of one processor
 * allow; the first always. FOOTPRINTS_MAX are kept: of more, every second goes but for the first
 * and the last.
 *
 * footprint_look reads the process; footprint_finish sums up, and needs it no more. No events may
 * be read in between.
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
    struct footprint footprint; /* kind, time and RSS */
    uint64_t cost_ns;           /* that it took */
};

/* After target_drain. `exact`: it stands still. If it cannot be looked at, nothing comes of it. */
void footprint_look(struct footprint_look *l, struct target *t, enum footprint_kind kind,
                    uint64_t now_ns, bool exact);
void footprint_finish(struct footprint_look *l, struct target *t);
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
