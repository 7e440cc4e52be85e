#include "record/can_preload.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/recorder.h"
#include "wire/sanitizer.h"

#define INTERPRETERS_MAX 4 /* the kernel follows no more */
#define FIRST_BYTES      256
#define HEADERS_MAX      64
#define DYNAMIC_MAX      96
#define PATH_OTHERWISE   "/bin:/usr/bin"

extern char **environ;

static bool read_at(long fd, void *out, size_t size, uint64_t offset)
{
    return sys_call(SYS_pread64, fd, out, size, offset) == (long)size;
}

/* "/proc/self/fd/N" */
static void descriptor_path(long fd, char out[32])
{
    char digits[16];
    unsigned n = 0;
    strcpy(out, "/proc/self/fd/");
    char *at = out + strlen(out);
    do
        digits[n++] = (char)('0' + fd % 10);
    while (fd /= 10);
    while (n)
        *at++ = digits[--n];
    *at = '\0';
}

/* Where in the file the byte at an address of the program's memory is; 0: nowhere. */
static uint64_t offset_of(long fd, const Elf64_Ehdr *e, uint64_t address)
{
    Elf64_Phdr h;
    for (unsigned i = 0; i < e->e_phnum && i < HEADERS_MAX; i++)
        if (read_at(fd, &h, sizeof h, e->e_phoff + (uint64_t)i * sizeof h) && h.p_type == PT_LOAD &&
            address - h.p_vaddr < h.p_filesz)
            return h.p_offset + (address - h.p_vaddr);
    return 0;
}

/* Is one of the libraries in DT_NEEDED a sanitizer? They come first in the list. */
static bool needs_sanitizer(long fd, const Elf64_Ehdr *e, const Elf64_Phdr *dynamic)
{
    Elf64_Dyn list[DYNAMIC_MAX];
    char name[WIRE_SANITIZER_NAME];
    uint64_t names = 0;
    size_t count = dynamic->p_filesz / sizeof *list;
    count = count < DYNAMIC_MAX ? count : DYNAMIC_MAX;
    if (!read_at(fd, list, count * sizeof *list, dynamic->p_offset))
        return false;
    for (size_t i = 0; i < count && !names; i++)
        if (list[i].d_tag == DT_STRTAB)
            names = offset_of(fd, e, list[i].d_un.d_ptr);
    for (size_t i = 0; i < count && names && list[i].d_tag == DT_NEEDED; i++)
        if (read_at(fd, name, sizeof name, names + list[i].d_un.d_val) && wire_is_sanitizer(name))
            return true;
    return false;
}

/* A C library in an unusual place still has its loader's name. */
static enum wire_out judge_loader(long fd, const Elf64_Ehdr *e)
{
    bool has_loader = false;
    for (unsigned i = 0; i < e->e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr h;
        char loader[FIRST_BYTES];
        if (!read_at(fd, &h, sizeof h, e->e_phoff + (uint64_t)i * sizeof h))
            return WIRE_OUT_NONE;
        if (h.p_type == PT_DYNAMIC && has_loader && needs_sanitizer(fd, e, &h))
            return WIRE_OUT_SANITIZER;
        if (h.p_type != PT_INTERP)
            continue;
        if (h.p_filesz < 2 || h.p_filesz > sizeof loader ||
            !read_at(fd, loader, h.p_filesz, h.p_offset))
            return WIRE_OUT_NONE;
        loader[h.p_filesz - 1] = '\0';
        const char *slash = strrchr(loader, '/');
        if (strcmp(slash ? slash + 1 : loader, ARCH_LOADER) != 0)
            return WIRE_OUT_LIBC;
        has_loader = true; /* its header comes before that of the dynamic section */
    }
    return has_loader ? WIRE_OUT_NONE : WIRE_OUT_STATIC;
}

static enum wire_out judge(long fd, const char *first)
{
    Elf64_Ehdr e;
    memcpy(&e, first, sizeof e);
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
        return WIRE_OUT_NONE;
    if (e.e_machine == EM_386 || e.e_machine == EM_ARM ||
        (e.e_machine == ARCH_MACHINE && e.e_ident[EI_CLASS] != ELFCLASS64))
        return WIRE_OUT_32_BIT;
    if (e.e_machine != ARCH_MACHINE || e.e_phentsize != sizeof(Elf64_Phdr))
        return WIRE_OUT_NONE; /* an emulator runs it, which may pass it on */
    return judge_loader(fd, &e);
}

/* The name in a #! line, ended in place; NULL: there is none. */
static char *named_interpreter(char line[FIRST_BYTES + 1])
{
    if (line[0] != '#' || line[1] != '!')
        return NULL;
    char *start = line + 2;
    while (*start == ' ' || *start == '\t')
        start++;
    start[strcspn(start, " \t\r\n")] = '\0';
    return *start ? start : NULL;
}

void program_examine(struct program *p, int folder, const char *path)
{
    char first[FIRST_BYTES + 1], itself[32];
    p->why = WIRE_OUT_NONE;
    p->name[0] = '\0';
    if (!*path)
        descriptor_path(folder, itself);
    path = *path ? path : itself;
    for (int i = 0; i <= INTERPRETERS_MAX && path; i++) {
        long fd = sys_call(SYS_openat, (long)(i ? AT_FDCWD : folder), path,
                           (long)(O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        if (fd < 0)
            return;
        size_t size = strlen(path);
        size = size < sizeof p->name ? size : 0; /* without /proc, it is known by this name */
        memcpy(p->name, path, size);
        memset(first, 0, sizeof first);
        long n = sys_call(SYS_pread64, fd, first, (long)FIRST_BYTES, 0L);
        path = n > 2 ? named_interpreter(first) : NULL;
        if (!path && n >= (long)sizeof(Elf64_Ehdr)) {
            p->why = judge(fd, first);
            descriptor_path(fd, itself);
            n = sys_call(SYS_readlinkat, (long)AT_FDCWD, itself, p->name, sizeof p->name - 1);
            size = n > 0 ? (size_t)n : size;
        } else {
            size = 0;
        }
        p->name[size] = '\0';
        sys_call(SYS_close, fd);
    }
}

static const char *search_path(void)
{
    for (char **e = environ; e && *e; e++)
        if (strncmp(*e, "PATH=", 5) == 0)
            return *e + 5;
    return PATH_OTHERWISE;
}

static bool can_be_run(const char *path)
{
    struct stat s;
    return sys_call(SYS_newfstatat, (long)AT_FDCWD, path, &s, 0L) == 0 && S_ISREG(s.st_mode) &&
           sys_call(SYS_faccessat, (long)AT_FDCWD, path, (long)X_OK) == 0;
}

void program_examine_by_name(struct program *p, const char *name)
{
    char path[2 * PROGRAM_NAME_MAX];
    size_t name_size = strlen(name);
    p->why = WIRE_OUT_NONE;
    p->name[0] = '\0';
    if (strchr(name, '/')) {
        program_examine(p, AT_FDCWD, name);
        return;
    }
    for (const char *at = search_path();; at++) {
        size_t size = strcspn(at, ":");
        if (size + name_size + 3 < sizeof path) {
            memcpy(path, size ? at : ".", size ? size : 1);
            size_t end = size ? size : 1;
            path[end] = '/';
            memcpy(path + end + 1, name, name_size + 1);
            if (can_be_run(path)) {
                program_examine(p, AT_FDCWD, path);
                return;
            }
        }
        at += size;
        if (!*at)
            return;
    }
}
