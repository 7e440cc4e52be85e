#include "record/loaded.h"

#include <string.h>
#include <sys/auxv.h>

#include "record/libc.h"

/* --- before glibc 2.35 ------------------------------------------------------------------------ */

struct question {
    uint64_t address;
    struct libc_object *answer;
};

static struct link_map *map_of(const struct dl_phdr_info *info)
{
    struct link_map *m = _r_debug.r_map;
    while (m && (m->l_addr != info->dlpi_addr || strcmp(m->l_name, info->dlpi_name) != 0))
        m = m->l_next;
    return m;
}

static int compare_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct question *q = arg;
    struct libc_object o = {.map_start = (void *)UINTPTR_MAX};
    bool inside = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type == PT_GNU_EH_FRAME)
            o.eh_frame = (void *)start;
        if (p->p_type != PT_LOAD)
            continue;
        inside |= q->address >= start && q->address < end;
        start &= ~UINT64_C(4095);
        o.map_start = start < (uintptr_t)o.map_start ? (void *)start : o.map_start;
        o.map_end = end > (uintptr_t)o.map_end ? (void *)end : o.map_end;
    }
    if (!inside || !(o.link_map = map_of(info)))
        return 0;
    *q->answer = o;
    return 1;
}

static bool forked;

/* Holds a lock of the loader's for a moment, as whoever throws an exception does: it is held only
 * to change the list of files, and recursive. So none of ours may be held here. In a child of a
 * process with threads, one that is not there may hold it for ever: there, no file is found. */
static bool find_in_list(uint64_t address, struct libc_object *o)
{
    struct question q = {address, o};
    return !forked && dl_iterate_phdr(compare_one, &q) == 1;
}

void loaded_forked(void)
{
    forked = true;
}

/* --- all versions ----------------------------------------------------------------------------- */

static bool find(uint64_t address, struct libc_object *o)
{
    if (__builtin_expect(!libc.looked, 0))
        libc_look();
    return libc.find_object ? libc.find_object((void *)(uintptr_t)address, o) == 0
                            : find_in_list(address, o);
}

/* The program headers of a file, from its first segment; their number, 0: they are not there. */
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

/* The loader tells of one segment, or of all with the holes between them, which cannot be read. */
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
        start &= ~UINT64_C(4095); /* as the loader has it */
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
