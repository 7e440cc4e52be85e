#include "record/other_names.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/find_export.h"
#include "record/loaded_file.h"
#include "record/patch.h"
#include "record/recorder.h"

void *other_next[OTHER_COUNT];
size_t (*other_usable)(const void *);

#define DECLARE(name)                                                                              \
    extern const char hook_##name[] __asm__("other_hook_" #name)                                   \
        __attribute__((visibility("hidden")));
OTHER_FUNCTIONS(DECLARE)

static struct patched functions[OTHER_COUNT] = {
#define FUNCTION(n) [OTHER_##n] = {.name = #n, .hook = hook_##n},
    OTHER_FUNCTIONS(FUNCTION)};

/* The allocators with such functions: by prefix, and by a function that is always there. For one
 * without a prefix, those with the names of malloc's family are already hooked. */
static const struct family {
    const char *prefix, *key, *usable;
    enum other_function first, last; /* a program's own zalloc, say, is not jemalloc's */
} families[] = {
    {"", "mallocx", "malloc_usable_size", OTHER_mallocx, OTHER_sdallocx},
    {"_rjem_", "malloc", "malloc_usable_size", OTHER_malloc, OTHER_sdallocx},
    {"je_", "mallocx", "malloc_usable_size", OTHER_malloc, OTHER_sdallocx},
    {"mi_", "malloc", "usable_size", OTHER_malloc, OTHER_strndup},
    {"tc_", "malloc", "malloc_size", OTHER_malloc, OTHER_free_sized},
    {"moz_", "arena_malloc", "malloc_usable_size", OTHER_arena_malloc, OTHER_arena_free}};
#define FAMILIES  (sizeof families / sizeof *families)
#define NAME_SIZE 48

/* A larger distance between symbols and strings means something else. */
#define SYMBOLS_BYTES (16u << 20)

static bool taken_over;

bool other_names_taken_over(void)
{
    return taken_over;
}

/* --- finding the functions -------------------------------------------------------------------- */

static const char *full_name(const struct family *f, const char *name, char out[NAME_SIZE])
{
    size_t prefix = strlen(f->prefix), size = strlen(name) + 1;
    memcpy(out, f->prefix, prefix);
    memcpy(out + prefix, name, size);
    return out;
}

/* The symbols that a file imports come before those in its hash table. If that is empty, it does
 * not say how many there are; the strings follow the symbols. */
static size_t imports_end(const struct exports *x)
{
    const uint32_t *hash = x->gnu_hash;
    uintptr_t symbols = (uintptr_t)x->symbols, strings = (uintptr_t)x->strings;
    if (!hash)
        return x->hash ? x->hash[1] : 0;
    const uint32_t *buckets = hash + 4 + 2 * (size_t)hash[2];
    for (uint32_t i = 0; i < hash[0]; i++)
        if (buckets[i])
            return hash[1];
    return strings > symbols && strings - symbols < SYMBOLS_BYTES
               ? (strings - symbols) / sizeof *x->symbols
               : hash[1];
}

static bool imports(const struct exports *x, const struct family *f)
{
    size_t prefix = strlen(f->prefix), end = x->symbols ? imports_end(x) : 0;
    for (size_t i = 1; x->symbols && x->strings && i < end; i++) {
        const char *name = x->strings + x->symbols[i].st_name;
        if (x->symbols[i].st_shndx != SHN_UNDEF || strncmp(name, f->prefix, prefix) != 0)
            continue;
        for (unsigned k = f->first; k <= f->last; k++)
            if (strcmp(name + prefix, functions[k].name) == 0)
                return true;
    }
    return false;
}

struct search {
    const struct family *family; /* looked for, or found */
    struct exports exports;
    uint64_t own;
    bool is_program, found;
};

static void read_exports(struct exports *x, const struct dl_phdr_info *info)
{
    struct link_map m = {.l_addr = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            m.l_ld = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    exports_read(x, &m);
}

static int look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    char name[NAME_SIZE];
    bool is_program = s->is_program;
    (void)size;
    s->is_program = false;
    if (info->dlpi_addr == s->own || info->dlpi_addr == recorder.loader)
        return 0;
    read_exports(&s->exports, info);
    for (s->family = families; s->family < families + FAMILIES; s->family++)
        if (exports_find(&s->exports, full_name(s->family, s->family->key, name)) &&
            !exports_find(&s->exports, "__asan_init")) {
            s->is_program = is_program;
            s->found = true;
            return 1;
        }
    return 0;
}

static int look_for_users(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct search *s = arg;
    struct exports x;
    (void)size;
    if (info->dlpi_addr == s->own || info->dlpi_addr == s->exports.base)
        return 0;
    read_exports(&x, info);
    return imports(&x, s->family);
}

static void note_function(const char *name, uint64_t address, uint64_t size, const struct family *f)
{
    char wanted[NAME_SIZE];
    if (strcmp(name, full_name(f, f->usable, wanted)) == 0)
        memcpy(&other_usable, &address, sizeof address);
    for (unsigned k = f->first; k <= f->last; k++)
        if (strcmp(name, full_name(f, functions[k].name, wanted)) == 0) {
            functions[k].address = address;
            functions[k].size = size;
        }
}

/* Whether the allocator's strdup is the program's too: libc's would call malloc, which is hooked.
 * mimalloc 3 has it, and mimalloc 2 does not. */
static bool replaces_strdup(const struct search *s)
{
    char name[NAME_SIZE];
    const ElfW(Sym) *own = exports_find(&s->exports, full_name(s->family, "strdup", name));
    const ElfW(Sym) *plain = exports_find(&s->exports, "strdup");
    return own && plain && own->st_value == plain->st_value;
}

/* In a library, only if somebody calls them. */
static bool find_exported(void)
{
    const struct link_map *own = loaded_file_map(functions);
    struct search s = {.own = own ? own->l_addr : 0, .is_program = true};
    char name[NAME_SIZE];
    dl_iterate_phdr(look_into, &s);
    if (!s.found || (!s.is_program && !replaces_strdup(&s) && !dl_iterate_phdr(look_for_users, &s)))
        return false;
    for (unsigned k = s.family->first; k <= s.family->last + 1u; k++) {
        const char *wanted = k <= s.family->last ? functions[k].name : s.family->usable;
        const ElfW(Sym) *symbol = exports_find(&s.exports, full_name(s.family, wanted, name));
        if (symbol && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_size)
            note_function(name, s.exports.base + symbol->st_value, symbol->st_size, s.family);
    }
    return true;
}

/* --- a Rust program: its functions are in the symbol table that is not loaded ----------------- */

struct image {
    const char *bytes;
    size_t size;
};

static const void *part(const struct image *m, uint64_t offset, uint64_t size)
{
    return offset <= m->size && size <= m->size - offset ? m->bytes + offset : NULL;
}

static const Elf64_Shdr *section(const struct image *m, const Elf64_Ehdr *e, unsigned i)
{
    return i < e->e_shnum
               ? part(m, e->e_shoff + (uint64_t)i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr))
               : NULL;
}

static bool is_of_rust(const struct image *m, const Elf64_Ehdr *e)
{
    const Elf64_Shdr *names = section(m, e, e->e_shstrndx);
    for (unsigned i = 1; names && i < e->e_shnum; i++) {
        const Elf64_Shdr *s = section(m, e, i);
        const char *name = s ? part(m, names->sh_offset + s->sh_name, sizeof ".comment") : NULL;
        const char *text = name && memcmp(name, ".comment", sizeof ".comment") == 0
                               ? part(m, s->sh_offset, s->sh_size)
                               : NULL;
        if (text)
            return memmem(text, s->sh_size, "rustc", 5);
    }
    return false;
}

/* Calls `see` for each function that the file itself defines. */
static void each_function(const struct image *m, const Elf64_Ehdr *e,
                          void (*see)(void *context, const char *name, const Elf64_Sym *y),
                          void *context)
{
    for (unsigned i = 1; i < e->e_shnum; i++) {
        const Elf64_Shdr *s = section(m, e, i);
        const Elf64_Shdr *t = s && s->sh_type == SHT_SYMTAB ? section(m, e, s->sh_link) : NULL;
        const Elf64_Sym *symbols = t ? part(m, s->sh_offset, s->sh_size) : NULL;
        const char *text = t ? part(m, t->sh_offset, t->sh_size) : NULL;
        if (!symbols || !text || !t->sh_size || text[t->sh_size - 1])
            continue;
        for (size_t k = 1; k < s->sh_size / sizeof *symbols; k++) {
            const Elf64_Sym *y = &symbols[k];
            if (ELF64_ST_TYPE(y->st_info) == STT_FUNC && y->st_shndx && y->st_size &&
                y->st_name < t->sh_size)
                see(context, text + y->st_name, y);
        }
    }
}

struct hidden {
    const struct family *family;
    uint64_t base;
};

static void choose_family(void *context, const char *name, const Elf64_Sym *y)
{
    static const struct family *const in_rust[] = {&families[1], &families[3]};
    struct hidden *h = context;
    char wanted[NAME_SIZE];
    (void)y;
    for (unsigned f = 0; f < 2 && !h->family; f++)
        if (strcmp(name, full_name(in_rust[f], in_rust[f]->key, wanted)) == 0)
            h->family = in_rust[f];
}

static void note_hidden(void *context, const char *name, const Elf64_Sym *y)
{
    const struct hidden *h = context;
    note_function(name, h->base + y->st_value, y->st_size, h->family);
}

static bool find_in_table(const struct image *m, const Elf64_Ehdr *e, uint64_t base)
{
    struct hidden h = {.base = base};
    each_function(m, e, choose_family, &h);
    if (h.family)
        each_function(m, e, note_hidden, &h);
    return h.family != NULL;
}

static bool find_hidden(void)
{
    const struct link_map *program = loaded_file_map(functions);
    bool found = false;
    while (program && program->l_prev)
        program = program->l_prev;
    if (!program)
        return false;
    long fd = sys_call(SYS_openat, (long)AT_FDCWD, "/proc/self/exe", (long)(O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return false;
    long size = sys_call(SYS_lseek, fd, 0L, (long)SEEK_END);
    long p = size > (long)sizeof(Elf64_Ehdr)
                 ? sys_call(SYS_mmap, 0L, size, (long)PROT_READ, (long)MAP_PRIVATE, fd, 0L)
                 : -1;
    sys_call(SYS_close, fd);
    if (p < 0 && p > -4096)
        return false;
    struct image image = {(const char *)p, (size_t)size};
    const Elf64_Ehdr *e = (const Elf64_Ehdr *)p;
    if (e->e_shentsize == sizeof(Elf64_Shdr) && is_of_rust(&image, e))
        found = find_in_table(&image, e, program->l_addr);
    sys_call(SYS_munmap, p, size);
    return found;
}

/* --- other_names_take_over
 * -------------------------------------------------------------------------- */

/* Skips malloc's own functions under other names. Returns the address of one of the others, or
 * 0. */
static uint64_t drop_taken(void)
{
    uint64_t near = 0;
    for (struct patched *f = functions; f < functions + OTHER_COUNT; f++) {
        if (own_malloc_took(f->address))
            f->address = 0;
        near = near ? near : f->address;
    }
    return near;
}

/* A function that is also malloc's is now reached through its trampoline. */
static void set_next(void)
{
    void *slots[] = {
        &next.malloc,         &next.calloc,        &next.realloc,           &next.free,
        &next.posix_memalign, &next.aligned_alloc, &next.memalign,          &next.valloc,
        &next.pvalloc,        &next.free_sized,    &next.free_aligned_sized};
    for (const struct patched *f = functions; f < functions + OTHER_COUNT; f++) {
        memcpy(&other_next[f - functions], &f->trampoline, sizeof f->trampoline);
        for (size_t i = 0; f->address && i < sizeof slots / sizeof *slots; i++)
            if (memcmp(slots[i], &f->address, sizeof f->address) == 0)
                memcpy(slots[i], &f->trampoline, sizeof f->trampoline);
    }
}

void other_names_take_over(void)
{
    static bool tried;
    struct loaded l;
    if (tried || (!recorder.late && !recorder_is_alone()))
        return;
    tried = true;
    if (!find_exported() && !find_hidden())
        return;
    uint64_t near = drop_taken();
    long memory = near && loaded_file_find(near, &l) ? patch_open() : -1;
    if (memory < 0)
        return;
    taken_over = patch_all(functions, OTHER_COUNT, l.start, memory);
    if (taken_over)
        set_next();
    patch_close(memory);
}
