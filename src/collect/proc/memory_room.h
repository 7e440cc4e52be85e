/*
 * memory_room: how much memory a process can still get before the kernel kills something, by the
 * limits of its memory cgroups and by what the machine has.
 *
 * Pages of files do not count as used: the kernel gives them up first.
 */
#ifndef TIDE_COLLECT_PROC_MEMORY_ROOM_H
#define TIDE_COLLECT_PROC_MEMORY_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_room {
    uint64_t limit, free; /* of what has the least left of its limit; limit 0: not known */
    bool of_machine;      /* not of a cgroup */
};

void memory_room_of(pid_t pid, struct memory_room *out);
/* The least limit of all memory cgroups that a process is in; UINT64_MAX: there is none. */
uint64_t memory_cgroup_limit(pid_t pid);

/* The value after `key` and spaces at the beginning of a line, as memory.stat and meminfo have it;
 * 0: there is none. */
uint64_t memory_value(const char *text, const char *key);

#endif
