/*
 * Runs itself with little address space, a little more each time: recording begins, and finds no
 * room at one point or another. Then there is room again. Ends with the number of runs that did not
 * end as they should.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

#define FIRST (14l << 20)
#define LAST  (28l << 20)
#define STEP  (240l << 10) /* less than the smallest thing that the recorder maps */

static int with_room_again(void)
{
    struct rlimit limit;
    known_sink = malloc(64);
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
    for (int i = 0; i < 10; i++)
        known_sink = malloc(64);
    return known_sink ? 9 : 1;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    if (argc > 1)
        return with_room_again();
    for (long size = FIRST; size < LAST; size += STEP) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            struct rlimit limit;
            getrlimit(RLIMIT_AS, &limit);
            limit.rlim_cur = (rlim_t)size;
            setrlimit(RLIMIT_AS, &limit);
            execl("/proc/self/exe", argv[0], "again", NULL);
            _exit(2);
        }
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 9) {
            fprintf(stderr, "with %ld KiB: status %x\n", size >> 10, (unsigned)status);
            wrong++;
        }
    }
    return wrong;
}
