/*
 * forks_idle: its child waits for 200 ms, keeps a block of 5,000 bytes, makes the mark "work", and
 * waits for 100 ms.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tidemark.h"

static void *volatile kept;

static void doze(long ms)
{
    struct timespec left = {0, ms * 1000000};

    while (nanosleep(&left, &left) != 0)
        ;
}

int main(void)
{
    kept = malloc(100);
    if (fork() == 0) {
        doze(200);
        kept = malloc(5000);
        tide_mark("work");
        doze(100);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
