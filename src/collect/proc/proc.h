/*
 * proc: what the kernel says of a process in /proc, parsed.
 *
 * Any text is accepted; false: it is not what was expected, and `out` is as it was. No state.
 */
#ifndef TIDE_COLLECT_PROC_PROC_H
#define TIDE_COLLECT_PROC_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_memory {
    uint64_t vm_bytes, rss_bytes, anon_bytes;
};

struct proc_state {
    uint32_t ppid;
    uint64_t minor_faults, major_faults;
    uint64_t user_ticks, system_ticks; /* of CPU time */
};

bool proc_parse_statm(const char *text, struct proc_memory *out);
bool proc_parse_stat(const char *text, struct proc_state *out);

/* The beginning of /proc/PID/NAME as a string; false: there is none, or nothing in it. */
bool proc_read_text(pid_t pid, const char *name, char *out, size_t size);
/* /proc/PID/stat, also of a process that has ended and is not reaped; false: there is none. */
bool proc_read_state(pid_t pid, struct proc_state *out);

#endif
