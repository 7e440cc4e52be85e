/*
 * numa_maps: parses /proc/PID/numa_maps, which says on which NUMA nodes the pages of each mapping
 * are. Any text is accepted: lines that the kernel would not write are skipped. Policies point into
 * the text, which is cut into strings. No state.
 */
#ifndef TIDE_COLLECT_PROC_NUMA_MAPS_H
#define TIDE_COLLECT_PROC_NUMA_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/resident.h"

/* A line of numa_maps. */
struct proc_placement {
    uint64_t start;
    const char *policy;
    const char *rest; /* where proc_next_node continues */
    uint64_t page_kib;
};

/* Parses the next line and advances *text; false: there are no more. */
bool proc_next_placement(char **text, struct proc_placement *out);
/* Parses the next node of a line with its resident bytes; false: there are no more. */
bool proc_next_node(struct proc_placement *p, struct mapping_node *out);

#endif
