#include "collect/resident/python_arenas.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/proc/remote_memory.h"
#include "collect/resident/python_pool_layout.h"
#include "machine/page.h"

#define PAGE          page_bytes()
#define POOLS_MOST    64u  /* pools in an arena, in all versions */
#define PAGES_MOST    256u /* pages in an arena, in all versions */
#define PRESENT       (UINT64_C(3) << 62)
#define READINGS_MOST 64
#define APART_NS      5000000 /* the first distance; it grows */
#define APART_COST    100     /* the pause is so many times the cost of the last one */

struct arenas_reading {
    struct remote_memory memory;
    int pagemap;
    struct pool_form form;
    struct arena_reading sum;
};

static bool is_pool(const struct pool_header *h, const struct pool_form *f)
{
    uint64_t size = (h->class + UINT64_C(1)) * POOL_ALIGNMENT;
    return h->class < POOL_CLASSES && h->last_offset == f->pool_bytes - size &&
           h->next_offset >= sizeof *h + size && h->next_offset <= h->last_offset + size &&
           h->count <= (f->pool_bytes - sizeof *h) / size;
}

/* Reads the headers of the pools whose first page is resident; the others are zero. false: not
 * readable. */
static bool read_headers(const struct arenas_reading *l, uint64_t start, struct pool_header *out,
                         uint32_t pools)
{
    uint64_t entries[PAGES_MOST], first = start / PAGE;
    size_t pages = (start + (pools - 1) * l->form.pool_bytes) / PAGE - first + 1;
    bool any = false;
    if (pread(l->pagemap, entries, pages * 8, (off_t)(first * 8)) != (ssize_t)(pages * 8))
        return false;
    memset(out, 0, pools * sizeof *out);
    for (uint32_t i = 0; i < pools; i++) {
        if (!(entries[(start + i * l->form.pool_bytes) / PAGE - first] & PRESENT))
            continue;
        any = true;
        if (remote_memory_read(&l->memory, start + i * l->form.pool_bytes, &out[i], sizeof *out) !=
            (ssize_t)sizeof *out)
            return false;
    }
    return any;
}

/* Adds up [start, start + arena_bytes), if that is an arena: its first pool is created with it, and
 * all pools have the arena's number. */
static bool add_arena(struct arenas_reading *l, uint64_t start)
{
    struct pool_header headers[POOLS_MOST];
    const struct pool_form *f = &l->form;
    uint64_t first = (start + f->pool_bytes - 1) & ~(f->pool_bytes - 1);
    uint32_t pools = (uint32_t)((start + f->arena_bytes - first) / f->pool_bytes);
    if (!read_headers(l, first, headers, pools) || !is_pool(&headers[0], f))
        return false;
    l->sum.arenas++;
    l->sum.bytes += f->arena_bytes;
    for (uint32_t i = 0; i < pools; i++)
        if (is_pool(&headers[i], f) && headers[i].arena == headers[0].arena) {
            l->sum.objects += headers[i].count;
            l->sum.object_bytes +=
                headers[i].count * (headers[i].class + UINT64_C(1)) * POOL_ALIGNMENT;
        }
    return true;
}

static void keep(struct target *t, const struct arena_reading *reading)
{
    struct profile *p = &t->profile;
    if (p->arenas.count == READINGS_MOST) {
        vec_thin_out(&p->arenas);
        t->arenas_due.apart_ns *= 2;
    }
    *vec_push(&p->arenas) = *reading;
}

static bool is_ending(const struct target *t)
{
    uint64_t finalizer = 0, address = atomic_load(&t->header->python_finalizing);
    return t->python.ended || !remote_memory_copy(t->pid, address, &finalizer, sizeof finalizer) ||
           finalizer;
}

/* `at_end`: the process is ending, but waits for the collector. */
static void read_arenas(struct target *t, uint64_t now_ns, bool at_end)
{
    uint32_t state = t->header ? atomic_load(&t->header->python) : WIRE_PYTHON_NONE;
    uint32_t minor = t->header ? atomic_load(&t->header->python_version) >> 16 & 0xff : 0;
    char path[64];
    struct arenas_reading l = {.form = pool_form_of(minor), .sum = {.time_ns = now_ns}};
    if ((state != WIRE_PYTHON_ON && state != WIRE_PYTHON_FULL) || (!at_end && is_ending(t)))
        return;
    snprintf(path, sizeof path, "/proc/%d/pagemap", t->pid);
    l.pagemap = open(path, O_RDONLY | O_CLOEXEC);
    if (l.pagemap < 0)
        return;
    remote_memory_open(&l.memory, t->pid);
    for (size_t i = 0; i < t->program_mmaps.items.count; i++) {
        const struct program_mmap *r = &t->program_mmaps.items.items[i];
        if (r->end - r->start == l.form.arena_bytes)
            add_arena(&l, r->start);
    }
    /* Neighbouring mappings are merged in this list. */
    for (size_t i = 0; i < t->inheritance.maps.items.count; i++) {
        const struct address_range *e = &t->inheritance.maps.items.items[i];
        for (uint64_t at = e->start; e->end - at >= l.form.arena_bytes; at += l.form.arena_bytes)
            add_arena(&l, at);
    }
    close(l.pagemap);
    remote_memory_close(&l.memory);
    /* If the process ended meanwhile, only a part was seen. */
    if (l.sum.arenas && (at_end || !is_ending(t)))
        keep(t, &l.sum);
}

void python_arenas_read(struct target *t, uint64_t now_ns)
{
    read_arenas(t, now_ns, false);
}

void python_arenas_at_end(struct target *t, uint64_t now_ns)
{
    read_arenas(t, now_ns, true);
}

void python_arenas_if_due(struct target *t, uint64_t now_ns)
{
    if (now_ns < t->arenas_due.next_ns || !t->header ||
        atomic_load(&t->header->python) == WIRE_PYTHON_NONE)
        return;
    if (!t->arenas_due.apart_ns)
        t->arenas_due.apart_ns = APART_NS;
    uint64_t begun = monotonic_ns();
    python_arenas_read(t, now_ns);
    uint64_t rest = (monotonic_ns() - begun) * APART_COST;
    t->arenas_due.next_ns =
        now_ns + (rest > t->arenas_due.apart_ns ? rest : t->arenas_due.apart_ns);
}
