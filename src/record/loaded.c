#include "record/loaded.h"

#include <string.h>
#include <sys/auxv.h>

#include "machine/page.h"
#include "record/libc.h"
#include "record/loader_list.h"

static bool find(uint64_t address, struct libc_object *o)
{
    if (__builtin_expect(!libc.searched, 0))
        libc_find_missing();
    return libc.find_object ? libc.find_object((void *)(uintptr_t)address, o) == 0
                            : loader_list_find(address, o);
}

/* The program headers of a file, from its first segment; returns their number, 0: not available. */
static unsigned headers_of(const struct link_map *m, uint64_t first, const ElfW(Phdr) * *out)
{
    struct libc_object o;
    if (!find(first, &o) || o.link_map != m)
        return 0;
    const ElfW(Ehdr) *file = o.map_start;
    uint64_t size = (uintptr_t)o.map_end - (uintptr_t)file;
    if (size < sizeof *file || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
        file->e_phentsize != sizeof **out || file->e_phoff > size ||
        file->e_phnum * sizeof **out > size - file->e_phoff)
        return 0;
    *out = (const void *)((const char *)file + file->e_phoff);
    return file->e_phnum;
}

/* The loader returns one segment, or all with the gaps between them, which cannot be read. */
static unsigned all_headers(const struct libc_object *o, const ElfW(Phdr) * *out)
{
    const struct link_map *m = o->link_map;
    unsigned count = headers_of(m, (uintptr_t)o->map_start, out);
    /* A program at fixed addresses has no base; the kernel says where its headers are. */
    return count ? count : headers_of(m, m->l_addr ? m->l_addr : getauxval(AT_PHDR), out);
}

bool loaded_find(uint64_t address, struct loaded *out)
{
    struct libc_object o;
    const ElfW(Phdr) * p;
    if (!find(address, &o))
        return false;
    *out = (struct loaded){
        .start = (uintptr_t)o.map_start, .end = (uintptr_t)o.map_end, .map = o.link_map};
    if (o.eh_frame >= o.map_start && o.eh_frame < o.map_end)
        out->tables =
            (struct cfi_section){.begin = o.map_start, .end = o.map_end, .header = o.eh_frame};
    for (unsigned i = 0, n = all_headers(&o, &p); i < n; i++) {
        if (p[i].p_type != PT_LOAD)
            continue;
        uint64_t start = out->map->l_addr + p[i].p_vaddr, end = start + p[i].p_memsz;
        if ((uintptr_t)o.eh_frame >= start && (uintptr_t)o.eh_frame < end)
            out->tables = (struct cfi_section){.begin = (const void *)(uintptr_t)start,
                                               .end = (const void *)(uintptr_t)end,
                                               .header = o.eh_frame};
        start &= ~(page_bytes() - 1); /* as the loader has it */
        out->start = start < out->start ? start : out->start;
        out->end = end > out->end ? end : out->end;
    }
    return true;
}

bool loaded_begins_at(uint64_t address)
{
    struct libc_object o;
    return find(address, &o) && (uintptr_t)o.map_start == address;
}

const struct link_map *loaded_map(const void *address)
{
    struct libc_object o;
    return find((uintptr_t)address, &o) ? o.link_map : NULL;
}

enum step_call loaded_call(uint64_t address, uint64_t callee)
{
    struct libc_object o;
    const ElfW(Phdr) * p;
    uint64_t target;
    if (!find(address - 1, &o))
        return CALL_NONE;
    for (unsigned i = 0, n = all_headers(&o, &p); i < n; i++) {
        uint64_t start = o.link_map->l_addr + p[i].p_vaddr, end = start + p[i].p_filesz;
        if (p[i].p_type != PT_LOAD || !(p[i].p_flags & PF_X) || !(p[i].p_flags & PF_R) ||
            address < start + ARCH_CALL_LONGEST || address > end)
            continue;
        const uint8_t *code = (const uint8_t *)(uintptr_t)address - ARCH_CALL_LONGEST;
        if (!arch_is_call(code))
            return CALL_NONE;
        if (!arch_calls_around(code, address, callee, &target))
            return CALL_ANY;
        if (target < start || target >= end)
            return CALL_BARE;
        uint8_t begin[ARCH_PROLOGUE] = {0}; /* the last function may be shorter */
        memcpy(begin, (const void *)(uintptr_t)target,
               end - target < sizeof begin ? end - target : sizeof begin);
        return arch_keeps_frame(begin) ? CALL_FRAMED : CALL_BARE;
    }
    return CALL_NONE;
}
