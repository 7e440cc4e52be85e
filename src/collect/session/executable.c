#include "collect/session/executable.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "collect/leakscan/lsan_default_suppressions.h"
#include "machine/registers.h"
#include "symbol/elfimage.h"
#include "wire/sanitizer.h"

#define INTERPRETERS_MAX 4 /* the kernel follows no more */

/* --- finding the file ------------------------------------------------------------------------- */

static bool can_be_run(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

char *executable_find(const char *name)
{
    if (strchr(name, '/'))
        return can_be_run(name) ? xstrdup(name) : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/bin:/usr/bin";; p++) {
        size_t size = strcspn(p, ":");
        char *file = size ? xasprintf("%.*s/%s", (int)size, p, name) : xasprintf("./%s", name);
        if (can_be_run(file))
            return file;
        free(file);
        p += size;
        if (!*p)
            return NULL;
    }
}

/* The interpreter in a file's #! line; NULL: it has none. */
static char *named_interpreter(const char *path)
{
    char line[256] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return NULL;
    const char *start = line + 2 + strspn(line + 2, " \t");
    size_t size = strcspn(start, " \t\r\n");
    return size ? xstrndup(start, size) : NULL;
}

char *executable_interpreter(const char *path)
{
    char *now = xstrdup(path);
    for (int i = 0; i < INTERPRETERS_MAX; i++) {
        char *next = named_interpreter(now);
        if (!next)
            break;
        free(now);
        now = next;
    }
    return now;
}

/* --- its rights ------------------------------------------------------------------------------- */

bool executable_changes_rights(const char *path, uid_t ruid, uid_t euid, gid_t rgid, gid_t egid)
{
    struct stat s;
    struct statvfs fs;
    if (stat(path, &s) != 0)
        return false;
    bool mounted_nosuid = statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID);
    if (!mounted_nosuid && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
        if (s.st_mode & S_ISUID)
            euid = s.st_uid;
        if ((s.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
            egid = s.st_gid;
    }
    bool capable =
        !mounted_nosuid && ruid != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
    return capable || euid != ruid || egid != rgid;
}

/* --- its contents ----------------------------------------------------------------------------- */

/* A symbol table of a 64-bit file. libelf gives it as an array. */
struct symbols {
    const Elf64_Sym *items;
    size_t count;
    const char *names;
    size_t names_size;
};

static bool symbols_open(struct symbols *s, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    s->names = elf_linked_text(elf, header, &s->names_size);
    if (!data || !data->d_buf || data->d_type != ELF_T_SYM || !s->names)
        return false;
    s->items = data->d_buf;
    s->count = data->d_size / sizeof *s->items;
    return true;
}

static const char *symbol_name(const struct symbols *s, const Elf64_Sym *symbol)
{
    return symbol->st_name < s->names_size ? s->names + symbol->st_name : "";
}

static bool is_allocation_function(const char *name)
{
    static const char *const names[] = {"malloc",        "calloc", "realloc", "posix_memalign",
                                        "aligned_alloc", "_Znwm",  "_Znam",   "strdup"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Is it an allocator whose functions have a prefix, so that it can coexist with malloc? */
static const char *other_allocator(const char *name)
{
    if (strcmp(name, "_rjem_malloc") == 0 || strcmp(name, "je_mallocx") == 0)
        return "jemalloc";
    return strcmp(name, "mi_malloc") == 0 ? "mimalloc" : NULL;
}

static void read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct executable *e)
{
    struct symbols symbols;
    bool dynamic = header->sh_type == SHT_DYNSYM;
    if (!symbols_open(&symbols, elf, section, header))
        return;
    for (size_t i = 1; i < symbols.count; i++) {
        const Elf64_Sym *symbol = &symbols.items[i];
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        if (type != STT_FUNC && type != STT_GNU_IFUNC)
            continue;
        const char *name = symbol_name(&symbols, symbol);
        if (symbol->st_shndx == SHN_UNDEF) {
            e->imports_malloc |= dynamic && is_allocation_function(name);
        } else if (strcmp(name, "malloc") == 0) {
            if (dynamic)
                e->malloc_address = symbol->st_value;
            enum own_malloc own = dynamic ? OWN_MALLOC_EXPORTED : OWN_MALLOC_HIDDEN;
            e->own_malloc = own > e->own_malloc ? own : e->own_malloc;
        } else if (strcmp(name, LSAN_FUNCTION) == 0) {
            e->has_suppressions = true;
        } else if (!e->other_allocator) {
            e->other_allocator = other_allocator(name);
        }
    }
}

/* Finds relocations against malloc and free: slots that the loader fills, at once or at the first
 * call. */
static void read_relocations(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                             struct executable *e)
{
    GElf_Shdr symbols_header;
    struct symbols symbols;
    Elf_Scn *symbols_section = elf_getscn(elf, header->sh_link);
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !data->d_buf || data->d_type != ELF_T_RELA || !symbols_section ||
        !gelf_getshdr(symbols_section, &symbols_header) ||
        !symbols_open(&symbols, elf, symbols_section, &symbols_header))
        return;
    const Elf64_Rela *r = data->d_buf, *end = r + data->d_size / sizeof *r;
    for (; r < end && !(e->malloc_slot && e->free_slot); r++) {
        size_t number = ELF64_R_SYM(r->r_info);
        if (number == 0 || number >= symbols.count || r->r_addend != 0)
            continue;
        const char *name = symbol_name(&symbols, &symbols.items[number]);
        if (strcmp(name, "malloc") == 0)
            e->malloc_slot = r->r_offset;
        if (strcmp(name, "free") == 0)
            e->free_slot = r->r_offset;
    }
}

static void read_sections(Elf *elf, struct executable *e)
{
    size_t names;
    if (gelf_getclass(elf) != ELFCLASS64 || elf_getshdrstrndx(elf, &names) != 0)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (name && (strcmp(name, ".go.buildinfo") == 0 || strcmp(name, ".note.go.buildid") == 0))
            e->is_go = true;
        if (header.sh_type == SHT_SYMTAB)
            e->has_symbols = true;
        if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
            read_symbols(elf, section, &header, e);
        if (header.sh_type == SHT_RELA && (header.sh_flags & SHF_ALLOC))
            read_relocations(elf, section, &header, e);
    }
}

static bool needs_sanitizer(Elf *elf)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        GElf_Dyn entry;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
            const char *name =
                entry.d_tag == DT_NEEDED ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : NULL;
            if (name && wire_is_sanitizer(name))
                return true;
        }
    }
    return false;
}

/* The kind, from header and program headers: sections may be stripped. */
static enum executable_kind kind_of(Elf *elf)
{
    GElf_Ehdr header;
    size_t count, size;
    if (!gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &count) != 0)
        return EXECUTABLE_UNKNOWN;
    if (header.e_machine == EM_386 || header.e_machine == EM_ARM ||
        (header.e_machine == ARCH_MACHINE && gelf_getclass(elf) != ELFCLASS64))
        return EXECUTABLE_32_BIT;
    if (header.e_machine != ARCH_MACHINE)
        return EXECUTABLE_FOREIGN;
    const char *bytes = elf_rawfile(elf, &size);
    for (size_t i = 0; i < count && i <= INT_MAX; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_INTERP)
            continue;
        if (!bytes || p.p_offset >= size || p.p_filesz > size - p.p_offset)
            return EXECUTABLE_UNKNOWN;
        char *loader = xstrndup(bytes + p.p_offset, p.p_filesz);
        /* A C library in an unusual place (Nix, a home folder) still has its loader's name. */
        bool ours = strcmp(path_base(loader), ARCH_LOADER) == 0;
        free(loader);
        return !ours                  ? EXECUTABLE_OTHER_LOADER
               : needs_sanitizer(elf) ? EXECUTABLE_SANITIZED
                                      : EXECUTABLE_DYNAMIC;
    }
    return EXECUTABLE_STATIC;
}

enum executable_kind executable_kind(const char *path)
{
    struct elf_image image;
    elf_version(EV_CURRENT);
    if (elf_image_open(&image, path) != 0)
        return EXECUTABLE_UNKNOWN;
    enum executable_kind kind = kind_of(image.elf);
    elf_image_release(&image);
    return kind;
}

struct executable executable_examine(const char *path)
{
    struct executable e = {.kind = EXECUTABLE_UNKNOWN};
    struct elf_image image;
    elf_version(EV_CURRENT);
    if (elf_image_open(&image, path) != 0)
        return e;
    e.kind = kind_of(image.elf);
    read_sections(image.elf, &e);
    elf_image_release(&image);
    return e;
}
