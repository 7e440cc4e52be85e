#include "record/loaded_file.h"

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

/* The program headers of a file, from its first segment; returns their number, 0: this is another
 * segment. */
static unsigned headers_of(const struct libc_object *first, const ElfW(Phdr) * *out)
{
    const ElfW(Ehdr) *file = first->map_start;
    uint64_t size = (uintptr_t)first->map_end - (uintptr_t)file;
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
    struct libc_object first;
    unsigned count = headers_of(o, out);
    if (count)
        return count;
    /* A program at fixed addresses has no base; the kernel says where its headers are. */
    uint64_t base = o->link_map->l_addr ? o->link_map->l_addr : getauxval(AT_PHDR);
    return find(base, &first) && first.link_map == o->link_map ? headers_of(&first, out) : 0;
}

static bool is_code(const ElfW(Phdr) * p)
{
    return p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_flags & PF_R;
}

bool loaded_file_find(uint64_t address, struct loaded *out)
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
        if (is_code(&p[i]) && address >= start && address < start + p[i].p_filesz) {
            out->code_start = start;
            out->code_end = start + p[i].p_filesz;
        }
        start &= ~(page_bytes() - 1); /* as the loader has it */
        out->start = start < out->start ? start : out->start;
        out->end = end > out->end ? end : out->end;
    }
    return true;
}

bool loaded_file_begins_at(uint64_t address)
{
    struct libc_object o;
    return find(address, &o) && (uintptr_t)o.map_start == address;
}

const struct link_map *loaded_file_map(const void *address)
{
    struct libc_object o;
    return find((uintptr_t)address, &o) ? o.link_map : NULL;
}

/* A program may forbid itself to read parts of its code. */
static bool can_read(code_readable *readable, uint64_t from, uint64_t size)
{
    return !readable || (readable(from) &&
                         ((from ^ (from + size - 1)) < page_bytes() || readable(from + size - 1)));
}

bool loaded_file_call_site(uint64_t address, code_readable *readable, struct call_site *out)
{
    struct libc_object o;
    const ElfW(Phdr) * p;
    uint64_t target;
    if (!find(address - 1, &o))
        return false;
    *out = (struct call_site){.address = address, .kind = CALL_NONE};
    unsigned n = all_headers(&o, &p);
    for (unsigned i = 0; i < n; i++) {
        uint64_t start = o.link_map->l_addr + p[i].p_vaddr, end = start + p[i].p_filesz;
        if (!is_code(&p[i]) || address < start + ARCH_CALL_LONGEST || address > end)
            continue;
        const uint8_t *code = (const uint8_t *)(uintptr_t)address - ARCH_CALL_LONGEST;
        if (!can_read(readable, address - ARCH_CALL_LONGEST, ARCH_CALL_LONGEST))
            return false;
        if (!arch_is_call(code))
            return true;
        out->kind = CALL_ANY;
        if (!arch_call_target(code, address, &target))
            return true;
        out->distance = (int32_t)(target - address);
        out->kind = CALL_BARE;
        if (target < start || target >= end)
            return true;
        uint8_t begin[ARCH_PROLOGUE] = {0}; /* the last function may be shorter */
        uint64_t size = end - target < sizeof begin ? end - target : sizeof begin;
        if (!can_read(readable, target, size))
            return false;
        memcpy(begin, (const void *)(uintptr_t)target, size);
        if (arch_keeps_frame(begin))
            out->kind = CALL_FRAMED;
        return true;
    }
    return n > 0;
}
