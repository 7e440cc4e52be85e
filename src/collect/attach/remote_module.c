#include "collect/attach/remote_module.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "collect/proc/smaps.h"

#define DYNAMIC_MOST 256
#define HEADERS_MOST 64
#define TABLE_MOST   (UINT64_C(64) << 20)
#define HASH_MOST    (1u << 22)
#define HIDDEN       0x8000u /* a version of a function that is kept for old programs */

/* --- mappings --------------------------------------------------------------------------------- */

static struct remote_module *module_of(struct remote_modules *m, const char *path)
{
    /* The mappings of a file follow each other, perhaps with anonymous ones in between. */
    for (size_t i = m->items.count; i-- > 0;)
        if (strcmp(m->items.items[i].path, path) == 0)
            return &m->items.items[i];
    return NULL;
}

static void add_mapping(struct remote_modules *m, const struct proc_mapping *p)
{
    uint64_t start = p->mapping.start, end = p->mapping.end, offset = p->mapping.offset;
    bool writable = p->mapping.flags & MAPPING_WRITE;
    bool executable = p->mapping.flags & MAPPING_EXECUTE;
    *vec_push(&m->regions) = (struct remote_region){.start = start,
                                                    .end = end,
                                                    .executable = executable,
                                                    .is_stack = strcmp(p->name, "[stack]") == 0};
    if (p->name[0] != '/')
        return;
    struct remote_module *f = module_of(m, p->name);
    if (!f || offset == 0) { /* a file that is mapped twice is two modules */
        if (offset)
            return;
        if (!f || f->code_end != f->code_start) {
            f = vec_push(&m->items);
            *f = (struct remote_module){.path = xstrdup(p->name), .start = start};
        }
    }
    f->end = end;
    if (executable) {
        f->code_start = f->code_start ? f->code_start : start;
        f->code_end = end;
    }
    if (writable) {
        f->data_start = f->data_start ? f->data_start : start;
        f->data_end = end;
    }
}

int remote_modules_open(struct remote_modules *m, pid_t pid)
{
    struct strbuf text = {0};
    struct proc_mappings all = {0};
    *m = (struct remote_modules){.pid = pid};
    int code = proc_read_mappings(pid, "maps", &text, &all);
    for (size_t i = 0; i < all.items.count; i++)
        add_mapping(m, &all.items.items[i]);
    vec_release(&all.items);
    strbuf_release(&text);
    if (!code)
        remote_memory_open(&m->memory, pid);
    return code;
}

void remote_modules_release(struct remote_modules *m)
{
    for (size_t i = 0; i < m->items.count; i++) {
        free(m->items.items[i].path);
        free(m->items.items[i].symbols);
        free(m->items.items[i].strings);
        free(m->items.items[i].versions);
        free(m->items.items[i].tables);
    }
    vec_release(&m->items);
    vec_release(&m->regions);
    remote_memory_close(&m->memory);
}

struct remote_module *remote_module_named(struct remote_modules *m, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < m->items.count; i++) {
        const char *base = path_base(m->items.items[i].path);
        if (strncmp(base, name, size) == 0 && (base[size] == '.' || base[size] == '-') &&
            m->items.items[i].code_start)
            return &m->items.items[i];
    }
    return NULL;
}

struct remote_module *remote_module_at(struct remote_modules *m, uint64_t address)
{
    for (size_t i = 0; i < m->items.count; i++)
        if (address >= m->items.items[i].start && address < m->items.items[i].end)
            return &m->items.items[i];
    return NULL;
}

const struct remote_region *remote_region_at(const struct remote_modules *m, uint64_t address)
{
    for (size_t i = 0; i < m->regions.count; i++)
        if (address >= m->regions.items[i].start && address < m->regions.items[i].end)
            return &m->regions.items[i];
    return NULL;
}

/* --- exported functions ----------------------------------------------------------------------- */

static bool get(const struct remote_modules *m, uint64_t address, void *out, size_t size)
{
    return remote_memory_read(&m->memory, address, out, size) == (ssize_t)size;
}

static uint32_t hashed_count(const struct remote_modules *m, uint64_t table)
{
    uint32_t head[4], last = 0, link = 0;
    if (!get(m, table, head, sizeof head) || !head[0] || head[0] > HASH_MOST || head[2] > HASH_MOST)
        return 0;
    uint32_t *buckets = xmalloc(head[0] * sizeof *buckets);
    uint64_t at = table + 16 + UINT64_C(8) * head[2];
    if (get(m, at, buckets, head[0] * sizeof *buckets))
        for (uint32_t i = 0; i < head[0]; i++)
            last = buckets[i] > last ? buckets[i] : last;
    free(buckets);
    uint64_t chains = at + UINT64_C(4) * head[0];
    if (last < head[1])
        return last ? 0 : head[1];
    for (; last - head[1] < HASH_MOST && !(link & 1); last++)
        if (!get(m, chains + UINT64_C(4) * (last - head[1]), &link, sizeof link))
            return 0;
    return last;
}

struct tables {
    uint64_t symbols, strings, strings_size, gnu_hash, hash, versions;
};

static bool find_tables(const struct remote_modules *m, struct remote_module *f, struct tables *t)
{
    Elf64_Ehdr e;
    Elf64_Phdr headers[HEADERS_MOST];
    Elf64_Dyn dynamic[DYNAMIC_MOST];
    uint64_t first = UINT64_MAX, at = 0, size = 0;
    if (!get(m, f->start, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_phentsize != sizeof *headers || !e.e_phnum || e.e_phnum > HEADERS_MOST ||
        !get(m, f->start + e.e_phoff, headers, e.e_phnum * sizeof *headers))
        return false;
    for (unsigned i = 0; i < e.e_phnum; i++) {
        if (headers[i].p_type == PT_LOAD && headers[i].p_vaddr < first)
            first = headers[i].p_vaddr & ~UINT64_C(4095);
        if (headers[i].p_type == PT_DYNAMIC) {
            at = headers[i].p_vaddr;
            size = headers[i].p_memsz;
        }
    }
    f->bias = f->start - first;
    if (!at || size > sizeof dynamic)
        size = at ? sizeof dynamic : 0;
    if (!size || !get(m, f->bias + at, dynamic, size))
        return false;
    for (size_t i = 0; i < size / sizeof *dynamic && dynamic[i].d_tag != DT_NULL; i++) {
        uint64_t value = dynamic[i].d_un.d_ptr, p = value < f->bias ? value + f->bias : value;
        switch (dynamic[i].d_tag) {
        case DT_SYMTAB:
            t->symbols = p;
            break;
        case DT_STRTAB:
            t->strings = p;
            break;
        case DT_STRSZ:
            t->strings_size = value;
            break;
        case DT_GNU_HASH:
            t->gnu_hash = p;
            break;
        case DT_HASH:
            t->hash = p;
            break;
        case DT_VERSYM:
            t->versions = p;
            break;
        }
    }
    return t->symbols && t->strings && t->strings_size && t->strings_size < TABLE_MOST;
}

static void read_exports(const struct remote_modules *m, struct remote_module *f)
{
    struct tables t = {0};
    uint32_t head[2] = {0};
    if (f->read)
        return;
    f->read = true;
    if (!find_tables(m, f, &t))
        return;
    size_t count = t.gnu_hash                                    ? hashed_count(m, t.gnu_hash)
                   : t.hash && get(m, t.hash, head, sizeof head) ? head[1]
                                                                 : 0;
    if (!count || count > TABLE_MOST / sizeof(Elf64_Sym))
        return;
    f->symbols = xmalloc(count * sizeof(Elf64_Sym));
    f->strings = xmalloc(t.strings_size + 1);
    f->strings_size = t.strings_size;
    f->strings[t.strings_size] = '\0';
    f->versions = t.versions ? xmalloc(count * sizeof *f->versions) : NULL;
    if (get(m, t.symbols, f->symbols, count * sizeof(Elf64_Sym)) &&
        get(m, t.strings, f->strings, t.strings_size))
        f->symbol_count = count;
    if (f->versions && !get(m, t.versions, f->versions, count * sizeof *f->versions)) {
        free(f->versions);
        f->versions = NULL;
    }
}

bool remote_function(struct remote_modules *m, struct remote_module *in, const char *name,
                     struct remote_function *out)
{
    bool found = false;
    read_exports(m, in);
    for (size_t i = 1; i < in->symbol_count; i++) {
        Elf64_Sym s;
        memcpy(&s, in->symbols + i * sizeof s, sizeof s);
        if (s.st_shndx == SHN_UNDEF || !s.st_value || s.st_name >= in->strings_size ||
            strcmp(in->strings + s.st_name, name) != 0)
            continue;
        bool hidden = in->versions && in->versions[i] & HIDDEN;
        if (!found || !hidden)
            *out = (struct remote_function){in->bias + s.st_value, s.st_size};
        found = true;
        if (!hidden)
            break;
    }
    return found;
}

void remote_functions(struct remote_modules *m, struct remote_module *in,
                      void (*see)(void *context, uint64_t address, uint64_t size), void *context)
{
    read_exports(m, in);
    for (size_t i = 1; i < in->symbol_count; i++) {
        Elf64_Sym s;
        memcpy(&s, in->symbols + i * sizeof s, sizeof s);
        if (s.st_shndx != SHN_UNDEF && s.st_value && ELF64_ST_TYPE(s.st_info) == STT_FUNC)
            see(context, in->bias + s.st_value, s.st_size);
    }
}
