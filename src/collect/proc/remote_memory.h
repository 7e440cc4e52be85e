/*
 * remote_memory: the only place where the collector reads the memory of another process.
 *
 * It reads through /proc/PID/mem, which copies nothing. process_vm_readv is used only where that
 * cannot be opened: it pins the pages it reads, and to pin a page that a forked process shares with
 * its parent, the kernel copies it first. For 8 workers of a process of 600 MiB that would cost 5
 * GiB.
 *
 * A page that the process never touched becomes resident when it is read. Callers that read more
 * than a few words ask pagemap.h first. Several threads may use one descriptor at a time.
 */
#ifndef TIDE_COLLECT_PROC_REMOTE_MEMORY_H
#define TIDE_COLLECT_PROC_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_memory {
    pid_t pid;
    int fd;
    bool has_fd; /* false: use process_vm_readv */
};

/* Never fails; remote_memory_read reports what cannot be read. */
void remote_memory_open(struct remote_memory *m, pid_t pid);
/* Returns how many bytes from `address` on were read, perhaps fewer than asked for; or a negative
 * errno. */
ssize_t remote_memory_read(const struct remote_memory *m, uint64_t address, void *out, size_t size);
void remote_memory_close(struct remote_memory *m);

/* Reads once, for callers that read seldom; false: not everything could be read. */
bool remote_memory_copy(pid_t pid, uint64_t address, void *out, size_t size);

#endif
