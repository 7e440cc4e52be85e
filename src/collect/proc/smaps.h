/*
 * smaps: /proc/PID/smaps and /proc/PID/numa_maps, parsed.
 *
 * Any text is accepted: lines that are not what the kernel writes are skipped. Names point into the
 * text, which is cut up. No state.
 */
#ifndef TIDE_COLLECT_PROC_SMAPS_H
#define TIDE_COLLECT_PROC_SMAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "store/recording.h"

/* A mapping as the kernel tells it; `mapping.name` and `policy` are not set. */
struct proc_mapping {
    struct mapping mapping;
    const char *name; /* "": anonymous */
    bool wiped;       /* forked children find it zeroed, */
    bool no_huge;     /* and it has no huge pages: both together are the recorder's */
};

struct proc_mappings {
    VEC(struct proc_mapping) items; /* in order of address */
};

/* A line of numa_maps. */
struct proc_placement {
    uint64_t start;
    const char *policy;
    const char *rest; /* for proc_next_node */
    uint64_t page_kib;
};

/* `maps` alone will do: all sizes are 0 then. Releases nothing in `out`, appends. */
void proc_parse_smaps(char *text, struct proc_mappings *out);
/* Reads `maps` or `smaps` (NAME) of a process and parses it; `text` keeps the names. 0, or a
 * negative errno. */
int proc_read_mappings(pid_t pid, const char *name, struct strbuf *text, struct proc_mappings *out);
/* The mapping that holds an address; NULL: none. */
struct proc_mapping *proc_mapping_at(const struct proc_mappings *all, uint64_t address);
/* The next line of *text, which moves on; false: there are no more. */
bool proc_next_placement(char **text, struct proc_placement *out);
/* The next node of a line with its resident bytes; false: there are no more. */
bool proc_next_node(struct proc_placement *p, struct mapping_node *out);

#endif
