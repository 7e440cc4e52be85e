#include "collect/naming/code_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/page.h"

#define TABLES_LARGEST (UINT64_C(256) << 20)
#define SECTIONS_MAX   65536
#define TABLE_HEADER   12
#define TABLE_PAIR     8
#define EH_SDATA4      0x0b
#define EH_DATAREL     0x30
#define EH_PCREL       0x10
#define EH_OMIT        0xff
#define EH_UDATA4      0x03
#define NOTES_LARGEST  65536

static bool read_at(int fd, void *out, uint64_t size, uint64_t offset)
{
    char *at = out;
    while (size) {
        ssize_t n = pread(fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (uint64_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

/* --- an unwind table for files that have none ------------------------------------------------- */

struct pair {
    int32_t address, fde;
};

static int by_address(const void *a, const void *b)
{
    int32_t x = ((const struct pair *)a)->address, y = ((const struct pair *)b)->address;
    return (x > y) - (x < y);
}

static uint32_t u32_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

/* The encoding of the start addresses in the FDEs of a CIE; EH_OMIT: an encoding too rare to
 * support. */
static uint8_t pointer_encoding(const uint8_t *cie, const uint8_t *end)
{
    const uint8_t *at = cie + 9; /* after length, id and version */
    const char *augmentation = (const char *)at;
    while (at < end && *at)
        at++;
    if (at >= end || augmentation[0] != 'z')
        return EH_OMIT;
    at++;
    /* Skip alignments, register, size. */
    for (unsigned numbers = 0; numbers < 4 && at < end; numbers++)
        while (at < end && *at++ & 0x80)
            ;
    for (const char *a = augmentation + 1; *a && at < end; a++) {
        if (*a == 'R')
            return *at;
        if (*a == 'L') {
            at++;
        } else if (*a == 'P') {
            unsigned size = (*at & 7) == 3 ? 4 : (*at & 7) == 2 ? 2 : 8;
            at += 1 + size;
        } else if (*a != 'S' && *a != 'B') {
            return EH_OMIT;
        }
    }
    return EH_OMIT;
}

/* Appends a table to the bytes of .eh_frame, which are [0, size) of f->bytes. */
static void make_table(struct code_file *f, uint64_t size)
{
    VEC(struct pair) pairs = {0};
    uint64_t header = (size + 7) & ~UINT64_C(7);
    const uint8_t *bytes = f->bytes, *end = bytes + size;
    for (const uint8_t *at = bytes; end - at >= 12;) {
        uint64_t length = u32_at(at);
        const uint8_t *next = at + 4 + length;
        if (length == 0 || length == UINT32_MAX || length > (uint64_t)(end - at) - 4)
            break;
        uint32_t back = u32_at(at + 4);
        if (back && back <= (uint64_t)(at + 4 - bytes)) {
            const uint8_t *cie = at + 4 - back;
            if (end - cie > 16 && pointer_encoding(cie, end) == (EH_PCREL | EH_SDATA4)) {
                /* The FDE's start is relative to its own field; the table's addresses are relative
                 * to the header. */
                int64_t place = at + 8 - bytes, begin = place + (int32_t)u32_at(at + 8);
                *vec_push(&pairs) = (struct pair){.address = (int32_t)(begin - (int64_t)header),
                                                  .fde = (int32_t)(at - bytes - (int64_t)header)};
            }
        }
        at = next;
    }
    if (pairs.count)
        qsort(pairs.items, pairs.count, sizeof *pairs.items, by_address);
    f->size = header + TABLE_HEADER + pairs.count * TABLE_PAIR;
    f->bytes = xrealloc(f->bytes, f->size);
    const uint8_t first[4] = {1, EH_PCREL | EH_SDATA4, EH_UDATA4, EH_DATAREL | EH_SDATA4};
    uint32_t words[2] = {(uint32_t) - (int64_t)(header + 4), (uint32_t)pairs.count};
    memcpy(f->bytes + header, first, 4);
    memcpy(f->bytes + header + 4, words, 8);
    if (pairs.count)
        memcpy(f->bytes + header + TABLE_HEADER, pairs.items, pairs.count * TABLE_PAIR);
    f->base = f->bytes;
    f->header = f->bytes + header;
    vec_release(&pairs);
}

/* --- reading the file ------------------------------------------------------------------------- */

/* For a file without .eh_frame_hdr: finds .eh_frame by its section name. */
static void read_section(struct code_file *f, int fd, const Elf64_Ehdr *e)
{
    Elf64_Shdr names, s;
    char name[16] = "";
    if (e->e_shentsize != sizeof s || !e->e_shoff || e->e_shstrndx >= e->e_shnum ||
        !read_at(fd, &names, sizeof names, e->e_shoff + (uint64_t)e->e_shstrndx * sizeof s))
        return;
    for (unsigned i = 0; i < e->e_shnum && i < SECTIONS_MAX; i++) {
        if (!read_at(fd, &s, sizeof s, e->e_shoff + (uint64_t)i * sizeof s) ||
            !read_at(fd, name, 10, names.sh_offset + s.sh_name) ||
            memcmp(name, ".eh_frame", 10) != 0)
            continue;
        if (s.sh_size < 16 || s.sh_size > TABLES_LARGEST || s.sh_type == SHT_NOBITS)
            return;
        f->bytes = xmalloc(s.sh_size);
        f->address = s.sh_addr;
        if (read_at(fd, f->bytes, s.sh_size, s.sh_offset)) {
            make_table(f, s.sh_size);
        } else {
            free(f->bytes);
            f->bytes = NULL;
        }
        return;
    }
}

static void read_build_id(struct code_file *f, int fd, const Elf64_Phdr *notes)
{
    uint64_t size = notes->p_filesz;
    if (size > NOTES_LARGEST)
        return;
    char *bytes = xmalloc(size + 1);
    Elf64_Nhdr n;
    for (uint64_t at = read_at(fd, bytes, size, notes->p_offset) ? 0 : size;
         at + sizeof n <= size;) {
        memcpy(&n, bytes + at, sizeof n);
        uint64_t name = at + sizeof n, data = name + ((n.n_namesz + UINT64_C(3)) & ~UINT64_C(3));
        if (data + n.n_descsz > size)
            break;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz <= sizeof f->build_id &&
            memcmp(bytes + name, "GNU", 4) == 0) {
            memcpy(f->build_id, bytes + data, n.n_descsz);
            f->build_id_size = n.n_descsz;
        }
        at = data + ((n.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
    }
    free(bytes);
}

/* The segment that holds .eh_frame_hdr holds .eh_frame too. */
static void read_tables(struct code_file *f, int fd, uint64_t header_address)
{
    for (size_t i = 0; i < f->segments.count; i++) {
        const struct code_segment *s = &f->segments.items[i];
        if (header_address < s->address || header_address - s->address >= s->size)
            continue;
        if (s->size > TABLES_LARGEST)
            return;
        f->bytes = xmalloc(s->size);
        if (!read_at(fd, f->bytes, s->size, s->offset)) {
            free(f->bytes);
            f->bytes = NULL;
            return;
        }
        f->base = f->bytes;
        f->size = s->size;
        f->address = s->address;
        f->header = f->bytes + (header_address - s->address);
        return;
    }
}

static void read_file(struct code_file *f, int fd)
{
    Elf64_Ehdr e;
    if (!read_at(fd, &e, sizeof e, 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(Elf64_Phdr))
        return;
    uint64_t header = 0;
    for (unsigned i = 0; i < e.e_phnum; i++) {
        Elf64_Phdr p;
        if (!read_at(fd, &p, sizeof p, e.e_phoff + (uint64_t)i * sizeof p))
            return;
        if (p.p_type == PT_LOAD)
            *vec_push(&f->segments) =
                (struct code_segment){p.p_offset, p.p_filesz, p.p_vaddr, p.p_flags & PF_X};
        else if (p.p_type == PT_GNU_EH_FRAME)
            header = p.p_vaddr;
        else if (p.p_type == PT_NOTE)
            read_build_id(f, fd, &p);
    }
    f->readable = true;
    if (header)
        read_tables(f, fd, header);
    else
        read_section(f, fd, &e);
}

static void read_vdso(struct code_file *f)
{
    const uint8_t *base = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (!base)
        return;
    const Elf64_Ehdr *e = (const void *)base;
    const Elf64_Phdr *p = (const void *)(base + e->e_phoff);
    for (unsigned i = 0; i < e->e_phnum; i++) {
        if (p[i].p_type == PT_LOAD) {
            *vec_push(&f->segments) =
                (struct code_segment){p[i].p_offset, p[i].p_filesz, p[i].p_vaddr, true};
            f->address = p[i].p_vaddr;
            f->size = p[i].p_filesz;
        } else if (p[i].p_type == PT_GNU_EH_FRAME) {
            f->header = base + p[i].p_vaddr;
        }
    }
    f->base = base;
    f->readable = true;
}

struct code_file *code_file(struct code_files *files, const char *path, const uint8_t *build_id,
                            uint32_t build_id_size)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    for (const char *c = path; *c; c++)
        key = (key ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    for (uint32_t i = 0; i < build_id_size; i++)
        key = (key ^ build_id[i]) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < files->files.count; i++)
        if (files->files.items[i]->key == key && strcmp(files->files.items[i]->path, path) == 0)
            return files->files.items[i];
    struct code_file *f = xcalloc(1, sizeof *f);
    *vec_push(&files->files) = f;
    f->path = xstrdup(path);
    f->key = key;
    if (strcmp(path, "[vdso]") == 0) {
        read_vdso(f);
        return f;
    }
    struct stat s;
    int fd = path[0] == '/' ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    if (fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode))
        read_file(f, fd);
    if (fd >= 0)
        close(fd);
    if (build_id_size && build_id_size <= sizeof f->build_id) {
        if (f->build_id_size && (f->build_id_size != build_id_size ||
                                 memcmp(f->build_id, build_id, build_id_size) != 0)) {
            free(f->bytes); /* the file has been replaced: its tables would be wrong */
            f->bytes = NULL;
            f->base = f->header = NULL;
        }
        memcpy(f->build_id, build_id, build_id_size);
        f->build_id_size = build_id_size;
    }
    return f;
}

uint64_t code_file_bias(const struct code_file *f, uint64_t start, uint64_t offset)
{
    for (size_t i = 0; i < f->segments.count; i++) {
        const struct code_segment *s = &f->segments.items[i];
        uint64_t first = s->offset & ~(page_bytes() - 1);
        if (s->executable && offset >= first && offset < s->offset + s->size)
            return start - offset - (s->address - s->offset);
    }
    return start - offset;
}

bool code_file_tables(const struct code_file *f, uint64_t bias, struct cfi_section *out)
{
    if (!f->header)
        return false;
    *out = (struct cfi_section){.begin = f->base,
                                .end = f->base + f->size,
                                .header = f->header,
                                .delta = bias + f->address - (uint64_t)(uintptr_t)f->base};
    return true;
}

void code_files_release(struct code_files *files)
{
    for (size_t i = 0; i < files->files.count; i++) {
        struct code_file *f = files->files.items[i];
        vec_release(&f->segments);
        free(f->bytes);
        free(f->path);
        free(f);
    }
    vec_release(&files->files);
}
