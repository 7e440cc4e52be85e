/* A library to preload: its clock stands still, in the far future. */
#define _GNU_SOURCE
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = 1000000000};
    return 0;
}
