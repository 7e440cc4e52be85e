/* schedule: when a process is looked at again. On the clock of the process. */
#ifndef TIDE_COLLECT_COUNTING_SCHEDULE_H
#define TIDE_COLLECT_COUNTING_SCHEDULE_H

#include <stdint.h>

struct schedule {
    uint64_t apart_ns; /* between looks; it doubles each time that every second look is dropped */
    uint64_t next_ns;  /* when the next look is due */
    uint64_t rest_ns;  /* not before that, even if there is a reason to look */
};

#endif
