#include "collect/resident/footprint.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "collect/resident/map_facts.h"
#include "collect/resident/process_sizes.h"

#define COST_BLOCK_NS 65
#define COST_PAGE_NS  20
#define FIRST_NS      20000000  /* most processes of a build or a pipeline have ended by then */
#define APART_NS      500000000 /* the first distance, where there are no marks */
/* The pause is so many times the cost of the last one: 2 % of a processor. */
#define APART_COST 50
/* The same factor where the user did not ask: only processes that are killed need these. */
#define PERIODIC_COST 200
#define TRIES         3   /* attempts to read events and pages without a change in between */
#define MOVED_SHARE   100 /* a change is more than one part in so many */
#define RESERVE_BYTES (UINT64_C(1) << 30)

/* --- reading a process ------------------------------------------------------------------------ */

/* Pages that the kernel mapped for itself, and those of hugetlbfs, are not part of RSS. */
static bool is_resident_memory(const struct proc_mapping *m)
{
    return !text_begins(m->name, "[vvar") && !text_begins(m->name, "[vsyscall") &&
           !text_begins(m->name, "/anon_hugepage");
}

/* There may be very many pages that are only reserved, and older kernels list them one by one. */
static bool is_reserve(const struct proc_mapping *m)
{
    return !(m->mapping.flags & (MAPPING_READ | MAPPING_WRITE | MAPPING_EXECUTE)) &&
           m->mapping.end - m->mapping.start > RESERVE_BYTES;
}

static bool find_pages(struct footprint_reading *l, pid_t pid)
{
    int fd = pagemap_open(pid);
    bool known = fd >= 0;
    for (size_t i = 0; known && i < l->mappings.items.count; i++) {
        struct proc_mapping *m = &l->mappings.items.items[i];
        size_t first = l->runs.items.count, kept = first;
        if (!is_resident_memory(m) || is_reserve(m))
            continue;
        known = pagemap_runs(fd, m->mapping.start, m->mapping.end, PAGE_PRESENT,
                             PAGE_PRESENT | PAGE_OF_FILE | PAGE_ZERO, &l->runs);
        for (size_t k = first; k < l->runs.items.count; k++) {
            struct page_run run = l->runs.items.items[k];
            if (run.flags & PAGE_ZERO)
                continue;
            uint64_t kib = (run.end - run.start) / 1024;
            m->mapping.kib[MAPPING_RSS] += kib;
            m->mapping.kib[MAPPING_ANONYMOUS] += run.flags & PAGE_OF_FILE ? 0 : kib;
            l->runs.items.items[kept++] = run;
            *vec_push(&l->mapping_of) = (uint32_t)i;
        }
        l->runs.items.count = kept;
    }
    if (fd >= 0)
        close(fd);
    return known;
}

/* statm may be off by some pages per processor. Walking over all pages is exact, but takes
 * longer. */
static uint64_t rss_of(struct target *t, bool exact)
{
    struct strbuf text = {0};
    struct proc_mappings all = {0};
    struct stamp s = {0};
    if (exact && t->still)
        return t->still->rss_bytes;
    if (exact)
        proc_read_mappings(t->pid, "smaps_rollup", &text, &all);
    if (all.items.count)
        s.rss_bytes = all.items.items[0].mapping.kib[MAPPING_RSS] * 1024;
    else
        process_sizes_read(t, 0, &s);
    vec_release(&all.items);
    strbuf_release(&text);
    return s.rss_bytes;
}

static void footprint_reading_release(struct footprint_reading *l)
{
    strbuf_release(&l->text);
    vec_release(&l->mappings.items);
    vec_release(&l->runs.items);
    vec_release(&l->mapping_of);
    *l = (struct footprint_reading){0};
}

void footprint_read(struct footprint_reading *l, struct target *t, enum footprint_kind kind,
                    uint64_t now_ns, bool exact)
{
    uint64_t begun = monotonic_ns();
    if (kind != FOOTPRINT_EXIT) /* at the end, the scan has done so */
        drain_counters(t);
    *l = (struct footprint_reading){
        .footprint = {.kind = (uint32_t)kind, .time_ns = now_ns, .exact = exact}};
    if (t->still)
        proc_still_copy(t->still, &l->text, &l->mappings);
    else
        proc_read_mappings(t->pid, "maps", &l->text, &l->mappings);
    if (!find_pages(l, t->pid))
        l->mappings.items.count = 0;
    if (l->mappings.items.count) {
        l->footprint.rss_bytes = rss_of(t, exact);
        block_index_hold(t);
        if (!t->still) /* those are marked */
            map_facts_mark(t, &l->mappings);
        footprint_join(l, t, &l->footprint);
        block_index_release(t);
    }
    l->cost_ns = monotonic_ns() - begun;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The live bytes, as the program counts them at this moment. */
static uint64_t live_now(struct target *t)
{
    uint64_t live = t->header ? atomic_load(&t->header->totals.live_bytes) : 0;
    /* A thread may report its frees before another reports the allocations. */
    return live <= INT64_MAX ? live : 0;
}

/*
 * Reads the counters first, then the pages, then the blocks. What the program allocates or frees in
 * between would count as free, so this is repeated if RSS or the heap has changed meanwhile, unless
 * nobody asked for it. If the program changes too fast, the amount of change is stored with the
 * result.
 */
static void read_running(struct footprint_reading *l, struct target *t, enum footprint_kind kind,
                         uint64_t time_ns)
{
    uint64_t cost_ns = 0;
    for (int i = 0; i < (kind == FOOTPRINT_PERIODIC ? 1 : TRIES); i++) {
        struct stamp before = {0};
        uint64_t begun = monotonic_ns();
        uint64_t now_ns = begun - t->start_monotonic_ns;
        if (i > 0) {
            if (l->mappings.items.count)
                t->profile.pins.count = l->footprint.first_pin;
            footprint_reading_release(l);
        }
        process_sizes_read(t, now_ns, &before);
        target_pass(t, now_ns); /* the program goes on: nothing must end now */
        uint64_t live = live_now(t);
        footprint_read(l, t, kind, kind == FOOTPRINT_SNAPSHOT ? time_ns : now_ns, false);
        l->footprint.live_bytes = live_now(t);
        uint64_t heap_moved = apart(l->footprint.live_bytes, live);
        l->footprint.moved_bytes = apart(l->footprint.rss_bytes, before.rss_bytes);
        if (heap_moved > l->footprint.moved_bytes)
            l->footprint.moved_bytes = heap_moved;
        cost_ns += monotonic_ns() - begun;
        if (l->footprint.moved_bytes <= l->footprint.rss_bytes / MOVED_SHARE)
            break;
    }
    l->cost_ns = cost_ns;
}

/* --- storing footprints ----------------------------------------------------------------------- */

void footprint_thin_out(struct profile *p)
{
    size_t kept = 0, pins = 0;
    for (size_t i = 0; i < p->footprints.count; i++) {
        struct footprint f = p->footprints.items[i];
        if (!thinning_keeps(i, p->footprints.count))
            continue;
        if (f.pin_count)
            memmove(p->pins.items + pins, p->pins.items + f.first_pin,
                    f.pin_count * sizeof *p->pins.items);
        f.first_pin = pins;
        pins += f.pin_count;
        p->footprints.items[kept++] = f;
    }
    p->footprints.count = kept;
    p->pins.count = pins;
}

void footprint_finish(struct footprint_reading *l, struct target *t)
{
    struct profile *p = &t->profile;
    uint64_t begun = monotonic_ns();
    t->footprint.marks = t->marks.pending.count;
    if (l->mappings.items.count) {
        struct footprint f = l->footprint;
        /* Blocks that were freed during the reading are not among those that were seen. */
        if (f.kind == FOOTPRINT_EXIT || f.live_bytes > ledger_now(&t->ledger).bytes)
            f.live_bytes = ledger_now(&t->ledger).bytes;
        f.partial = target_may_lack_blocks(t);
        *vec_push(&p->footprints) = f;
    }
    if (p->footprints.count > FOOTPRINTS_MAX) {
        footprint_thin_out(p);
        t->footprint.due.apart_ns *= 2;
    }
    uint64_t now_ns = l->footprint.time_ns;
    uint64_t cost_ns = l->cost_ns + monotonic_ns() - begun, rest = cost_ns * APART_COST;
    if (!t->footprint.due.apart_ns)
        t->footprint.due.apart_ns = rest;
    rest = rest > t->footprint.due.apart_ns ? rest : t->footprint.due.apart_ns;
    t->footprint.due.rest_ns = now_ns + rest;
    rest = rest > cost_ns * PERIODIC_COST ? rest : cost_ns * PERIODIC_COST;
    t->footprint.due.next_ns = now_ns + (rest > APART_NS ? rest : APART_NS);
    footprint_reading_release(l);
}

void footprint_take(struct target *t, enum footprint_kind kind, uint64_t now_ns)
{
    struct footprint_reading l;
    if (t->profile.sample_bytes)
        return; /* the addresses of blocks are unknown */
    read_running(&l, t, kind, now_ns);
    footprint_finish(&l, t);
}

uint64_t footprint_cost_ns(const struct target *t)
{
    uint64_t blocks = block_index_count(t) + block_index_count_inherited(t);
    return blocks * COST_BLOCK_NS + process_sizes_resident_pages(t) * COST_PAGE_NS;
}

void footprint_if_due(struct target *t, uint64_t now_ns)
{
    if (!t->header || t->profile.sample_bytes ||
        (footprint_has_exit(t) &&
         !target_went_on(t, vec_last(&t->profile.footprints)->time_ns, now_ns)))
        return;                       /* the end may take a while */
    bool first = !t->footprint.marks; /* first footprint of a mark */
    if (t->marks.pending.count != t->footprint.marks &&
        (first || now_ns >= t->footprint.due.rest_ns))
        footprint_take(t, FOOTPRINT_MARK, now_ns);
    else if (now_ns >= FIRST_NS && now_ns >= t->footprint.due.next_ns &&
             /* The process may have grown much since. */
             now_ns >= footprint_cost_ns(t) * PERIODIC_COST)
        footprint_take(t, FOOTPRINT_PERIODIC, now_ns);
}

bool footprint_has_exit(const struct target *t)
{
    if (t->profile.sample_bytes)
        return true; /* there will be no more marks */
    return t->profile.footprints.count && vec_last(&t->profile.footprints)->kind == FOOTPRINT_EXIT;
}
