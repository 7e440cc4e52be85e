/* works_after_fork fork|_Fork: a child uses 400 ms of CPU time in work() before it first allocates.
 * Prints its pid. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "known.h"

pid_t _Fork(void);

SITE static void work(void)
{
    struct timespec used;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec == 0 && used.tv_nsec < 400000000);
}

int main(int argc, char **argv)
{
    pid_t child = argc > 1 && strcmp(argv[1], "_Fork") == 0 ? _Fork() : fork();
    if (child == 0) {
        work();
        known_sink = malloc(10);
        _exit(0);
    }
    printf("%d\n", (int)child);
    return waitpid(child, NULL, 0) != child;
}
