#include "record/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/recorder.h"

#define INTERPRETERS_MAX 4 /* the kernel follows no more */
#define FIRST_BYTES      256
#define HEADERS_MAX      64
#define LOADER_HEADERS   16
#define LOADER_STRINGS   65536
#define PATH_OTHERWISE   "/bin:/usr/bin"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#define OWN_LOADER  "ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#define OWN_LOADER  "ld-linux-aarch64.so.1"
#else
#error "which machine and loader are ours?"
#endif

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

/* The place in the file of an address. */
static bool file_offset(const Elf64_Phdr *h, unsigned count, uint64_t address, uint64_t *offset)
{
    for (unsigned i = 0; i < count; i++)
        if (h[i].p_type == PT_LOAD && address - h[i].p_vaddr < h[i].p_filesz) {
            *offset = address - h[i].p_vaddr + h[i].p_offset;
            return true;
        }
    return false;
}

/* Is there a string in [at, at + size) of the file, with its end? */
static bool file_has(long fd, uint64_t at, uint64_t size, const char *wanted)
{
    char text[FIRST_BYTES];
    size_t length = strlen(wanted) + 1;
    for (uint64_t done = 0; done + length <= size; done += sizeof text - length) {
        size_t n = size - done < sizeof text ? size - done : sizeof text;
        if (!read_at(fd, text, n, at + done))
            return false;
        if (memmem(text, n, wanted, length))
            return true;
    }
    return false;
}

/* Does this loader not know the version of glibc that we need? What cannot be read is left to it.
 */
static bool is_too_old(const char *loader)
{
    Elf64_Ehdr e;
    Elf64_Phdr h[LOADER_HEADERS];
    Elf64_Dyn d;
    uint64_t dynamic = 0, dynamic_size = 0, strings = 0, strings_size = 0;
    bool old = false;
    long fd = sys_call(SYS_openat, (long)AT_FDCWD, loader, (long)(O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return false;
    if (read_at(fd, &e, sizeof e, 0) && memcmp(e.e_ident, ELFMAG, SELFMAG) == 0 &&
        e.e_phentsize == sizeof *h && e.e_phnum <= LOADER_HEADERS &&
        read_at(fd, h, e.e_phnum * sizeof *h, e.e_phoff)) {
        for (unsigned i = 0; i < e.e_phnum; i++)
            if (h[i].p_type == PT_DYNAMIC) {
                dynamic = h[i].p_offset;
                dynamic_size = h[i].p_filesz;
            }
        for (uint64_t at = 0; at + sizeof d <= dynamic_size; at += sizeof d) {
            if (!read_at(fd, &d, sizeof d, dynamic + at) || d.d_tag == DT_NULL)
                break;
            if (d.d_tag == DT_STRTAB)
                strings = d.d_un.d_ptr;
            else if (d.d_tag == DT_STRSZ)
                strings_size = d.d_un.d_val;
        }
        if (strings && strings_size <= LOADER_STRINGS &&
            file_offset(h, e.e_phnum, strings, &strings))
            old = !file_has(fd, strings, strings_size, WIRE_NEEDS_GLIBC);
    }
    sys_call(SYS_close, fd);
    return old;
}

/* A C library in an odd place still has its loader's name. */
static enum wire_out judge_loader(long fd, const Elf64_Ehdr *e)
{
    for (unsigned i = 0; i < e->e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr h;
        char loader[FIRST_BYTES];
        if (!read_at(fd, &h, sizeof h, e->e_phoff + (uint64_t)i * sizeof h))
            return WIRE_OUT_NONE;
        if (h.p_type != PT_INTERP)
            continue;
        if (h.p_filesz < 2 || h.p_filesz > sizeof loader ||
            !read_at(fd, loader, h.p_filesz, h.p_offset))
            return WIRE_OUT_NONE;
        loader[h.p_filesz - 1] = '\0';
        const char *slash = strrchr(loader, '/');
        if (strcmp(slash ? slash + 1 : loader, OWN_LOADER) != 0)
            return WIRE_OUT_LIBC;
        return is_too_old(loader) ? WIRE_OUT_OLD : WIRE_OUT_NONE;
    }
    return WIRE_OUT_NONE;
}

static enum wire_out judge(long fd, const char *first)
{
    Elf64_Ehdr e;
    memcpy(&e, first, sizeof e);
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
        return WIRE_OUT_NONE;
    if (e.e_machine == EM_386 || e.e_machine == EM_ARM ||
        (e.e_machine == OWN_MACHINE && e.e_ident[EI_CLASS] != ELFCLASS64))
        return WIRE_OUT_32_BIT;
    if (e.e_machine != OWN_MACHINE || e.e_phentsize != sizeof(Elf64_Phdr))
        return WIRE_OUT_NONE; /* an emulator runs it, which may hand it on */
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

void program_look(struct program *p, int folder, const char *path)
{
    char first[FIRST_BYTES + 1], itself[32];
    p->why = WIRE_OUT_NONE;
    if (!*path)
        descriptor_path(folder, itself);
    path = *path ? path : itself;
    for (int i = 0; i <= INTERPRETERS_MAX && path; i++) {
        long fd = sys_call(SYS_openat, (long)(i ? AT_FDCWD : folder), path,
                           (long)(O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        if (fd < 0)
            return;
        memset(first, 0, sizeof first);
        long n = sys_call(SYS_pread64, fd, first, (long)FIRST_BYTES, 0L);
        path = n > 2 ? named_interpreter(first) : NULL;
        if (!path && n >= (long)sizeof(Elf64_Ehdr))
            p->why = judge(fd, first);
        if (p->why) {
            descriptor_path(fd, itself);
            n = sys_call(SYS_readlinkat, (long)AT_FDCWD, itself, p->name, sizeof p->name - 1);
            p->name[n > 0 ? n : 0] = '\0';
        }
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

void program_look_for(struct program *p, const char *name)
{
    char path[2 * PROGRAM_NAME_MAX];
    size_t name_size = strlen(name);
    p->why = WIRE_OUT_NONE;
    if (strchr(name, '/')) {
        program_look(p, AT_FDCWD, name);
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
                program_look(p, AT_FDCWD, path);
                return;
            }
        }
        at += size;
        if (!*at)
            return;
    }
}
