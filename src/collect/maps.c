#include "collect/maps.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "collect/arenas.h"
#include "collect/proc_maps.h"

#define FIRST_NS     20000000  /* most processes of a build or a pipeline are over by then */
#define APART_NS     500000000 /* at first; then ever more */
#define APART_COST   100       /* times what the last one took */
#define PERIODIC_MAX 16
#define MUCH_BYTES   (UINT64_C(4) << 20) /* a change of less is no reason to look again */

static uint64_t now_ns_of_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* All of a file in /proc; false: it is empty or may not be read. */
static bool read_all(pid_t pid, const char *name, struct strbuf *out)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    strbuf_puts(out, "");
    for (ssize_t n = 1; n > 0;) {
        strbuf_reserve(out, 1 << 16);
        n = read(fd, out->data + out->size, out->capacity - out->size - 1);
        out->size += n > 0 ? (size_t)n : 0;
    }
    out->data[out->size] = '\0';
    close(fd);
    return out->size > 0;
}

/* --- what we know and the kernel does not ------------------------------------------------------
 */

/* The mapping that holds an address; NULL: none. */
static struct proc_mapping *holding(struct proc_mappings *all, uint64_t address)
{
    size_t low = 0, high = all->items.count; /* the first that ends after it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all->items.items[middle].mapping.end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < all->items.count && all->items.items[low].mapping.start <= address
               ? &all->items.items[low]
               : NULL;
}

static void mark_page(void *context, uint64_t address)
{
    struct proc_mapping *m = holding(context, address);
    if (m)
        m->mapping.flags |= MAPPING_BLOCKS;
}

static bool is_recorders_library(const char *name)
{
    const char *slash = strrchr(name, '/'), *library = "/libtidemark.so";
    return slash && strncmp(slash, library, strlen(library)) == 0;
}

static bool is_shared_with_us(const char *name)
{
    return strncmp(name, "/memfd:tidemark ", 16) == 0;
}

/* The kernel joins neighbours, so a mapping may be several of ours. */
static bool is_recorders_memory(const struct target *t, const struct mapping *m)
{
    uint64_t covered = 0;
    for (size_t i = 0; t->header && i < WIRE_OWN; i++) {
        uint64_t start = atomic_load(&t->header->own[i].start), size = t->header->own[i].size;
        uint64_t end = size < UINT64_MAX - start ? start + size : UINT64_MAX;
        uint64_t from = start > m->start ? start : m->start, to = end < m->end ? end : m->end;
        covered += to > from ? to - from : 0;
    }
    return covered > (m->end - m->start) / 2;
}

/* How far a program or library reaches in memory, by its own headers; 0: not known. */
static uint64_t image_end(const struct target *t, uint64_t base)
{
    char head[1024]; /* headers follow each other closely */
    struct iovec local = {head, sizeof head}, remote = {(void *)(uintptr_t)base, sizeof head};
    Elf64_Ehdr file;
    if (process_vm_readv(t->pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof head)
        return 0;
    memcpy(&file, head, sizeof file);
    if (memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phentsize != sizeof(Elf64_Phdr))
        return 0;
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < file.e_phnum; i++) {
        Elf64_Phdr part;
        if (file.e_phoff > sizeof head || file.e_phoff + (i + 1) * sizeof part > sizeof head)
            return 0;
        memcpy(&part, head + file.e_phoff + i * sizeof part, sizeof part);
        if (part.p_type != PT_LOAD)
            continue;
        low = part.p_vaddr < low ? part.p_vaddr : low;
        high = part.p_vaddr + part.p_memsz > high ? part.p_vaddr + part.p_memsz : high;
    }
    low &= ~(uint64_t)(WIRE_PAGE - 1);
    return high > low ? base + (high - low) : 0;
}

/* An anonymous mapping right behind the data of a file. What was mapped next to it may have been
 * joined with it: it is what the larger part of it is. */
static void mark_zeroed(const struct target *t, struct proc_mappings *all)
{
    const struct mapping *base = NULL; /* of the last file: where its beginning is */
    for (size_t i = 0; i < all->items.count; i++) {
        struct proc_mapping *m = &all->items.items[i];
        const struct proc_mapping *before = i ? m - 1 : NULL;
        if (*m->name) {
            base = m->name[0] == '/' && m->mapping.offset == 0 &&
                           (!before || strcmp(before->name, m->name) != 0)
                       ? &m->mapping
                   : before && strcmp(before->name, m->name) == 0 ? base
                                                                  : NULL;
            continue;
        }
        if (!base || !before || !*before->name || before->mapping.end != m->mapping.start ||
            !(before->mapping.flags & m->mapping.flags & MAPPING_WRITE))
            continue;
        uint64_t end = image_end(t, base->start);
        if (end > m->mapping.start &&
            end - m->mapping.start > (m->mapping.end - m->mapping.start) / 2)
            m->mapping.flags |= MAPPING_ZEROED;
    }
}

static void mark_own(const struct target *t, struct proc_mappings *all)
{
    const struct proc_mapping *before = NULL;
    for (size_t i = 0; i < all->items.count; i++) {
        struct proc_mapping *m = &all->items.items[i];
        bool is_anonymous = !*m->name && !(m->mapping.flags & MAPPING_SHARED);
        bool is_zeroed =
            before && is_recorders_library(before->name) && m->mapping.flags & MAPPING_ZEROED;
        if (is_recorders_library(m->name) || is_shared_with_us(m->name) ||
            (is_anonymous &&
             ((m->wiped && m->no_huge) || is_zeroed || is_recorders_memory(t, &m->mapping))))
            m->mapping.flags |= MAPPING_OWN;
        before = m;
    }
}

static void mark_stacks(const struct target *t, struct proc_mappings *all)
{
    for (size_t i = 0; i < t->readers.count; i++) {
        uint64_t address = atomic_load(&t->readers.items[i].ring->stack);
        struct proc_mapping *m = address ? holding(all, address) : NULL;
        if (m)
            m->mapping.flags |= MAPPING_STACK;
    }
}

/* --- NUMA --------------------------------------------------------------------------------------
 */

/* Both texts are in order of address; what came or went between them is left out. */
static void add_placements(struct profile *p, struct proc_mappings *all, char *text)
{
    struct proc_placement placement;
    struct mapping_node node;
    size_t i = 0;
    while (proc_next_placement(&text, &placement)) {
        while (i < all->items.count && all->items.items[i].mapping.start < placement.start)
            i++;
        if (i == all->items.count)
            return;
        struct mapping *m = &all->items.items[i].mapping;
        if (m->start != placement.start || m->policy)
            continue;
        m->policy = strpool_add(&p->map_names, placement.policy);
        m->first_node = p->map_nodes.count;
        uint32_t least = 0;
        while (proc_next_node(&placement, &node)) {
            if (node.node < least || node.node >= NUMA_NODES)
                continue;
            least = node.node + 1;
            *vec_push(&p->map_nodes) = node;
            m->node_count++;
        }
    }
}

/* --- captures ----------------------------------------------------------------------------------
 */

static bool goes(const struct profile *p, size_t i, bool periodic_only, size_t *seen)
{
    if (i == 0 || i + 1 == p->captures.count ||
        (periodic_only && p->captures.items[i].kind != CAPTURE_PERIODIC))
        return false;
    return ++*seen % 2;
}

bool maps_thin_out(struct profile *p)
{
    size_t periodic = 0, seen = 0, captures = 0, mappings = 0, nodes = 0;
    if (p->captures.count < 3)
        return false;
    for (size_t i = 1; i + 1 < p->captures.count; i++)
        periodic += p->captures.items[i].kind == CAPTURE_PERIODIC;
    for (size_t i = 0; i < p->captures.count; i++) {
        struct capture c = p->captures.items[i];
        if (goes(p, i, periodic > 0, &seen))
            continue;
        for (size_t k = 0; k < c.count; k++) {
            struct mapping m = p->mappings.items[c.first + k];
            if (m.node_count)
                memmove(p->map_nodes.items + nodes, p->map_nodes.items + m.first_node,
                        m.node_count * sizeof *p->map_nodes.items);
            m.first_node = nodes;
            nodes += m.node_count;
            p->mappings.items[mappings + k] = m;
        }
        c.first = mappings;
        mappings += c.count;
        p->captures.items[captures++] = c;
    }
    p->captures.count = captures;
    p->mappings.count = mappings;
    p->map_nodes.count = nodes;
    return true;
}

static void add_capture(struct target *t, enum capture_kind kind, uint64_t now_ns,
                        const struct proc_mappings *all)
{
    struct profile *p = &t->profile;
    struct capture c = {.kind = (uint32_t)kind,
                        .time_ns = now_ns,
                        .first = p->mappings.count,
                        .count = all->items.count};
    for (size_t i = 0; i < c.count; i++) {
        struct mapping *m = vec_push(&p->mappings);
        *m = all->items.items[i].mapping;
        m->name = strpool_add(&p->map_names, all->items.items[i].name);
    }
    *vec_push(&p->captures) = c;
    size_t periodic = 0;
    for (size_t i = 0; i < p->captures.count; i++)
        periodic += p->captures.items[i].kind == CAPTURE_PERIODIC;
    if (periodic > PERIODIC_MAX) {
        maps_thin_out(p);
        t->maps_length_ns *= 2;
    }
    while (p->mappings.count > CAPTURES_ROOM && maps_thin_out(p))
        ;
}

void maps_take(struct target *t, enum capture_kind kind, uint64_t now_ns)
{
    struct strbuf smaps = {0}, numa = {0};
    struct proc_mappings all = {0};
    uint64_t begun = now_ns_of_clock();
    if (read_all(t->pid, "smaps", &smaps)) {
        if (!t->profile.map_names.strings.count)
            strpool_add(&t->profile.map_names, "");
        proc_parse_smaps(smaps.data, &all);
        mark_zeroed(t, &all);
        mark_own(t, &all);
        mark_stacks(t, &all);
        blocks_each_page(&t->blocks, mark_page, &all);
        for (size_t i = 0; i < t->inherited.count; i++)
            blocks_each_page(&t->inherited.items[i], mark_page, &all);
        if (read_all(t->pid, "numa_maps", &numa))
            add_placements(&t->profile, &all, numa.data);
    }
    arenas_look(t, now_ns);
    if (all.items.count) {
        add_capture(t, kind, now_ns, &all);
        t->maps_rss_bytes = 0;
    }
    for (size_t i = 0; i < all.items.count; i++)
        t->maps_rss_bytes += all.items.items[i].mapping.kib[MAPPING_RSS] * 1024;
    vec_release(&all.items);
    strbuf_release(&smaps);
    strbuf_release(&numa);
    if (!t->maps_length_ns)
        t->maps_length_ns = APART_NS;
    uint64_t rest = (now_ns_of_clock() - begun) * APART_COST;
    t->maps_rest_ns = now_ns + rest;
    t->next_maps_ns = now_ns + (rest > t->maps_length_ns ? rest : t->maps_length_ns);
}

/* Has much come or gone since the last capture? It may be the last one, should the process be
 * killed. */
static bool changed_much(const struct target *t)
{
    if (!t->profile.stamps.count)
        return false;
    uint64_t now = vec_last(&t->profile.stamps)->rss_bytes, before = t->maps_rss_bytes;
    uint64_t change = now > before ? now - before : before - now;
    return change > MUCH_BYTES && change > before / 4;
}

void maps_if_due(struct target *t, uint64_t now_ns)
{
    if (!t->profile.captures.count) {
        if (now_ns >= FIRST_NS && now_ns >= t->next_maps_ns)
            maps_take(t, CAPTURE_START, now_ns);
    } else if (now_ns >= t->next_maps_ns || (now_ns >= t->maps_rest_ns && changed_much(t))) {
        maps_take(t, CAPTURE_PERIODIC, now_ns);
    }
}

void maps_at_exit(struct target *t, uint64_t now_ns)
{
    if (!t->profile.captures.count || vec_last(&t->profile.captures)->kind != CAPTURE_EXIT)
        maps_take(t, CAPTURE_EXIT, now_ns);
}
