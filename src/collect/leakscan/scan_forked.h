/*
 * scan_forked: finds what points to the blocks of a forked process, and reads only the pages that
 * the process has written to since the fork (memory_find_written).
 *
 * The process's own blocks are younger than the fork, so memory that was written before the fork
 * cannot point to them. The blocks that it inherited are not classified again for each process. A
 * live inherited block keeps alive whatever it points to, whether it is reachable itself or not.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_SCAN_FORKED_H
#define TIDE_COLLECT_LEAKSCAN_SCAN_FORKED_H

#include "collect/leakscan/reachability.h"
#include "collect/leakscan/memory.h"
#include "collect/counting/target.h"

/* Takes the words of inherited blocks as roots into `reach`, which is ready and holds the process's
 * own blocks. */
void scan_forked_roots(struct target *t, struct memory *m, struct reachability *reach);

#endif
