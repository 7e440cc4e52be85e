#include "record/loaded.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>

static bool find(uint64_t address, struct dl_find_object *o)
{
    return _dl_find_object((void *)(uintptr_t)address, o) == 0;
}

/* The program headers of a file, from its first segment; their number, 0: they are not there. */
static unsigned headers_of(const struct link_map *m, uint64_t first, const ElfW(Phdr) * *out)
{
    struct dl_find_object o;
    if (!find(first, &o) || o.dlfo_link_map != m)
        return 0;
    const ElfW(Ehdr) *file = o.dlfo_map_start;
    uint64_t size = (uintptr_t)o.dlfo_map_end - (uintptr_t)file;
    if (size < sizeof *file || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
        file->e_phentsize != sizeof **out || file->e_phoff > size ||
        file->e_phnum * sizeof **out > size - file->e_phoff)
        return 0;
    *out = (const void *)((const char *)file + file->e_phoff);
    return file->e_phnum;
}

/* The loader tells of one segment, or of all with the holes between them, which cannot be read. */
static unsigned all_headers(const struct dl_find_object *o, const ElfW(Phdr) * *out)
{
    const struct link_map *m = o->dlfo_link_map;
    unsigned count = headers_of(m, (uintptr_t)o->dlfo_map_start, out);
    /* A program at fixed addresses has no base; the kernel says where its headers are. */
    return count ? count : headers_of(m, m->l_addr ? m->l_addr : getauxval(AT_PHDR), out);
}

bool loaded_find(uint64_t address, struct loaded *out)
{
    struct dl_find_object o;
    const ElfW(Phdr) * p;
    if (!find(address, &o))
        return false;
    *out = (struct loaded){.start = (uintptr_t)o.dlfo_map_start,
                           .end = (uintptr_t)o.dlfo_map_end,
                           .map = o.dlfo_link_map};
    if (o.dlfo_eh_frame >= o.dlfo_map_start && o.dlfo_eh_frame < o.dlfo_map_end)
        out->tables = (struct cfi_section){
            .begin = o.dlfo_map_start, .end = o.dlfo_map_end, .header = o.dlfo_eh_frame};
    for (unsigned i = 0, n = all_headers(&o, &p); i < n; i++) {
        if (p[i].p_type != PT_LOAD)
            continue;
        uint64_t start = out->map->l_addr + p[i].p_vaddr, end = start + p[i].p_memsz;
        if ((uintptr_t)o.dlfo_eh_frame >= start && (uintptr_t)o.dlfo_eh_frame < end)
            out->tables = (struct cfi_section){.begin = (const void *)(uintptr_t)start,
                                               .end = (const void *)(uintptr_t)end,
                                               .header = o.dlfo_eh_frame};
        start &= ~UINT64_C(4095); /* as the loader has it */
        out->start = start < out->start ? start : out->start;
        out->end = end > out->end ? end : out->end;
    }
    return true;
}

const struct link_map *loaded_map(const void *address)
{
    struct dl_find_object o;
    return find((uintptr_t)address, &o) ? o.dlfo_link_map : NULL;
}

bool loaded_follows_call(uint64_t address)
{
    struct dl_find_object o;
    const ElfW(Phdr) * p;
    if (!find(address - 1, &o))
        return false;
    for (unsigned i = 0, n = all_headers(&o, &p); i < n; i++) {
        uint64_t start = o.dlfo_link_map->l_addr + p[i].p_vaddr;
        if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X && p[i].p_flags & PF_R &&
            address >= start + ARCH_CALL_LONGEST && address <= start + p[i].p_filesz)
            return arch_is_call((const uint8_t *)(uintptr_t)address - ARCH_CALL_LONGEST);
    }
    return false;
}
