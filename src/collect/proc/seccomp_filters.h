/*
 * seccomp_filters: how many seccomp filters a process runs under.
 *
 * A filter may end a process for a system call. Those that the collector is under too are
 * harmless, as it makes the same calls; a process with more of them is not asked to make any.
 */
#ifndef TIDE_COLLECT_PROC_SECCOMP_FILTERS_H
#define TIDE_COLLECT_PROC_SECCOMP_FILTERS_H

#include <sys/types.h>

/* 0 where it cannot be known. A process that has ended, and was not yet waited for, still tells. */
unsigned seccomp_filters_of(pid_t pid);

#endif
