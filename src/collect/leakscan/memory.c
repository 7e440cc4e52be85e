#include "collect/leakscan/memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "collect/proc/own_mappings.h"
#include "collect/proc/pagemap.h"
#include "machine/page.h"

#define PAGE page_bytes()

/* --- mappings --------------------------------------------------------------------------------- */

static enum region_kind kind_of(const char *name, bool shared)
{
    if (is_own_library(name) || is_own_memory(name))
        return REGION_OURS;
    if (*name == '/' || shared)
        return REGION_FILE;
    return text_begins(name, "[heap]")    ? REGION_HEAP
           : text_begins(name, "[stack]") ? REGION_STACK
                                          : REGION_ANONYMOUS;
}

static struct region region_of(const struct proc_mapping *p)
{
    const struct mapping *m = &p->mapping;
    const char *slash = strrchr(p->name, '/');
    enum region_kind kind = kind_of(p->name, m->flags & MAPPING_SHARED);
    bool is_kernels = text_begins(p->name, "[v"); /* [vdso] and others */
    bool is_own = kind == REGION_FILE ? (m->flags & MAPPING_SHARED) : !is_kernels;
    bool readable = m->flags & MAPPING_READ, writable = m->flags & MAPPING_WRITE;
    bool generated = readable && (m->flags & MAPPING_EXECUTE) && is_own &&
                     (kind == REGION_ANONYMOUS || kind == REGION_FILE);
    return (struct region){
        .start = m->start,
        .end = m->end,
        .offset = m->offset,
        .kind = kind,
        .readable = readable,
        .writable = writable,
        .written = writable || generated || (readable && is_own && kind != REGION_FILE),
        .generated = generated,
        .is_libc = slash && (text_begins(slash, "/libc.so") || text_begins(slash, "/libc-"))};
}

int memory_map(struct memory *m, pid_t pid, const struct proc_still *still)
{
    struct strbuf text = {0};
    struct proc_mappings own = {0};
    const struct proc_mappings *all = still ? &still->all : &own;
    remote_memory_close(&m->remote);
    remote_memory_open(&m->remote, pid);
    int code = still ? 0 : proc_read_mappings(pid, "maps", &text, &own);
    m->regions.count = 0;
    for (size_t i = 0; i < all->items.count; i++)
        *vec_push(&m->regions) = region_of(&all->items.items[i]);
    vec_release(&own.items);
    strbuf_release(&text);
    return code ? code : m->regions.count ? 0 : -ESRCH;
}

const struct region *memory_at(const struct memory *m, uint64_t address)
{
    size_t i;
    BISECT(i, m->regions.count, m->regions.items[i].end <= address);
    const struct region *found = &m->regions.items[i];
    return i < m->regions.count && found->start <= address ? found : NULL;
}

/* --- resident pages --------------------------------------------------------------------------- */

/* Moves the runs into the set, and closes the pagemap. */
static void take_runs(struct address_set *to, struct page_runs *runs, int fd)
{
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < runs->items.count; i++)
        address_set_add(to, runs->items.items[i].start, runs->items.items[i].end);
    vec_release(&runs->items);
    address_set_settle(to);
}

void memory_find_resident(struct memory *m)
{
    const uint64_t there = PAGE_PRESENT | PAGE_SWAPPED;
    struct address_set generated = {0};
    struct page_runs runs = {0};
    int fd = pagemap_open(m->remote.pid);
    m->residency = fd >= 0;
    m->resident.items.count = 0;
    for (size_t i = 0; i < m->regions.count; i++) {
        const struct region *each = &m->regions.items[i];
        if (!each->written || each->kind == REGION_OURS)
            continue;
        m->residency =
            m->residency && pagemap_runs(fd, each->start, each->end, there, there, &runs);
        if (!m->residency)
            address_set_add(&m->resident, each->start, each->end);
    }
    take_runs(&m->resident, &runs, fd);
    for (size_t i = 0; i < m->regions.count; i++)
        if (m->regions.items[i].generated && m->regions.items[i].kind != REGION_OURS)
            address_set_inside(&m->resident, m->regions.items[i].start, m->regions.items[i].end,
                               &generated);
    m->generated_bytes = address_set_bytes(&generated);
    address_set_release(&generated);
}

bool memory_find_written(struct memory *m)
{
    int fd = m->residency ? pagemap_open(m->remote.pid) : -1;
    bool known = fd >= 0;
    struct page_runs runs = {0};
    for (size_t i = 0; known && i < m->resident.items.count; i++) {
        struct address_range each = m->resident.items.items[i];
        known = pagemap_own(fd, each.start, each.end, &runs);
    }
    take_runs(&m->written, &runs, fd);
    m->only_written = known;
    return known;
}

/* --- contents --------------------------------------------------------------------------------- */

/* Bytes that cannot be read become zero. */
static void read_span(const struct remote_memory *m, uint64_t start, uint64_t end, char *out)
{
    while (start < end) {
        ssize_t n = remote_memory_read(m, start, out, end - start);
        uint64_t done = n > 0 ? (uint64_t)n : 0;
        start += done;
        out += done;
        if (start == end)
            return;
        uint64_t next = (start / PAGE + 1) * PAGE; /* skip this page, which cannot be read */
        next = next < end ? next : end;
        memset(out, 0, next - start);
        out += next - start;
        start = next;
    }
}

void memory_read(void *memory, const struct address_range *spans, size_t count, char *out)
{
    const struct memory *m = memory;
    const struct address_set *there = memory_there(m);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = spans[i].start, end = spans[i].end;
        const struct address_range *last = at < there->items.count ? &there->items.items[at] : NULL;
        if (!last || start < last->start || start >= last->end)
            at = address_set_find(there, start);
        for (size_t k = at; start < end; k++) {
            struct address_range in =
                k < there->items.count ? there->items.items[k] : (struct address_range){end, end};
            uint64_t from = in.start < start ? start : in.start < end ? in.start : end;
            uint64_t to = in.end < end ? in.end : end;
            memset(out, 0, from - start);
            out += from - start;
            if (from < to) {
                read_span(&m->remote, from, to, out);
                out += to - from;
            }
            start = from > to ? from : to;
        }
    }
}

struct address_range memory_next(void *memory, struct address_range range)
{
    const struct address_set *there = memory_there(memory);
    size_t at = address_set_find(there, range.start);
    if (at == there->items.count || there->items.items[at].start >= range.end)
        return (struct address_range){range.end, range.end};
    struct address_range found = there->items.items[at];
    return (struct address_range){found.start > range.start ? found.start : range.start,
                                  found.end < range.end ? found.end : range.end};
}

int memory_try(const struct memory *m)
{
    char byte;
    for (size_t i = 0; i < m->regions.count; i++) {
        const struct region *each = &m->regions.items[i];
        if (each->kind != REGION_FILE || !each->readable)
            continue;
        ssize_t n = remote_memory_read(&m->remote, each->start, &byte, 1);
        return n == 1 || n == -EFAULT || n == -EIO ? 0 : (int)n;
    }
    return 0;
}

void memory_release(struct memory *m)
{
    vec_release(&m->regions);
    address_set_release(&m->resident);
    address_set_release(&m->written);
    remote_memory_close(&m->remote);
    *m = (struct memory){0};
}
