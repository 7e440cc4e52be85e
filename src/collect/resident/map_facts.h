/*
 * map_facts: what the collector knows about a process's mappings that the kernel does not say:
 * which are the recorder's, which hold a thread's stack or live heap blocks, which are the zeroed
 * data of a file. store/mapping_kinds.h derives the kind of a mapping from these facts.
 */
#ifndef TIDE_COLLECT_RESIDENT_MAP_FACTS_H
#define TIDE_COLLECT_RESIDENT_MAP_FACTS_H

#include "base/strbuf.h"
#include "collect/proc/smaps.h"
#include "collect/counting/target.h"

/* Sets the flags of mappings. Memory of thread states can be recognised in smaps only, not in
 * maps. */
void map_facts_mark(struct target *t, struct proc_mappings *all);

#endif
