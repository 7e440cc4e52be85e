/*
 * python_arenas: how full the memory is that CPython keeps for small objects.
 *
 * pymalloc maps arenas of one size (256 KiB up to 3.9, 1 MiB since) and cuts them into pools, whose
 * headers say of which size their objects are and how many are in use. An arena is given back when
 * all its pools are empty, so one object keeps a whole one: "Python does not give memory back". The
 * mappings are known from mmap. The collector reads the headers of pools from outside to find out
 * which mappings are arenas and how full they are; each header is checked. It does not read pages
 * that are not resident.
 *
 * The collector looks at each capture (maps.h), and in between at growing intervals, for at most 1
 * % of the time. It also looks when the interpreter begins to end, before the objects are freed:
 * the hooks notice that the interpreter removes its handler of SIGINT, and wait. An interpreter
 * without this handler is looked at for the last time some time before. It is not looked at while
 * it is torn down.
 *
 * Called after target_drain. If something cannot be read, nothing is added.
 */
#ifndef TIDE_COLLECT_RESIDENT_PYTHON_ARENAS_H
#define TIDE_COLLECT_RESIDENT_PYTHON_ARENAS_H

#include "collect/counting/target.h"

void python_arenas_look(struct target *t, uint64_t now_ns);
void python_arenas_at_end(struct target *t, uint64_t now_ns); /* the interpreter waits, whole */
void python_arenas_if_due(struct target *t, uint64_t now_ns);

#endif
