#include "collect/proc/remote_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

void remote_memory_open(struct remote_memory *m, pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *m = (struct remote_memory){.pid = pid, .fd = fd, .has_fd = fd >= 0};
}

ssize_t remote_memory_read(const struct remote_memory *m, uint64_t address, void *out, size_t size)
{
    size_t done = 0;
    while (done < size) {
        char *to = (char *)out + done;
        struct iovec here = {to, size - done};
        struct iovec there = {(void *)(uintptr_t)(address + done), size - done};
        ssize_t n = m->has_fd ? pread(m->fd, to, size - done, (off_t)(address + done))
                              : process_vm_readv(m->pid, &here, 1, &there, 1, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) /* 0: the process has ended, and its memory is gone */
            return done ? (ssize_t)done : n < 0 ? -errno : -ESRCH;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

void remote_memory_close(struct remote_memory *m)
{
    if (m->has_fd)
        close(m->fd);
    *m = (struct remote_memory){0};
}

bool remote_memory_copy(pid_t pid, uint64_t address, void *out, size_t size)
{
    struct remote_memory m;
    remote_memory_open(&m, pid);
    ssize_t n = remote_memory_read(&m, address, out, size);
    remote_memory_close(&m);
    return n == (ssize_t)size;
}
