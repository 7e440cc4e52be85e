/*
 * fills_ring FOLDER NAME ROUNDS [fork]: says that it is ready (FOLDER/NAME.PID), waits for
 * FOLDER/NAME.go, then has 4,096 page faults in each round, all on one CPU, and ends. With "fork" a
 * child does all of that, and its parent ends at once.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAGES 4096
#define NAMES 100

static void stay_on_one_cpu(void)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc < 4 || (argc > 4 && fork() != 0))
        return argc < 4;
    stay_on_one_cpu();
    snprintf(path, sizeof path, "%s/%s.%d", argv[1], argv[2], getpid());
    close(open(path, O_CREAT | O_WRONLY, 0600));
    snprintf(path, sizeof path, "%s/%s.go", argv[1], argv[2]);
    while (access(path, F_OK) != 0)
        usleep(1000);
    char *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, PAGES * 4096, MADV_NOHUGEPAGE);
    int rounds = atoi(argv[3]);
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < PAGES; i++)
            ((volatile char *)p)[i * 4096] = 1;
        madvise(p, PAGES * 4096, MADV_DONTNEED);
    }
    /* Where no fault has room there may be some for the record of the end, which is smaller. That
     * of a name is smaller still. */
    for (int i = 0; i < NAMES; i++)
        prctl(PR_SET_NAME, i % 2 ? "a" : "b", 0, 0, 0);
    return 0;
}
