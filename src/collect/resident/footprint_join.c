/*
 * Joins pages and blocks. Every resident page that may be the allocator's has an entry in one
 * array, in order of address, and each block adds its bytes to the entries of its pages. A page of
 * 4 KiB costs 6 bytes.
 */
#include <stdlib.h>

#include "collect/proc/glibc_layout.h"
#include "collect/resident/heap_pages.h"
#include "machine/page.h"
#include "store/mapping_kinds.h"

#define PAGE      page_bytes()
#define PINS_MAX  16
#define MUCH_FREE (UINT64_C(64) << 10)
#define SHARE     65536 /* the fractions of a byte in which free space is shared out */

#if ARCH_PAGE_LARGEST <= UINT16_MAX
typedef uint16_t in_page; /* a number of bytes of a page, at most all of them */
#else
typedef uint32_t in_page;
#endif

struct page_use {
    in_page live, other; /* bytes of blocks; headers and padding around them */
    in_page end;         /* where the last of either ends */
};

struct share {
    uint64_t pinned; /* in fractions of a byte */
    uint64_t bytes;
};

struct joining {
    struct footprint *footprint;
    struct heap_pages heap;
    struct page_use *pages;
    struct share *sites; /* for each site: what its blocks keep resident */
    size_t site_count;
};

/* --- blocks ----------------------------------------------------------------------------------- */

static uint64_t overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
    start = start > from ? start : from;
    end = end < to ? end : to;
    return end > start ? end - start : 0;
}

static uint64_t used(const struct page_use *u)
{
    return (uint64_t)u->live + u->other;
}

/* The entry of a page; NULL: the page is not listed. */
static struct page_use *page_at(struct joining *j, uint64_t page)
{
    size_t i = heap_pages_after(&j->heap, page);
    const struct page_area *a = i < j->heap.list.count ? &j->heap.list.items[i] : NULL;
    return a && a->start <= page ? &j->pages[a->first + (page - a->start) / PAGE] : NULL;
}

/* A block with its header and padding. */
struct extended {
    uint64_t start, end;           /* with header and all usable bytes */
    uint64_t live_start, live_end; /* the bytes that were asked for */
};

static struct extended extended(const struct block *b)
{
    uint64_t header = glibc_header(b->address, b->usable);
    uint64_t usable = b->usable > b->size ? b->usable : b->size;
    return (struct extended){b->address - header, b->address + usable, b->address,
                             b->address + b->size};
}

static void use_page(struct page_use *u, const struct extended *b, uint64_t page)
{
    uint64_t all = overlap(b->start, b->end, page, page + PAGE);
    uint64_t live = overlap(b->live_start, b->live_end, page, page + PAGE);
    uint64_t room = PAGE - used(u); /* blocks may overlap while the process runs */
    all = all < room ? all : room;
    live = live < all ? live : all;
    u->live = (in_page)(u->live + live);
    u->other = (in_page)(u->other + (all - live));
    uint64_t end = b->end - page < PAGE ? b->end - page : PAGE;
    u->end = end > u->end ? (in_page)end : u->end;
}

static void use_block(void *context, const struct block *block, bool inherited)
{
    struct joining *j = context;
    (void)inherited;
    struct extended b = extended(block);
    uint64_t first = b.start & ~(PAGE - 1);
    if (b.end > b.start && b.end - first <= PAGE) { /* true for nearly all blocks */
        struct page_use *u = page_at(j, first);
        if (u)
            use_page(u, &b, first);
        return;
    }
    for (size_t i = heap_pages_after(&j->heap, first);
         i < j->heap.list.count && j->heap.list.items[i].start < b.end; i++) {
        const struct page_area *a = &j->heap.list.items[i];
        uint64_t page = a->start > first ? a->start : first;
        for (; page < b.end && page < a->end; page += PAGE)
            use_page(&j->pages[a->first + (page - a->start) / PAGE], &b, page);
    }
}

/* Charges a block with its share of the free space on a page. */
static void pin_page(struct joining *j, struct share *site, const struct extended *b, uint64_t page)
{
    const struct page_use *u = page_at(j, page);
    uint64_t own = overlap(b->start, b->end, page, page + PAGE), all = u ? used(u) : 0;
    own = own < all ? own : all;
    if (!all || all >= PAGE)
        return;
    site->pinned += (PAGE - all) * SHARE * own / all;
    site->bytes += own;
}

/* Pages in the middle of a block have no free space. */
static void pin_block(void *context, const struct block *block, bool inherited)
{
    struct joining *j = context;
    struct extended b = extended(block);
    uint64_t first = b.start & ~(PAGE - 1), last = (b.end - 1) & ~(PAGE - 1);
    if (inherited || b.end <= b.start || block->site >= j->site_count)
        return;
    pin_page(j, &j->sites[block->site], &b, first);
    if (last != first)
        pin_page(j, &j->sites[block->site], &b, last);
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
    block_index_each(t, pin_block, j);
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

/* If live blocks lie in what the program mapped, it was its allocator that mapped it. */
static void settle_claims(struct joining *j)
{
    for (size_t i = 0; i < j->heap.list.count; i++) {
        const struct page_area *a = &j->heap.list.items[i];
        if (a->claim == NO_CLAIM || a->part != PART_MAPPED)
            continue;
        for (size_t k = 0; k < (a->end - a->start) / PAGE; k++)
            j->heap.claims.items[a->claim].has_blocks |= used(&j->pages[a->first + k]) > 0;
    }
    for (size_t i = 0; i < j->heap.list.count; i++) {
        struct page_area *a = &j->heap.list.items[i];
        if (a->claim != NO_CLAIM && j->heap.claims.items[a->claim].has_blocks)
            a->part = PART_FREE;
    }
}

static void sum_pages(struct joining *j)
{
    uint64_t *parts = j->footprint->parts;
    for (size_t i = 0; i < j->heap.list.count; i++) {
        const struct page_area *a = &j->heap.list.items[i];
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

/* The areas of one arena: [first, end). */
struct arena {
    size_t first, end;
    bool is_main;
};

/*
 * malloc_trim releases the whole pages inside free blocks, without their headers. It leaves the end
 * of all arenas but the first alone. An arena's own bookkeeping is at its beginning.
 */
static void sum_arena(struct joining *j, struct arena r)
{
    uint64_t last_used = 0, free_bytes = 0, trimmed = 0, before = 0, before_end = 0;
    for (size_t i = r.first; i < r.end; i++) {
        const struct page_area *a = &j->heap.list.items[i];
        for (size_t k = 0; k < (a->end - a->start) / PAGE; k++)
            if (used(&j->pages[a->first + k]))
                last_used = a->start + k * PAGE;
    }
    for (size_t i = r.first; i < r.end; i++) {
        const struct page_area *a = &j->heap.list.items[i];
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
            bool header = before + PAGE == page && before_end + GLIBC_FREE_HEADER > PAGE;
            bool given = !header && page != a->heap && (r.is_main || page < last_used);
            free_bytes += PAGE;
            trimmed += given ? PAGE : 0;
        }
    }
    j->footprint->trim_bytes += trimmed;
    j->footprint->arenas += free_bytes >= MUCH_FREE;
}

static bool same_arena(const struct page_area *a, const struct page_area *b)
{
    return a->heap == b->heap && a->start / MAPPING_ARENA == b->start / MAPPING_ARENA;
}

static void sum_arenas(struct joining *j)
{
    for (size_t i = 0; i < j->heap.list.count;) {
        const struct page_area *a = &j->heap.list.items[i];
        struct arena r = {.first = i, .end = i + 1, .is_main = a->is_main};
        while (r.end < j->heap.list.count &&
               (a->is_main ? j->heap.list.items[r.end].heap == a->heap
                           : same_arena(a, &j->heap.list.items[r.end])))
            r.end++;
        if (a->heap)
            sum_arena(j, r);
        i = r.end;
    }
}

void footprint_join(const struct footprint_reading *l, struct target *t, struct footprint *f)
{
    struct joining j = {.footprint = f};
    heap_pages_find(&j.heap, l, t, f->parts);
    j.pages = xcalloc(j.heap.page_count + 1, sizeof *j.pages);
    block_index_each(t, use_block, &j);
    settle_claims(&j);
    sum_pages(&j);
    sum_arenas(&j);
    add_pins(&j, t);
    heap_pages_release(&j.heap);
    free(j.pages);
}
