/*
 * remote_memory: the only place where the memory of another process is read.
 *
 * It is read through /proc/PID/mem. process_vm_readv pins the pages it reads, and pinning a page
 * that a forked process shares with its parent makes the kernel copy it first: a look at 8 workers
 * of a process of 600 MiB would cost 5 GiB. Reading /proc/PID/mem copies nothing. process_vm_readv
 * is used only where /proc/PID/mem cannot be opened.
 *
 * A page that the process never touched becomes resident when it is read; callers that read more
 * than a few words ask pagemap.h first. One descriptor may be used by several threads at a time.
 */
#ifndef TIDE_COLLECT_PROC_REMOTE_MEMORY_H
#define TIDE_COLLECT_PROC_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_memory {
    pid_t pid;
    int fd;
    bool has_fd; /* false: process_vm_readv is tried */
};

/* Never fails; what cannot be read is told by remote_memory_read. */
void remote_memory_open(struct remote_memory *m, pid_t pid);
/* How many bytes from `address` on were read, which may be fewer than asked for; or a negative
 * errno. */
ssize_t remote_memory_read(const struct remote_memory *m, uint64_t address, void *out, size_t size);
void remote_memory_close(struct remote_memory *m);

/* One read, for callers that read seldom; false: not all of it could be read. */
bool remote_memory_copy(pid_t pid, uint64_t address, void *out, size_t size);

#endif
