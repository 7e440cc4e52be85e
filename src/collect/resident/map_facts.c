#include "collect/resident/map_facts.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "collect/proc/own_mappings.h"
#include "collect/proc/remote_memory.h"
#include "machine/page.h"

/* Marks the mapping of a block, and skips its other blocks: one of each mapping is enough. */
static uint64_t mark_mapping(void *context, const struct block *b)
{
    struct proc_mapping *m = proc_mapping_at(context, b->address);
    if (!m)
        return b->address + 1;
    m->mapping.flags |= MAPPING_BLOCKS;
    return m->mapping.end;
}

/* The kernel merges neighbouring mappings, so one may consist of several of ours. */
static bool is_recorders_memory(const struct address_set *own, const struct mapping *m)
{
    struct address_set covered = {0};
    uint64_t bytes = 0;
    address_set_inside(own, m->start, m->end, &covered);
    for (size_t i = 0; i < covered.items.count; i++)
        bytes += covered.items.items[i].end - covered.items.items[i].start;
    address_set_release(&covered);
    return bytes > (m->end - m->start) / 2;
}

/* Where the image of a program or library ends in memory, by its own headers; 0: not known. */
static uint64_t image_end(const struct remote_memory *m, uint64_t base)
{
    char head[1024]; /* the headers follow each other closely */
    Elf64_Ehdr file;
    if (remote_memory_read(m, base, head, sizeof head) != (ssize_t)sizeof head)
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
    low &= ~(page_bytes() - 1);
    return high > low ? base + (high - low) : 0;
}

/* Marks anonymous mappings right after the data of a file (.bss). The kernel may have merged one
 * with what was mapped next to it: the larger part decides. */
static void mark_zeroed(const struct target *t, struct proc_mappings *all)
{
    const struct mapping *base = NULL; /* the first mapping of the last file */
    struct remote_memory memory;
    remote_memory_open(&memory, t->pid);
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
        uint64_t end = image_end(&memory, base->start);
        if (end > m->mapping.start &&
            end - m->mapping.start > (m->mapping.end - m->mapping.start) / 2)
            m->mapping.flags |= MAPPING_ZEROED;
    }
    remote_memory_close(&memory);
}

static void mark_own(const struct target *t, struct proc_mappings *all)
{
    const struct proc_mapping *before = NULL;
    struct address_set own = {0};
    target_own(t, &own);
    for (size_t i = 0; i < all->items.count; i++) {
        struct proc_mapping *m = &all->items.items[i];
        bool is_anonymous = !*m->name && !(m->mapping.flags & MAPPING_SHARED);
        bool is_zeroed =
            before && is_own_library(before->name) && m->mapping.flags & MAPPING_ZEROED;
        if (is_own_library(m->name) || is_own_memory(m->name) ||
            (is_anonymous &&
             ((m->wiped && m->no_huge) || is_zeroed || is_recorders_memory(&own, &m->mapping))))
            m->mapping.flags |= MAPPING_OWN;
        before = m;
    }
    address_set_release(&own);
}

static void mark_stacks(const struct target *t, struct proc_mappings *all)
{
    for (size_t i = 0; i < t->readers.count; i++) {
        uint64_t address = atomic_load(&t->readers.items[i].ring->stack);
        struct proc_mapping *m = address ? proc_mapping_at(all, address) : NULL;
        if (m)
            m->mapping.flags |= MAPPING_STACK;
    }
}

void map_facts_mark(struct target *t, struct proc_mappings *all)
{
    mark_zeroed(t, all);
    mark_own(t, all);
    mark_stacks(t, all);
    block_index_skim(t, mark_mapping, all);
}
