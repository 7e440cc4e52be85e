/*
 * undumpable: no other process of its user may read it any more (PR_SET_DUMPABLE). Its child
 * allocates 500 blocks, and nothing before, when its parent has ended with 7.
 */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "known.h"

SITE static void before(void)
{
    for (int i = 0; i < 1000; i++)
        known_sink = malloc(64);
}

SITE static void in_child(void)
{
    for (int i = 0; i < 500; i++)
        known_sink = malloc(32);
}

int main(void)
{
    const struct timespec nap = {0, 100000000};
    pid_t parent = getpid();

    before();
    prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
    if (fork() != 0)
        return 7;
    while (getppid() == parent)
        nanosleep(&nap, NULL);
    for (int i = 0; i < 15; i++)
        nanosleep(&nap, NULL);
    in_child();
    return 0;
}
