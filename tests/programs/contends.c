/*
 * What costs more when others are there, by counted work:  contends FILE ROUNDS [MARKS]
 *
 * FILE holds a number that each run takes one from, as at a counter: the first gets 1, the next 2.
 * queue() works as many times as the number says, steady() always twice. With MARKS, both are
 * divided into so many marks "event". Both take turns, so that samples which are lost for want of
 * time or room are missing in both. The numbers that were given are all there is between runs, so
 * the work of each is known however they are scheduled.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../include/tidemark.h"

#define NOINLINE __attribute__((noipa)) /* nor are the two made one */

/* Identical code in both, so that a round takes equally long. */
#define WORK(state)                                                                                \
    for (int i = 0; i < 200; i++) {                                                                \
        (state) ^= (state) << 13;                                                                  \
        (state) ^= (state) >> 7;                                                                   \
        (state) ^= (state) << 17;                                                                  \
    }

NOINLINE static uint64_t queue(uint64_t state, long rounds)
{
    for (long k = 0; k < rounds; k++)
        WORK(state)
    return state;
}

NOINLINE static uint64_t steady(uint64_t state, long rounds)
{
    for (long k = 0; k < rounds; k++)
        WORK(state)
    return state;
}

/* Touches as many pages as it was given, to have known page faults. */
NOINLINE static int touch(long pages)
{
    volatile char *memory = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)memory, (size_t)pages * 4096, MADV_NOHUGEPAGE);
    for (long i = 0; i < pages; i++)
        memory[i * 4096] = 1;
    return memory[0];
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        return 3;
    long *counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    long number = __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    long rounds = atol(argv[2]), marks = argc > 3 ? atol(argv[3]) : 1;
    volatile uint64_t state = 88172645463325252u;
    if (touch(100 * number) != 1)
        return 4;
    long turns = marks > 1 ? 1 : 10;
    for (long i = 0; i < marks * turns; i++) {
        state = queue(state, number * rounds / marks / turns);
        state = steady(state, 2 * rounds / marks / turns);
        if (i % turns == turns - 1)
            tide_mark("event");
    }
    puts("this is not to be seen");
    return 0;
}
