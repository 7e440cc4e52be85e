/*
 * schedule: when a process is read again, on the clock of the process. How often is decided by
 * whoever reads: resident/process_sizes.c, maps.c, footprint.c and python_arenas.c.
 */
#ifndef TIDE_COLLECT_COUNTING_SCHEDULE_H
#define TIDE_COLLECT_COUNTING_SCHEDULE_H

#include <stdint.h>

struct schedule {
    /* Time between readings; doubles each time that every second reading is dropped. */
    uint64_t apart_ns;
    uint64_t next_ns; /* when the next reading is due */
    uint64_t rest_ns; /* there is no reading before this time, even if there is a reason for one */
};

#endif
