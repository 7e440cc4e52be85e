/*
 * kernel_pointers: addresses that a process has given to the kernel, which returns them later. The
 * program need not keep them anywhere else: what epoll returns with an event (/proc/PID/fdinfo),
 * and what the signal of a timer brings (/proc/PID/timers). The parsers accept any text.
 */
#ifndef TIDE_COLLECT_PROC_KERNEL_POINTERS_H
#define TIDE_COLLECT_PROC_KERNEL_POINTERS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct kernel_pointers {
    VEC(uint64_t) items; /* any values: not all of them are addresses */
};

/* Adds what the kernel has of a process. What cannot be read is left out. */
void kernel_pointers_read(struct kernel_pointers *k, pid_t pid);
void kernel_pointers_release(struct kernel_pointers *k);

/* Add what is in the texts of /proc/PID/fdinfo/FD and /proc/PID/timers. */
void kernel_pointers_parse_epoll(struct kernel_pointers *k, const char *text);
void kernel_pointers_parse_timers(struct kernel_pointers *k, const char *text);

#endif
