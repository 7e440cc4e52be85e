/*
 * python_arenas: how full the memory is that CPython keeps for small objects.
 *
 * pymalloc maps arenas of one size (256 KiB up to 3.9, 1 MiB since) and divides them into pools.
 * The header of a pool says how large its objects are and how many are in use. An arena is freed
 * only when all its pools are empty, so one object keeps a whole arena: "Python does not give
 * memory back". The collector knows the mappings from mmap. It reads the headers of pools from
 * outside to find out which mappings are arenas and how full they are, and checks each header. It
 * does not read pages that are not resident.
 *
 * The collector does this at each capture (maps.h), and in between at growing intervals, for at
 * most 1 % of the time. It also does it when the interpreter begins to end, before the objects are
 * freed: the hooks notice that the interpreter removes its handler of SIGINT, and wait. For an
 * interpreter without this handler, the last periodic reading is used. The collector does not read
 * an interpreter while it frees its objects.
 *
 * Call these after target_drain. If something cannot be read, nothing is added.
 */
#ifndef TIDE_COLLECT_RESIDENT_PYTHON_ARENAS_H
#define TIDE_COLLECT_RESIDENT_PYTHON_ARENAS_H

#include "collect/counting/target.h"

void python_arenas_read(struct target *t, uint64_t now_ns);
void python_arenas_at_end(struct target *t, uint64_t now_ns); /* the interpreter waits meanwhile */
void python_arenas_if_due(struct target *t, uint64_t now_ns);

#endif
