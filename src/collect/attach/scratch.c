#include "collect/attach/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "machine/remote.h"
#include "wire/attach_code.h"

#define SCRATCH_CODE 4096
#define LIBC_MOST    (64 << 20)
#define SCRATCH_DATA (256 << 10)

int memory_open_for_writing(pid_t pid)
{
    char *path = xasprintf("/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    free(path);
    return fd < 0 ? -errno : fd;
}

/* The address that signal handlers return to; 0: not found. */
static uint64_t signal_return_in(struct remote_modules *m, const struct remote_module *libc)
{
    size_t size = (size_t)(libc->code_end - libc->code_start);
    if (libc->code_end <= libc->code_start || size > LIBC_MOST)
        return 0;
    char *code = xmalloc(size);
    ssize_t n = remote_memory_read(&m->memory, libc->code_start, code, size);
    const char *at =
        n > 0 ? memmem(code, (size_t)n, REMOTE_SIGNAL_RETURN, REMOTE_SIGNAL_RETURN_BYTES) : NULL;
    uint64_t address = at ? libc->code_start + (uint64_t)(at - code) : 0;
    free(code);
    return address;
}

bool remote_way_find(struct remote_modules *m, struct remote_module *libc, int memory,
                     struct remote_way *out)
{
    struct remote_function f;
    uint8_t code[128];
    *out = (struct remote_way){.memory = memory};
    if (!remote_function(m, libc, "syscall", &f) ||
        remote_memory_read(&m->memory, f.address, code, sizeof code) != (ssize_t)sizeof code)
        return false;
    long at = remote_find_system_call(code, sizeof code);
    if (at < 0)
        return false;
    out->system_call = f.address + (uint64_t)at;
    out->signal_return = signal_return_in(m, libc);
    return true;
}

int scratch_map(struct scratch *s, struct remote_thread *t, struct err *err)
{
    uint64_t size = SCRATCH_CODE + SCRATCH_DATA;
    long p = remote_syscall(
        t, SYS_mmap,
        (uint64_t[6]){0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0});
    long q = p < 0
                 ? p
                 : remote_syscall(t, SYS_mprotect,
                                  (uint64_t[6]){(uint64_t)p, SCRATCH_CODE, PROT_READ | PROT_EXEC});
    if (q < 0)
        return err_set(err, (int)q, "the program could not get memory for code: %s",
                       strerror((int)-q));
    *s = (struct scratch){.start = (uint64_t)p, .size = size};
    s->code = s->start;
    s->back = s->start + SCRATCH_CODE - RETURN_CODE_MOST;
    s->data = s->start + SCRATCH_CODE;
    s->work = s->data + 1024;
    s->stack_end = s->start + size - 256;
    ssize_t back_size = return_code_end - return_code;
    if (back_size > RETURN_CODE_MOST ||
        pwrite(t->way.memory, return_code, (size_t)back_size, (off_t)s->back) != back_size)
        return err_set(err, -EFAULT, "the memory of the program cannot be written to");
    return 0;
}

void scratch_unmap(struct scratch *s, struct remote_thread *t)
{
    if (s->start && remote_syscall(t, SYS_munmap, (uint64_t[6]){s->start, s->size}) == 0)
        s->start = 0;
}
