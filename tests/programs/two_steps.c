/* early_step, a second of sleep, late_step, another second: a sleep is never shorter than asked
 * for. */
#include <time.h>

#include "known.h"

SITE static void early_step(void)
{
    for (int i = 0; i < 100; i++)
        known_sink = malloc(1000);
}

SITE static void late_step(void)
{
    for (int i = 0; i < 50; i++)
        known_sink = malloc(3000);
}

int main(void)
{
    struct timespec second = {.tv_sec = 1};

    early_step();
    nanosleep(&second, NULL);
    late_step();
    nanosleep(&second, NULL);
    return 0;
}
