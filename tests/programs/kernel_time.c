/*
 * Functions that take their time in the program and in the kernel:  kernel_time ROUNDS
 *
 * initprm touches fresh pages, compute only computes, ask makes system calls. In each round all
 * have a turn, one after the other, and at the end each one's CPU time is printed, in microseconds.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PAGES    8000
#define PAGE     4096
#define READ     65536

static int zero;
static volatile uint64_t result;

NOINLINE static void initprm(void)
{
    char *memory =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(2);
    madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (long i = 0; i < PAGES; i++)
        memory[i * PAGE] = 1; /* line initprm */
    munmap(memory, PAGES * PAGE);
}

NOINLINE static void compute(void)
{
    uint64_t state = 88172645463325252u;
    for (long i = 0; i < 1500000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    result = state;
}

NOINLINE static void ask(void)
{
    static char bytes[READ];
    for (int i = 0; i < 2000; i++)
        if (read(zero, bytes, READ) != READ)
            exit(2);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
    static void (*const turns[])(void) = {initprm, compute, ask};
    uint64_t used[3] = {0};
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    zero = open("/dev/zero", O_RDONLY);
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < 3; i++) {
            uint64_t start = now_ns();
            turns[i]();
            used[i] += now_ns() - start;
        }
    printf("initprm %lu\ncompute %lu\nask %lu\n", used[0] / 1000, used[1] / 1000, used[2] / 1000);
    return 0;
}
