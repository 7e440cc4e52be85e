#include "collect/sampling/touched_pages.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/proc/pagemap.h"
#include "machine/page.h"

/* A page table is one page of addresses; a huge page has as many pages. */
#define PAGE_SHIFT   ((unsigned)__builtin_ctzll(page_bytes()))
#define REGION_PAGES ((unsigned)(page_bytes() / 8))
#define REGION_BYTES (REGION_PAGES * page_bytes())
#define REGION_SHIFT (2 * PAGE_SHIFT - 3)

#define WAIT_NS     500000
#define WAITS       20 /* attempts for one fault */
#define WAITED_MOST 8  /* at most so many faults of a process are waited for */

/* Is the page part of a huge page by now? This is asked once for each region. -1: the page, or the
 * process, is gone. */
static int is_huge(pid_t pid, uint64_t address)
{
    struct page_runs found = {0};
    uint64_t page = address & ~(page_bytes() - 1);
    int fd = pagemap_open(pid), huge = -1;
    if (fd < 0)
        return -1;
    if (pagemap_runs(fd, page, page + page_bytes(), PAGE_PRESENT, PAGE_PRESENT | PAGE_HUGE,
                     &found) &&
        found.items.count == 1)
        huge = (found.items.items[0].flags & PAGE_HUGE) != 0;
    vec_release(&found.items);
    close(fd);
    return huge;
}

/* The kernel reports a fault before it handles it, and clearing a huge page takes a while. So this
 * waits, but only for some faults: if memory has been unmapped, every wait would be in vain. */
static int is_huge_by_now(struct touched_pages *p, pid_t pid, uint64_t address)
{
    const struct timespec nap = {.tv_nsec = WAIT_NS};
    int huge = is_huge(pid, address);
    bool waits = huge < 0 && p->waited < WAITED_MOST;
    p->waited += waits;
    for (int i = 0; i < WAITS && waits && huge < 0; i++) {
        nanosleep(&nap, NULL);
        huge = is_huge(pid, address);
    }
    return huge;
}

static bool is_untouched(const struct touched_pages_region *r)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < REGION_PAGES / 64; i++)
        any |= r->touched[i] | r->shared[i];
    return !any;
}

enum fault_kind touched_pages_fault(struct touched_pages *p, pid_t pid, const struct sampled_map *m,
                                    uint64_t address)
{
    uint64_t number = address >> REGION_SHIFT, start = number << REGION_SHIFT;
    unsigned page = (unsigned)(address >> PAGE_SHIFT) % REGION_PAGES;
    uint64_t bit = UINT64_C(1) << page % 64;
    uint32_t *place = map_at(&p->index, number);
    if (*place == MAP_NONE) {
        *place = (uint32_t)p->regions.count;
        *vec_push(&p->regions) = (struct touched_pages_region){.huge = false};
    }
    struct touched_pages_region *r = &p->regions.items[*place];
    bool copy = r->shared[page / 64] & bit;
    r->shared[page / 64] &= ~bit;
    /* A fault in what was one huge page: that page has been freed. */
    bool ask = !copy && (r->huge || is_untouched(r)) && m && !m->is_file && m->start <= start &&
               m->end >= start + REGION_BYTES;
    if (!copy)
        r->huge = false;
    bool like_others = ask && p->huge_mapping == m->start;
    int huge = !ask ? 0 : like_others ? is_huge(pid, address) : is_huge_by_now(p, pid, address);
    if (huge < 0)
        huge = like_others;
    if (huge) {
        p->huge_mapping = m->start;
        r->huge = true;
        memset(r->touched, 0xff, sizeof r->touched);
        return FAULT_HUGE;
    }
    r->touched[page / 64] |= bit;
    return copy ? FAULT_COPY : m && m->is_file ? FAULT_FILE : FAULT_TOUCH;
}

void touched_pages_fork(struct touched_pages *parent, struct touched_pages *child)
{
    for (size_t i = 0; i < parent->regions.count; i++) {
        struct touched_pages_region *r = &parent->regions.items[i];
        for (unsigned k = 0; k < REGION_PAGES / 64; k++)
            r->shared[k] |= r->touched[k];
    }
    touched_pages_clear(child);
    for (size_t i = 0; i < parent->index.size; i++) {
        const struct map_slot *slot = &parent->index.slots[i];
        if (slot->value == MAP_NONE)
            continue;
        *map_at(&child->index, slot->key) = (uint32_t)child->regions.count;
        *vec_push(&child->regions) = parent->regions.items[slot->value];
    }
}

static void region_forget(struct touched_pages_region *r, uint64_t base, uint64_t start,
                          uint64_t end)
{
    for (unsigned page = 0; page < REGION_PAGES; page++) {
        uint64_t address = base + ((uint64_t)page << PAGE_SHIFT);
        uint64_t bit = UINT64_C(1) << page % 64;
        if (address >= start && address < end) {
            r->touched[page / 64] &= ~bit;
            r->shared[page / 64] &= ~bit;
        }
    }
    r->huge = false;
}

void touched_pages_forget(struct touched_pages *p, uint64_t start, uint64_t end)
{
    uint64_t first = start >> REGION_SHIFT, last = (end - 1) >> REGION_SHIFT;
    if (last - first >= p->index.count) { /* fewer regions are known than are in the range */
        for (size_t i = 0; i < p->index.size; i++) {
            const struct map_slot *slot = &p->index.slots[i];
            if (slot->value != MAP_NONE && slot->key >= first && slot->key <= last)
                region_forget(&p->regions.items[slot->value], slot->key << REGION_SHIFT, start,
                              end);
        }
        return;
    }
    for (uint64_t n = first; n <= last; n++) {
        uint32_t place = map_get(&p->index, n);
        if (place != MAP_NONE)
            region_forget(&p->regions.items[place], n << REGION_SHIFT, start, end);
    }
}

void touched_pages_clear(struct touched_pages *p)
{
    map_release(&p->index);
    vec_release(&p->regions);
    *p = (struct touched_pages){0};
}
