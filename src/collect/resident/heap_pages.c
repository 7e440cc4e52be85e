#include "collect/resident/heap_pages.h"

#include <stdlib.h>

#include "collect/proc/glibc_layout.h"
#include "machine/page.h"
#include "store/mapping_kinds.h"

#define PAGE page_bytes()

/* --- which allocator it is -------------------------------------------------------------------- */

static bool is_glibc(const struct target *t)
{
    size_t like = 0, all = 0;
    for (size_t i = 0; i < t->ledger.accounts.count; i++) {
        const struct account *a = &t->ledger.accounts.items[i];
        if (a->domain != DOMAIN_HEAP || !a->unit.usable)
            continue;
        all++;
        like += glibc_has_size(a->unit.usable) || glibc_maps_alone(a->unit.usable);
    }
    return 2 * like >= all;
}

/* --- who mapped what -------------------------------------------------------------------------- */

static void add_claims(struct heap_pages *s, struct address_set *taken, uint64_t start,
                       uint64_t end, enum footprint_part part)
{
    struct address_set rest = {0};
    address_set_outside(taken, start, end, &rest);
    for (size_t i = 0; i < rest.items.count; i++)
        *vec_push(&s->claims) =
            (struct claim){rest.items.items[i].start, rest.items.items[i].end, part, false};
    address_set_release(&rest);
}

static int by_claim(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Collects the claims of the recorder first, then the program's, then the loader's. */
static void gather_claims(struct heap_pages *s, const struct target *t)
{
    struct address_set taken = {0}, announced = {0};
    target_own(t, &taken);
    for (size_t i = 0; i < taken.items.count; i++)
        *vec_push(&s->claims) = (struct claim){taken.items.items[i].start, taken.items.items[i].end,
                                               PART_RECORDER, false};
    for (size_t i = 0; i < t->program_mmaps.items.count; i++) {
        const struct program_mmap *r = &t->program_mmaps.items.items[i];
        bool arena = t->ledger.accounts.items[r->account].domain == DOMAIN_ARENA;
        add_claims(s, &taken, r->start, r->end, arena ? PART_ARENAS : PART_MAPPED);
        address_set_add(&announced, t->program_mmaps.items.items[i].start,
                        t->program_mmaps.items.items[i].end);
    }
    address_set_copy(&taken, &announced);
    address_set_settle(&taken);
    for (size_t i = 0; i < t->inheritance.maps.items.count; i++)
        add_claims(s, &taken, t->inheritance.maps.items.items[i].start,
                   t->inheritance.maps.items.items[i].end, PART_MAPPED);
    address_set_copy(&taken, &t->inheritance.maps);
    address_set_settle(&taken);
    for (size_t i = 0; i < t->scan.loader.items.count; i++)
        add_claims(s, &taken, t->scan.loader.items.items[i].start,
                   t->scan.loader.items.items[i].end, PART_DATA);
    address_set_release(&taken);
    address_set_release(&announced);
    if (s->claims.count)
        qsort(s->claims.items, s->claims.count, sizeof *s->claims.items, by_claim);
}

/* The index of the first claim that ends after an address. */
static size_t claim_after(const struct heap_pages *s, uint64_t address)
{
    size_t at;
    BISECT(at, s->claims.count, s->claims.items[at].end <= address);
    return at;
}

/* --- pages ------------------------------------------------------------------------------------ */

static void add_area(struct heap_pages *s, struct page_area a)
{
    a.first = s->page_count;
    s->page_count += (a.end - a.start) / PAGE;
    *vec_push(&s->list) = a;
}

/* Splits the area where somebody is known to have mapped a part of it. */
static void add_anonymous(struct heap_pages *s, struct page_area whole)
{
    for (size_t i = claim_after(s, whole.start); whole.start < whole.end; i++) {
        const struct claim *c = i < s->claims.count ? &s->claims.items[i] : NULL;
        struct page_area free = whole;
        free.end = c && c->start < whole.end ? c->start : whole.end;
        if (free.start < free.end)
            add_area(s, free);
        whole.start = free.start < free.end ? free.end : free.start;
        if (whole.start >= whole.end)
            return;
        struct page_area claimed = whole;
        claimed.end = c->end < whole.end ? c->end : whole.end;
        claimed.part = c->part;
        claimed.claim = i;
        claimed.heap = 0;
        if (claimed.start < claimed.end)
            add_area(s, claimed);
        whole.start = claimed.end;
    }
}

static enum footprint_part part_of(enum mapping_kind kind, const struct mapping *m, bool is_arena,
                                   bool is_file)
{
    switch (kind) {
    case KIND_HEAP: /* a stack that was merged with a large block stays a stack */
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

static void gather_pages(struct heap_pages *s, const struct footprint_reading *l,
                         const struct target *t, uint64_t parts[FOOTPRINT_PARTS])
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
        if (part == PART_UNKNOWN && !s->is_glibc)
            part = PART_FREE;
        struct page_area a = {.start = run->start,
                              .end = run->end,
                              .part = part,
                              .claim = NO_CLAIM,
                              .heap = s->is_glibc && (is_main || is_arena) ? m->start : 0,
                              .is_main = is_main};
        if (is_file || part == PART_RECORDER || part == PART_FILES || part == PART_KERNEL)
            parts[part] += run->end - run->start;
        else if (kinds[number] == KIND_HEAP || kinds[number] == KIND_ANONYMOUS)
            add_anonymous(s, a);
        else
            add_area(s, a);
    }
    free(kinds);
    vec_release(&view.mappings);
    strpool_release(&view.map_names);
}

size_t heap_pages_after(struct heap_pages *s, uint64_t address)
{
    const struct page_area *last = s->last < s->list.count ? &s->list.items[s->last] : NULL;
    if (last && address >= last->start && address < last->end)
        return s->last;
    size_t at;
    BISECT(at, s->list.count, s->list.items[at].end <= address);
    return s->last = at;
}

void heap_pages_find(struct heap_pages *s, const struct footprint_reading *l,
                     const struct target *t, uint64_t parts[FOOTPRINT_PARTS])
{
    *s = (struct heap_pages){.is_glibc = is_glibc(t)};
    gather_claims(s, t);
    gather_pages(s, l, t, parts);
}

void heap_pages_release(struct heap_pages *s)
{
    vec_release(&s->claims);
    vec_release(&s->list);
}
