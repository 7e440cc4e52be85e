/*
 * proc: what the kernel says of a process in /proc, parsed.
 *
 * Any text is accepted; false: it is not what was expected, and `out` is as it was. No state.
 */
#ifndef TIDE_COLLECT_PROC_H
#define TIDE_COLLECT_PROC_H

#include <stdbool.h>
#include <stdint.h>

struct proc_memory {
    uint64_t vm_bytes, rss_bytes, anon_bytes;
};

struct proc_state {
    uint32_t ppid;
    uint64_t minor_faults, major_faults;
};

bool proc_parse_statm(const char *text, struct proc_memory *out);
bool proc_parse_stat(const char *text, struct proc_state *out);

#endif
