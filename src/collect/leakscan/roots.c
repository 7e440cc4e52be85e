#include "collect/leakscan/roots.h"

#include <elf.h>
#include <string.h>

#include "machine/page.h"
#include "machine/stopped.h"

#define HEADER       UINT64_C(4096) /* bytes of a file that hold its program headers */
#define RED_ZONE     STOPPED_RED_ZONE
#define LOADERS_MOST (1ull << 20) /* an allocator that was initialised first took more at once */

void roots_at_start(const struct memory *m, uint64_t thread_pointer, struct address_set *out)
{
    for (size_t i = 0; i < m->regions.count; i++) {
        const struct region *each = &m->regions.items[i];
        bool holds_tls = thread_pointer >= each->start && thread_pointer < each->end;
        if (each->kind == REGION_ANONYMOUS && each->writable &&
            (holds_tls || each->end - each->start < LOADERS_MOST))
            address_set_add(out, each->start, each->end);
    }
    address_set_settle(out);
}

/* --- data of modules -------------------------------------------------------------------------- */

struct module_data {
    struct address_set all, libcs, ours;
};

/* Adds the writable segments of the file that is mapped at `start`, .bss included. `header` holds
 * its first page. */
static void add_segments(const struct region *m, const char *header, struct address_set *out)
{
    Elf64_Ehdr elf;
    uint64_t first = UINT64_MAX;
    memcpy(&elf, header, sizeof elf);
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_phentsize != sizeof(Elf64_Phdr))
        return;
    for (uint64_t i = 0; i < elf.e_phnum; i++) {
        Elf64_Phdr p;
        uint64_t at = elf.e_phoff + i * sizeof p;
        if (at > HEADER - sizeof p)
            return;
        memcpy(&p, header + at, sizeof p);
        if (p.p_type != PT_LOAD)
            continue;
        if (first == UINT64_MAX)
            first = p.p_vaddr & ~(page_bytes() - 1);
        if (p.p_flags & PF_W)
            address_set_add(out, m->start + (p.p_vaddr - first),
                            m->start + (p.p_vaddr - first) + p.p_memsz);
    }
}

static void find_module_data(const struct memory *m, struct module_data *out)
{
    /* The first pages of files are not writable, so `resident` does not list them: read them all
     * the same. */
    struct memory plain = {.remote = m->remote};
    char header[HEADER];
    address_set_add(&plain.resident, 0, UINT64_MAX);
    for (size_t i = 0; i < m->regions.count; i++) {
        const struct region *each = &m->regions.items[i];
        if (each->offset || !each->readable ||
            (each->kind != REGION_FILE && each->kind != REGION_OURS))
            continue;
        struct address_range page = {each->start, each->start + HEADER};
        memory_read(&plain, &page, 1, header);
        struct address_set found = {0};
        add_segments(each, header, &found);
        for (size_t k = 0; k < found.items.count; k++) {
            struct address_range s = found.items.items[k];
            address_set_add(each->kind == REGION_OURS ? &out->ours : &out->all, s.start, s.end);
            if (each->is_libc)
                address_set_add(&out->libcs, s.start, s.end);
        }
        address_set_release(&found);
    }
    address_set_release(&plain.resident);
    address_set_settle(&out->all);
    address_set_settle(&out->libcs);
    address_set_settle(&out->ours);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static bool is_in(const struct region *m, uint64_t address)
{
    return m && address >= m->start && address < m->end;
}

/* The end of a thread's storage and descriptor in this mapping. */
static uint64_t storage_end(const struct region *m, uint64_t pointer)
{
    return m->end - pointer > STOPPED_ABOVE_POINTER ? pointer + STOPPED_ABOVE_POINTER : m->end;
}

/*
 * glibc puts a thread's storage and descriptor at the top of its stack. If the thread is on another
 * stack for now (of a signal handler or a coroutine), all of its own stack counts. A stack inside a
 * heap block is followed like any other block.
 */
static void add_stack(const struct root_facts *f, const struct reachability *reach,
                      const struct root_thread *t, struct address_set *out)
{
    const struct region *stack = memory_at(f->memory, t->stack);
    const struct region *storage = memory_at(f->memory, t->pointer);
    uint64_t from = t->stack - RED_ZONE;
    bool at_home = is_in(stack, t->pointer) && t->pointer > t->stack;
    if (stack && stack->kind == REGION_ANONYMOUS && stack->writable &&
        reachability_find(reach, t->stack) == UINT32_MAX) {
        uint64_t end = at_home ? storage_end(stack, t->pointer) : stack->end;
        address_set_add(out, from > stack->start ? from : stack->start, end);
    }
    struct address_set known = {0};
    address_set_inside(&f->mapped, t->pointer, t->pointer + 1, &known);
    if (!at_home && storage && storage->kind == REGION_ANONYMOUS && !known.items.count &&
        reachability_find(reach, t->pointer) == UINT32_MAX)
        address_set_add(out, storage->start, storage_end(storage, t->pointer));
    address_set_release(&known);
}

/*
 * glibc keeps the stacks of ended threads for new ones, and with each stack the thread's
 * descriptor, which points to the thread's storage. Everything else on such a stack is stale.
 */
static void add_descriptor(const struct memory *m, const struct region *stack,
                           struct address_set *out)
{
    uint64_t words[STOPPED_DESCRIPTOR_LAST / 8];
    struct address_range top = {stack->end - sizeof words, stack->end};
    if (stack->end - stack->start < sizeof words)
        return;
    memory_read((void *)(uintptr_t)m, &top, 1, (char *)words);
    for (size_t i = 0; i + STOPPED_DESCRIPTOR_WORDS <= sizeof words / 8;
         i += STOPPED_DESCRIPTOR_STRIDE)
        if (stopped_is_descriptor(words + i, top.start + i * 8))
            address_set_add(out, top.start + i * 8, stack->end);
}

static void add_descriptors(const struct memory *m, struct address_set *out)
{
    for (size_t i = 1; i < m->regions.count; i++) {
        const struct region *each = &m->regions.items[i], *guard = each - 1;
        if (each->kind == REGION_ANONYMOUS && each->writable && !guard->readable &&
            guard->end == each->start)
            add_descriptor(m, each, out);
    }
}

/* Where the live part of the first thread's stack begins. If no thread is on it now, all of it
 * counts. */
static uint64_t stack_start(const struct root_facts *f, const struct region *m)
{
    uint64_t from = m->end;
    for (size_t i = 0; i < f->threads.count; i++)
        if (is_in(m, f->threads.items[i].stack) && f->threads.items[i].stack < from)
            from = f->threads.items[i].stack;
    return from == m->end || from - m->start < RED_ZONE ? m->start : from - RED_ZONE;
}

/* --- all roots -------------------------------------------------------------------------------- */

/* The part of the ranges that can be read and is not tidemark's, in order. */
static void readable_part(const struct root_facts *f, const struct address_set *ours,
                          struct address_set *ranges, struct address_set *out)
{
    struct address_set there = {0};
    address_set_settle(ranges);
    for (size_t i = 0; i < ranges->items.count; i++)
        address_set_inside(memory_there(f->memory), ranges->items.items[i].start,
                           ranges->items.items[i].end, &there);
    for (size_t i = 0; i < there.items.count; i++)
        address_set_outside(ours, there.items.items[i].start, there.items.items[i].end, out);
    address_set_release(&there);
}

/* An executable mapping that the program did not make is an allocator's, as in a process all of
 * whose memory is executable (READ_IMPLIES_EXEC). */
static void take_code(const struct root_facts *f, const struct address_set *ours,
                      struct reachability *reach)
{
    struct address_set code = {0}, not_ours = {0};
    for (size_t i = 0; i < f->memory->regions.count; i++) {
        const struct region *m = &f->memory->regions.items[i];
        if (m->generated && (m->kind == REGION_FILE || f->everything))
            address_set_add(&code, m->start, m->end);
        else if (m->generated && m->kind != REGION_OURS)
            address_set_inside(&f->mapped, m->start, m->end, &code);
    }
    readable_part(f, ours, &code, &not_ours);
    for (size_t i = 0; i < not_ours.items.count; i++)
        reachability_from_code(reach, not_ours.items.items[i].start, not_ours.items.items[i].end);
    address_set_release(&code);
    address_set_release(&not_ours);
}

void roots_take(const struct root_facts *f, struct reachability *reach)
{
    struct module_data data = {0};
    struct address_set anonymous = {0}, not_ours = {0}, roots = {0};
    find_module_data(f->memory, &data);
    address_set_copy(&data.ours, &f->own);
    address_set_settle(&data.ours);
    address_set_copy(&anonymous, &f->mapped);
    address_set_copy(&anonymous, &data.all);
    for (size_t i = 0; i < f->threads.count; i++)
        add_stack(f, reach, &f->threads.items[i], &anonymous);
    add_descriptors(f->memory, &anonymous);
    address_set_settle(&anonymous);
    for (size_t i = 0; i < f->memory->regions.count; i++) {
        const struct region *m = &f->memory->regions.items[i];
        if (!m->written || !m->readable || m->kind == REGION_OURS)
            continue;
        if (m->kind == REGION_STACK)
            address_set_add(&roots, stack_start(f, m), m->end);
        else if (m->kind == REGION_FILE || f->everything)
            address_set_add(&roots, m->start, m->end);
        else
            address_set_inside(&anonymous, m->start, m->end, &roots);
    }
    readable_part(f, &data.ours, &roots, &not_ours);
    for (size_t i = 0; i < not_ours.items.count; i++) {
        struct address_range s = not_ours.items.items[i];
        struct address_set libcs = {0}, others = {0};
        address_set_inside(&data.libcs, s.start, s.end, &libcs);
        address_set_outside(&data.libcs, s.start, s.end, &others);
        for (size_t k = 0; k < libcs.items.count; k++)
            reachability_from(reach, libcs.items.items[k].start, libcs.items.items[k].end, true);
        for (size_t k = 0; k < others.items.count; k++)
            reachability_from(reach, others.items.items[k].start, others.items.items[k].end, false);
        address_set_release(&libcs);
        address_set_release(&others);
    }
    take_code(f, &data.ours, reach);
    address_set_release(&data.all);
    address_set_release(&data.libcs);
    address_set_release(&data.ours);
    address_set_release(&anonymous);
    address_set_release(&roots);
    address_set_release(&not_ours);
}
