/*
 * python_arenas: how full the memory is that CPython keeps for small objects.
 *
 * pymalloc maps arenas of one size (256 KiB up to 3.9, 1 MiB since) and cuts them into pools, whose
 * headers say of which size their objects are and how many are in use. An arena is given back when
 * all its pools are empty, so one object keeps a whole one: "Python does not give memory back".
 * The mappings are known from mmap; which of them are arenas, and what is in use, is read from
 * outside, from the headers alone, each checked. Pages that are not there are not read.
 *
 * Looks are taken with each capture (maps.h), and in between, the more seldom the longer it runs,
 * at most 1 % of the time; and when the interpreter begins to end, which it says by taking away its
 * handler of SIGINT, and waits: it takes its objects with it before the program says that it ends.
 * There is none while it is torn down. One without that handler has its last look some time before.
 *
 * Called after target_drain. What cannot be read is no look: nothing is added.
 */
#ifndef TIDE_COLLECT_RESIDENT_PYTHON_ARENAS_H
#define TIDE_COLLECT_RESIDENT_PYTHON_ARENAS_H

#include "collect/counting/target.h"

void python_arenas_look(struct target *t, uint64_t now_ns);
void python_arenas_at_end(struct target *t, uint64_t now_ns); /* the interpreter waits, whole */
void python_arenas_if_due(struct target *t, uint64_t now_ns);

#endif
