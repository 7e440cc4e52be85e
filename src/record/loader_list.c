#include "record/loader_list.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#include "machine/page.h"
#include "record/recorder.h"

#define SEGMENTS 16384 /* a list that has more is asked every time */

struct segment {
    uint64_t start, end;
    struct libc_object file;
};

struct copy {
    struct segment *segments; /* [SEGMENTS], by address */
    uint32_t count;
    unsigned long long adds, subs; /* the loader's counters when the copy was made */
};

/* Changed only inside a callback of dl_iterate_phdr, so under the loader's lock. */
static struct copy copies[2];
static _Atomic uint32_t current; /* number of copies made; the last is copies[current % 2] */
static _Atomic uintptr_t making; /* the thread that makes one (its tls); 0: none */
static _Atomic bool forked;
static _Atomic bool outdated; /* in a forked child: something was unloaded, or may have been */

/* --- asking the loader ------------------------------------------------------------------------ */

/* The list that a walk goes through, in step with dl_iterate_phdr, which has the same order. */
struct maps {
    struct link_map *next;
};

static bool is_of(const struct link_map *m, const struct dl_phdr_info *info)
{
    return m->l_addr == info->dlpi_addr && strcmp(m->l_name, info->dlpi_name) == 0;
}

static struct link_map *map_of(struct maps *maps, const struct dl_phdr_info *info)
{
    struct link_map *m = maps->next;
    if (!m || !is_of(m, info))
        for (m = _r_debug.r_map; m && !is_of(m, info);)
            m = m->l_next;
    maps->next = m ? m->l_next : NULL;
    return m;
}

static void describe(const ElfW(Phdr) * headers, unsigned count, struct link_map *m,
                     struct libc_object *o)
{
    *o = (struct libc_object){.map_start = (void *)UINTPTR_MAX, .link_map = m};
    for (unsigned i = 0; i < count; i++) {
        const ElfW(Phdr) *p = &headers[i];
        uint64_t start = m->l_addr + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type == PT_GNU_EH_FRAME)
            o->eh_frame = (void *)start;
        if (p->p_type != PT_LOAD)
            continue;
        start &= ~(page_bytes() - 1);
        o->map_start = start < (uintptr_t)o->map_start ? (void *)start : o->map_start;
        o->map_end = end > (uintptr_t)o->map_end ? (void *)end : o->map_end;
    }
}

struct question {
    uint64_t address;
    struct maps maps;
    struct libc_object *answer;
};

static int compare_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct question *q = arg;
    struct link_map *m = map_of(&q->maps, info);
    (void)size;
    for (int i = 0; m && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || q->address - (info->dlpi_addr + p->p_vaddr) >= p->p_memsz)
            continue;
        describe(info->dlpi_phdr, info->dlpi_phnum, m, q->answer);
        return 1;
    }
    return 0;
}

static bool ask(uint64_t address, struct libc_object *o)
{
    struct question q = {.address = address, .answer = o};
    return dl_iterate_phdr(compare_one, &q) == 1;
}

/* --- the copies ------------------------------------------------------------------------------- */

static void sort(struct segment *s, uint32_t count)
{
    uint32_t gap = 1;
    while (gap < count / 3)
        gap = gap * 3 + 1;
    for (; gap; gap /= 3)
        for (uint32_t i = gap; i < count; i++) {
            struct segment moved = s[i];
            uint32_t at = i;
            for (; at >= gap && s[at - gap].start > moved.start; at -= gap)
                s[at] = s[at - gap];
            s[at] = moved;
        }
}

static bool find_in(const struct copy *c, uint64_t address, struct libc_object *out)
{
    uint32_t low = 0, high = c->count;
    while (low < high) { /* to the first that begins behind it */
        uint32_t middle = low + (high - low) / 2;
        if (c->segments[middle].start > address)
            high = middle;
        else
            low = middle + 1;
    }
    if (!low || address >= c->segments[low - 1].end)
        return false;
    *out = c->segments[low - 1].file;
    return true;
}

/* A walk through the loader's list, which may stop at the first file if nothing has changed. */
struct refresh {
    struct maps maps;
    struct copy *to;
    bool same; /* nothing has changed since the last copy */
    bool begun, full;
};

static bool begin(struct refresh *r, unsigned long long adds, unsigned long long subs)
{
    uintptr_t none = 0; /* first: it decides which copy is not in use */
    if (!atomic_compare_exchange_strong(&making, &none, (uintptr_t)&tls))
        return false;
    struct copy *to = &copies[(atomic_load(&current) + 1) % 2];
    size_t size = SEGMENTS * sizeof *to->segments;
    if (!to->segments)
        recorder_own(to->segments = sys_map(size), size);
    if (!to->segments) {
        atomic_store(&making, 0);
        return false;
    }
    to->count = 0;
    to->adds = adds;
    to->subs = subs;
    r->to = to;
    return r->begun = true;
}

static void add(struct refresh *r, const ElfW(Phdr) * headers, unsigned count, struct link_map *m)
{
    struct libc_object file;
    describe(headers, count, m, &file);
    for (unsigned i = 0; i < count; i++) {
        const ElfW(Phdr) *p = &headers[i];
        uint64_t start = m->l_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || !p->p_memsz)
            continue;
        if (r->to->count < SEGMENTS)
            r->to->segments[r->to->count++] =
                (struct segment){.start = start, .end = start + p->p_memsz, .file = file};
        else
            r->full = true;
    }
}

static bool finish(const struct refresh *r)
{
    if (!r->full) {
        sort(r->to->segments, r->to->count);
        atomic_fetch_add(&current, 1);
    }
    atomic_store(&making, 0);
    return !r->full;
}

static bool is_same(unsigned long long adds, unsigned long long subs)
{
    uint32_t number = atomic_load(&current);
    const struct copy *last = &copies[number % 2];
    return number && last->adds == adds && last->subs == subs;
}

static int copy_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct refresh *r = arg;
    (void)size;
    if (!r->begun && ((r->same = is_same(info->dlpi_adds, info->dlpi_subs)) ||
                      !begin(r, info->dlpi_adds, info->dlpi_subs)))
        return 1;
    struct link_map *m = map_of(&r->maps, info);
    if (m)
        add(r, info->dlpi_phdr, info->dlpi_phnum, m);
    return 0;
}

/* false: there is no copy of the present list. dl_iterate_phdr does not call us when it is done, so
 * the copy is finished without its lock. Another thread that gets in by then sees `making`, and
 * asks the loader itself. */
static bool refresh(void)
{
    struct refresh r = {0};
    dl_iterate_phdr(copy_one, &r);
    return r.begun ? finish(&r) : r.same;
}

/* --- in a forked child ------------------------------------------------------------------------ */

/* The headers of a file on the list, as they are mapped; of the program, as the kernel says. */
static unsigned headers_of(const struct link_map *m, const ElfW(Phdr) * *out)
{
    const ElfW(Ehdr) *file = (const void *)m->l_addr;
    if (m == _r_debug.r_map) {
        *out = (const void *)getauxval(AT_PHDR);
        return *out ? (unsigned)getauxval(AT_PHNUM) : 0;
    }
    /* Another thread of the parent may have been unmapping it. */
    if (!m->l_addr || !m->l_ld || !own_space.readable(&own_space, m->l_addr) ||
        memcmp(file->e_ident, ELFMAG, SELFMAG) != 0)
        return 0; /* not mapped yet */
    *out = (const void *)(m->l_addr + file->e_phoff);
    return file->e_phnum;
}

/* Updates the copy; false: this is not possible. While the child has one thread, nobody changes the
 * list meanwhile, and no lock is needed. */
static bool refresh_alone(void)
{
    unsigned long long files = 0, hash = 0;
    struct refresh r = {0};
    if (atomic_load(&recorder.several))
        return false;
    for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next, files++)
        hash = (hash ^ (uintptr_t)m ^ m->l_addr ^ (uintptr_t)m->l_ld) *
               UINT64_C(0x9e3779b97f4a7c15); /* without l_ld a file is not mapped yet */
    if (!is_same(files, hash)) {
        if (!begin(&r, files, hash))
            return false;
        for (struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
            const ElfW(Phdr) *headers = NULL;
            unsigned count = headers_of(m, &headers);
            add(&r, headers, count, m);
        }
        if (!finish(&r))
            return false;
    }
    atomic_store(&outdated, false);
    return true;
}

static bool find_in_child(uint64_t address, struct libc_object *out)
{
    if ((atomic_load(&outdated) || !atomic_load(&current)) && !refresh_alone())
        return false;
    return find_in(&copies[atomic_load(&current) % 2], address, out) ||
           (refresh_alone() && find_in(&copies[atomic_load(&current) % 2], address, out));
}

/* --- lookups ---------------------------------------------------------------------------------- */

bool loader_list_find(uint64_t address, struct libc_object *out)
{
    if (atomic_load(&forked))
        return find_in_child(address, out);
    if (refresh()) {
        uint32_t number = atomic_load(&current);
        bool found = find_in(&copies[number % 2], address, out);
        if (atomic_load(&current) == number) /* otherwise it may have been overwritten meanwhile */
            return found;
    }
    return ask(address, out);
}

void loader_list_before_fork(void)
{
    if (!atomic_load(&forked))
        refresh();
}

void loader_list_recover(void)
{
    uintptr_t own = (uintptr_t)&tls;
    atomic_compare_exchange_strong(&making, &own, 0);
}

void loader_list_forked(void)
{
    atomic_store(&making, 0);
    atomic_store(&outdated, true); /* another thread may have unloaded a file just before */
    atomic_store(&forked, true);
}

void loader_list_changes(void)
{
    if (atomic_load(&forked))
        atomic_store(&outdated, true);
}
