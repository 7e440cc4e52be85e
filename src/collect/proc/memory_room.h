/*
 * memory_room: how much memory a process can still get before the kernel kills something, according
 * to the limits of its memory cgroups and to what the machine has. Pages of files do not count as
 * used: the kernel evicts them first.
 */
#ifndef TIDE_COLLECT_PROC_MEMORY_ROOM_H
#define TIDE_COLLECT_PROC_MEMORY_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_room {
    /* Bytes of the cgroup or machine with the least free memory; limit 0: not known. */
    uint64_t limit, free;
    bool of_machine; /* the limit is the machine's, not that of a cgroup */
};

void memory_room_of(pid_t pid, struct memory_room *out);
/* The lowest limit of all memory cgroups that a process is in; UINT64_MAX: there is none. */
uint64_t memory_cgroup_limit(pid_t pid);

/* The number after `key` and spaces at the beginning of a line, as in memory.stat and meminfo; 0:
 * there is none. */
uint64_t memory_value(const char *text, const char *key);

#endif
