/*
 * locks_all FLAGS: maps 4 MiB, locks all its memory with mlockall(FLAGS), maps 4 MiB more, lets 8
 * threads allocate, and allocates at 20,000 places. Prints the result, how much of each mapping is
 * resident, in MiB, and by how many MiB what the program holds resident has grown since the start.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "proc_status.h"

#define MIB     (1 << 20)
#define MAPPED  (4 * MIB)
#define PLACES  20000
#define PAGE    4096
#define THREADS 8

static void *map(void)
{
    return mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int resident(void *p)
{
    unsigned char pages[MAPPED / PAGE];
    int count = 0;
    if (mincore(p, MAPPED, pages))
        return -1;
    for (size_t i = 0; i < sizeof pages; i++)
        count += pages[i] & 1;
    return count / (MIB / PAGE);
}

static void *allocate(void *unused)
{
    (void)unused;
    return malloc(100);
}

/* As many stacks as there are numbers below 2^depth. */
static __attribute__((noinline)) void *descend(unsigned depth, unsigned way);
static __attribute__((noinline)) void *left(unsigned depth, unsigned way)
{
    void *p = descend(depth, way);
    __asm__ volatile("" ::"r"(p));
    return p;
}
static void *descend(unsigned depth, unsigned way)
{
    void *p = !depth    ? malloc(16)
              : way & 1 ? left(depth - 1, way >> 1)
                        : descend(depth - 1, way >> 1);
    __asm__ volatile("" ::"r"(p));
    return p;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long before = status_mib("VmRSS:");
    void *first = map();
    int result = mlockall(argc > 1 ? atoi(argv[1]) : MCL_CURRENT | MCL_FUTURE), error = errno;
    void *second = map();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, allocate, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < PLACES; i++)
        descend(16, i);
    printf("%s %d %d %ld\n", result ? strerror(error) : "locked", resident(first), resident(second),
           status_mib("VmRSS:") - before);
    return 0;
}
