/*
 * A timer's handler interrupts hooks wherever they are. torn aside: on an alternate stack it maps
 * and unmaps, while the thread allocates and frees 300,000 blocks. torn jumps: it jumps out of mmap
 * and munmap, 2,000 times.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "known.h"

static sigjmp_buf back;
static volatile sig_atomic_t jumping, jumps;

static void *map(void)
{
    return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void on_timer(int number)
{
    (void)number;
    if (jumping) {
        jumps = jumps + 1;
        siglongjmp(back, 1);
    }
    munmap(map(), 4096);
}

SITE static void *deep(int depth)
{
    void *p = depth ? deep(depth - 1) : malloc(32);

    known_sink = p;
    return p;
}

SITE static void maps(int depth)
{
    if (depth)
        maps(depth - 1);
    else
        munmap(map(), 4096);
    known_sink = NULL;
}

SITE static void after(void)
{
    known_sink = malloc(17);
}

static void until_jumped(void)
{
    if (!sigsetjmp(back, 1)) {
        jumping = 1;
        for (int i = 0;; i++)
            maps(i % 30);
    }
    jumping = 0;
}

int main(int argc, char **argv)
{
    static char alternate[64 * 1024];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_ONSTACK};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};

    if (argc != 2)
        return 2;
    sigaltstack(&stack, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    if (argv[1][0] == 'j')
        while (jumps < 2000)
            until_jumped();
    else
        for (int i = 0; i < 300000; i++)
            free(deep(i % 30));
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < 100; i++)
        after();
    return 0;
}
