/*
 * Pages and blocks brought together. Every resident page that may be the allocator's gets a place
 * in one array, in order of address, and each block adds what it takes to its pages' places: blocks
 * come in any order, and a page costs 6 bytes.
 */
#include <stdlib.h>

#include "collect/footprint.h"
#include "store/mapping_kinds.h"

#define PAGE        UINT64_C(4096)
#define PINS_MAX    16
#define FREE_HEADER 48 /* what glibc keeps at the beginning of a free block of many pages */
#define MUCH_FREE   (UINT64_C(64) << 10)
#define NO_CLAIM    SIZE_MAX
#define SHARE       65536 /* parts of a byte that free space is shared out in */

struct page_use {
    uint16_t live, other; /* bytes of blocks; what is added to them */
    uint16_t end;         /* of the last of either */
};

/* Somebody is known to have mapped it. */
struct claim {
    uint64_t start, end;
    enum footprint_part part;
    bool has_blocks;
};

/* Resident pages side by side. `part` is PART_FREE for the allocator's: what they are if no block
 * lies there. */
struct area {
    uint64_t start, end;
    size_t first; /* place of its first page */
    enum footprint_part part;
    size_t claim;  /* in claims, or NO_CLAIM */
    uint64_t heap; /* address of the arena it is part of; 0: of none, or not glibc's */
    bool is_main;  /* the arena that grows by brk */
};

struct share {
    uint64_t pinned; /* in parts of a byte */
    uint64_t bytes;
};

struct joining {
    struct footprint *footprint;
    VEC(struct claim) claims; /* in order, without overlaps */
    VEC(struct area) areas;   /* in order */
    struct page_use *pages;
    size_t page_count;
    size_t last;         /* area that was found last */
    struct share *sites; /* NULL: in the first pass */
    size_t site_count;
    bool is_glibc;
};

/* --- whose allocator it is -------------------------------------------------------------------- */

/* No other allocator has blocks that are 8 more than a multiple of 16. */
static bool is_size_of_glibc(uint64_t usable)
{
    return usable >= 24 && usable % 16 == 8;
}

static bool is_size_mapped_alone(uint64_t usable)
{
    return (usable + 16) % PAGE == 0;
}

static bool is_glibc(const struct target *t)
{
    size_t like = 0, all = 0;
    for (size_t i = 0; i < t->ledger.accounts.count; i++) {
        const struct site *s = &t->ledger.accounts.items[i].site;
        if (s->domain != DOMAIN_HEAP || !s->unit_usable)
            continue;
        all++;
        like += is_size_of_glibc(s->unit_usable) || is_size_mapped_alone(s->unit_usable);
    }
    return 2 * like >= all;
}

/* --- who mapped what -------------------------------------------------------------------------- */

static void add_claims(struct joining *j, struct extents *taken, uint64_t start, uint64_t end,
                       enum footprint_part part)
{
    struct extents rest = {0};
    extents_outside(taken, start, end, &rest);
    for (size_t i = 0; i < rest.items.count; i++)
        *vec_push(&j->claims) =
            (struct claim){rest.items.items[i].start, rest.items.items[i].end, part, false};
    extents_release(&rest);
}

static int by_claim(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* The recorder's first, then the program's, then the loader's. */
static void gather_claims(struct joining *j, const struct target *t)
{
    struct extents taken = {0}, announced = {0};
    target_own(t, &taken);
    for (size_t i = 0; i < taken.items.count; i++)
        *vec_push(&j->claims) = (struct claim){taken.items.items[i].start, taken.items.items[i].end,
                                               PART_RECORDER, false};
    for (size_t i = 0; i < t->ranges.items.count; i++) {
        add_claims(j, &taken, t->ranges.items.items[i].start, t->ranges.items.items[i].end,
                   PART_MAPPED);
        extents_add(&announced, t->ranges.items.items[i].start, t->ranges.items.items[i].end);
    }
    extents_copy(&taken, &announced);
    extents_settle(&taken);
    for (size_t i = 0; i < t->inherited_maps.items.count; i++)
        add_claims(j, &taken, t->inherited_maps.items.items[i].start,
                   t->inherited_maps.items.items[i].end, PART_MAPPED);
    extents_copy(&taken, &t->inherited_maps);
    extents_settle(&taken);
    for (size_t i = 0; i < t->loader.items.count; i++)
        add_claims(j, &taken, t->loader.items.items[i].start, t->loader.items.items[i].end,
                   PART_DATA);
    extents_release(&taken);
    extents_release(&announced);
    if (j->claims.count)
        qsort(j->claims.items, j->claims.count, sizeof *j->claims.items, by_claim);
}

/* The first claim that ends after an address. */
static size_t claim_after(const struct joining *j, uint64_t address)
{
    size_t low = 0, high = j->claims.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (j->claims.items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- pages ------------------------------------------------------------------------------------ */

static void add_area(struct joining *j, struct area a)
{
    a.first = j->page_count;
    j->page_count += (a.end - a.start) / PAGE;
    *vec_push(&j->areas) = a;
}

/* Cut where somebody is known to have mapped it. */
static void add_anonymous(struct joining *j, struct area whole)
{
    for (size_t i = claim_after(j, whole.start); whole.start < whole.end; i++) {
        const struct claim *c = i < j->claims.count ? &j->claims.items[i] : NULL;
        struct area free = whole;
        free.end = c && c->start < whole.end ? c->start : whole.end;
        if (free.start < free.end)
            add_area(j, free);
        whole.start = free.start < free.end ? free.end : free.start;
        if (whole.start >= whole.end)
            return;
        struct area claimed = whole;
        claimed.end = c->end < whole.end ? c->end : whole.end;
        claimed.part = c->part;
        claimed.claim = i;
        claimed.heap = 0;
        if (claimed.start < claimed.end)
            add_area(j, claimed);
        whole.start = claimed.end;
    }
}

static enum footprint_part part_of(enum mapping_kind kind, const struct mapping *m, bool is_arena,
                                   bool is_file)
{
    switch (kind) {
    case KIND_HEAP: /* a stack that was joined with a large block is still one */
        return m->flags & MAPPING_STACK && !is_arena && !m->name ? PART_STACKS : PART_FREE;
    case KIND_STACK:
        return PART_STACKS;
    case KIND_PROGRAM_TEXT:
    case KIND_LIBRARY_TEXT:
        return is_file ? PART_TEXT : PART_DATA;
    case KIND_PROGRAM_DATA:
    case KIND_LIBRARY_DATA:
        return PART_DATA;
    case KIND_FILE:
        return PART_FILES;
    case KIND_SHARED:
        return PART_SHARED;
    case KIND_KERNEL:
        return PART_KERNEL;
    case KIND_OWN:
        return PART_RECORDER;
    default:
        return PART_UNKNOWN;
    }
}

static void gather_pages(struct joining *j, const struct footprint_look *l, const struct target *t)
{
    struct profile view = {.executable = t->profile.executable};
    struct capture all = {.count = l->mappings.items.count};
    view.modules = t->profile.modules;
    strpool_add(&view.map_names, "");
    for (size_t i = 0; i < all.count; i++) {
        struct mapping *m = vec_push(&view.mappings);
        *m = l->mappings.items.items[i].mapping;
        m->name = strpool_add(&view.map_names, l->mappings.items.items[i].name);
    }
    enum mapping_kind *kinds = mapping_kinds(&view, &all);
    for (size_t i = 0; i < l->runs.items.count; i++) {
        const struct page_run *run = &l->runs.items.items[i];
        size_t number = l->mapping_of.items[i];
        const struct mapping *m = &view.mappings.items[number];
        bool is_main = kinds[number] == KIND_HEAP && m->name;
        bool is_arena = kinds[number] == KIND_HEAP &&
                        (mapping_is_arena(view.mappings.items, number, all.count) ||
                         (m->start % MAPPING_ARENA == 0 && m->end - m->start >= MAPPING_ARENA));
        bool is_file = run->flags & PAGE_OF_FILE;
        enum footprint_part part = part_of(kinds[number], m, is_arena || is_main, is_file);
        if (part == PART_UNKNOWN && !j->is_glibc)
            part = PART_FREE;
        struct area a = {.start = run->start,
                         .end = run->end,
                         .part = part,
                         .claim = NO_CLAIM,
                         .heap = j->is_glibc && (is_main || is_arena) ? m->start : 0,
                         .is_main = is_main};
        if (is_file || part == PART_RECORDER || part == PART_FILES || part == PART_KERNEL)
            j->footprint->parts[part] += run->end - run->start;
        else if (kinds[number] == KIND_HEAP || kinds[number] == KIND_ANONYMOUS)
            add_anonymous(j, a);
        else
            add_area(j, a);
    }
    free(kinds);
    vec_release(&view.mappings);
    strpool_release(&view.map_names);
    j->pages = xcalloc(j->page_count + 1, sizeof *j->pages);
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* The first area that ends after an address. */
static size_t area_after(struct joining *j, uint64_t address)
{
    const struct area *last = j->last < j->areas.count ? &j->areas.items[j->last] : NULL;
    if (last && address >= last->start && address < last->end)
        return j->last;
    size_t low = 0, high = j->areas.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (j->areas.items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return j->last = low;
}

static uint64_t overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
    start = start > from ? start : from;
    end = end < to ? end : to;
    return end > start ? end - start : 0;
}

/* [start, end) is in use, on those pages that are there. */
static void use(struct joining *j, uint64_t start, uint64_t end, bool live)
{
    for (size_t i = area_after(j, start); i < j->areas.count && j->areas.items[i].start < end;
         i++) {
        const struct area *a = &j->areas.items[i];
        uint64_t at = a->start > start ? a->start : start;
        while (at < end && at < a->end) {
            uint64_t page = at & ~(PAGE - 1), to = end < page + PAGE ? end : page + PAGE;
            struct page_use *u = &j->pages[a->first + (page - a->start) / PAGE];
            uint16_t *bytes = live ? &u->live : &u->other;
            uint64_t room = PAGE - u->live - u->other; /* blocks may overlap while it runs */
            *bytes = (uint16_t)(*bytes + (to - at < room ? to - at : room));
            u->end = to - page > u->end ? (uint16_t)(to - page) : u->end;
            at = to;
        }
    }
}

/* What glibc has in front of a block. */
static uint64_t header_of(const struct block *b)
{
    if (is_size_of_glibc(b->usable) && b->address % 16 == 0)
        return 8;
    return b->address % PAGE == 16 && is_size_mapped_alone(b->usable) ? 16 : 0;
}

static void use_block(void *context, const struct block *b)
{
    struct joining *j = context;
    uint64_t end = b->address + b->size, usable = b->usable > b->size ? b->usable : b->size;
    use(j, b->address - header_of(b), b->address, false);
    use(j, b->address, end, true);
    use(j, end, b->address + usable, false);
}

static uint64_t used(const struct page_use *u)
{
    return (uint64_t)u->live + u->other;
}

/* Its share of what is free on the page that holds an address. */
static void pin_page(struct joining *j, const struct block *b, uint64_t start, uint64_t end,
                     uint64_t address)
{
    uint64_t page = address & ~(PAGE - 1);
    size_t i = area_after(j, page);
    if (i == j->areas.count || j->areas.items[i].start > page || b->site >= j->site_count)
        return;
    const struct page_use *u =
        &j->pages[j->areas.items[i].first + (page - j->areas.items[i].start) / PAGE];
    uint64_t own = overlap(start, end, page, page + PAGE), all = used(u);
    own = own < all ? own : all;
    if (!all || all >= PAGE)
        return;
    j->sites[b->site].pinned += (PAGE - all) * SHARE * own / all;
    j->sites[b->site].bytes += own;
}

/* Pages in the middle of a block have nothing free. */
static void pin_block(void *context, const struct block *b)
{
    struct joining *j = context;
    uint64_t start = b->address - header_of(b);
    uint64_t end = b->address + (b->usable > b->size ? b->usable : b->size);
    if (end <= start)
        return;
    pin_page(j, b, start, end, start);
    if ((end - 1) / PAGE != start / PAGE)
        pin_page(j, b, start, end, end - 1);
}

static int by_pinned(const void *a, const void *b)
{
    const struct pin *x = a, *y = b;
    if (x->pinned != y->pinned)
        return x->pinned > y->pinned ? -1 : 1;
    return (x->site > y->site) - (x->site < y->site);
}

static void add_pins(struct joining *j, struct target *t)
{
    struct profile *p = &t->profile;
    VEC(struct pin) all = {0};
    j->site_count = t->ledger.accounts.count;
    j->sites = xcalloc(j->site_count + 1, sizeof *j->sites);
    blocks_each(&t->blocks, pin_block, j);
    for (size_t i = 0; i < j->site_count; i++)
        if (j->sites[i].pinned >= SHARE)
            *vec_push(&all) =
                (struct pin){(uint32_t)i, j->sites[i].pinned / SHARE, j->sites[i].bytes};
    if (all.count)
        qsort(all.items, all.count, sizeof *all.items, by_pinned);
    j->footprint->first_pin = p->pins.count;
    j->footprint->pin_count = all.count < PINS_MAX ? all.count : PINS_MAX;
    for (size_t i = 0; i < j->footprint->pin_count; i++)
        *vec_push(&p->pins) = all.items[i];
    vec_release(&all);
    free(j->sites);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* What the program mapped and live blocks lie in, its allocator mapped. */
static void settle_claims(struct joining *j)
{
    for (size_t i = 0; i < j->areas.count; i++) {
        const struct area *a = &j->areas.items[i];
        if (a->claim == NO_CLAIM || a->part != PART_MAPPED)
            continue;
        for (size_t k = 0; k < (a->end - a->start) / PAGE; k++)
            j->claims.items[a->claim].has_blocks |= used(&j->pages[a->first + k]) > 0;
    }
    for (size_t i = 0; i < j->areas.count; i++) {
        struct area *a = &j->areas.items[i];
        if (a->claim != NO_CLAIM && j->claims.items[a->claim].has_blocks)
            a->part = PART_FREE;
    }
}

static void sum_pages(struct joining *j)
{
    uint64_t *parts = j->footprint->parts;
    for (size_t i = 0; i < j->areas.count; i++) {
        const struct area *a = &j->areas.items[i];
        for (size_t k = 0; k < (a->end - a->start) / PAGE; k++) {
            const struct page_use *u = &j->pages[a->first + k];
            if (!used(u)) {
                parts[a->part] += PAGE;
                continue;
            }
            parts[PART_LIVE] += u->live;
            parts[PART_ROUNDING] += u->other;
            parts[PART_HELD] += PAGE - used(u);
        }
    }
}

/* An arena's areas: [first, end). */
struct arena {
    size_t first, end;
    bool is_main;
};

/*
 * malloc_trim gives back the whole pages inside free blocks, but for their headers; of all arenas
 * but the first it leaves the end alone. An arena's own bookkeeping is at its beginning.
 */
static void sum_arena(struct joining *j, struct arena r)
{
    uint64_t last_used = 0, free_bytes = 0, trimmed = 0, before = 0, before_end = 0;
    for (size_t i = r.first; i < r.end; i++) {
        const struct area *a = &j->areas.items[i];
        for (size_t k = 0; k < (a->end - a->start) / PAGE; k++)
            if (used(&j->pages[a->first + k]))
                last_used = a->start + k * PAGE;
    }
    for (size_t i = r.first; i < r.end; i++) {
        const struct area *a = &j->areas.items[i];
        for (size_t k = 0; k < (a->end - a->start) / PAGE; k++) {
            const struct page_use *u = &j->pages[a->first + k];
            uint64_t page = a->start + k * PAGE;
            if (used(u)) {
                before = page;
                before_end = u->end;
                continue;
            }
            if (a->part != PART_FREE)
                continue;
            bool header = before + PAGE == page && before_end + FREE_HEADER > PAGE;
            bool given = !header && page != a->heap && (r.is_main || page < last_used);
            free_bytes += PAGE;
            trimmed += given ? PAGE : 0;
        }
    }
    j->footprint->trim_bytes += trimmed;
    j->footprint->arenas += free_bytes >= MUCH_FREE;
}

static bool same_arena(const struct area *a, const struct area *b)
{
    return a->heap == b->heap && a->start / MAPPING_ARENA == b->start / MAPPING_ARENA;
}

static void sum_arenas(struct joining *j)
{
    for (size_t i = 0; i < j->areas.count;) {
        const struct area *a = &j->areas.items[i];
        struct arena r = {.first = i, .end = i + 1, .is_main = a->is_main};
        while (r.end < j->areas.count && (a->is_main ? j->areas.items[r.end].heap == a->heap
                                                     : same_arena(a, &j->areas.items[r.end])))
            r.end++;
        if (a->heap)
            sum_arena(j, r);
        i = r.end;
    }
}

void footprint_join(struct footprint_look *l, struct target *t, struct footprint *f)
{
    struct joining j = {.footprint = f, .is_glibc = is_glibc(t)};
    gather_claims(&j, t);
    gather_pages(&j, l, t);
    blocks_each(&t->blocks, use_block, &j);
    for (size_t i = 0; i < t->inherited.count; i++)
        blocks_each(&t->inherited.items[i], use_block, &j);
    settle_claims(&j);
    sum_pages(&j);
    sum_arenas(&j);
    add_pins(&j, t);
    vec_release(&j.claims);
    vec_release(&j.areas);
    free(j.pages);
}
