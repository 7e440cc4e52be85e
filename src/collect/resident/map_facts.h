/*
 * map_facts: what the collector knows of a process's mappings and the kernel does not: which are
 * the recorder's, which hold a thread's stack or live heap blocks, which are the zeroed data of a
 * file.
 */
#ifndef TIDE_COLLECT_RESIDENT_MAP_FACTS_H
#define TIDE_COLLECT_RESIDENT_MAP_FACTS_H

#include "base/strbuf.h"
#include "collect/proc/smaps.h"
#include "collect/counting/target.h"

/* Sets flags of mappings. Those of thread states are told by smaps alone, not by maps. */
void map_facts_mark(struct target *t, struct proc_mappings *all);

#endif
