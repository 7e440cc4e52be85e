/*
 * The first thread runs on a small stack that the program made itself, without a guard page. What lies
 * below that stack must stay as it is: the program ends with status 9 otherwise. A second thread waits on
 * an ordinary stack.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define BELOW 16384
#define STACK 2048
#define FILL  0x5a

static _Alignas(64) struct {
    unsigned char below[BELOW];
    char stack[STACK];
} memory;

static void *waits(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void checks(void)
{
    const volatile unsigned char *below = memory.below;
    for (;;)
        for (unsigned i = 0; i < BELOW; i++)
            if (below[i] != FILL)
                _exit(9);
}

int main(void)
{
    static ucontext_t here, there;
    pthread_t other;
    memset(memory.below, FILL, sizeof memory.below);
    if (pthread_create(&other, NULL, waits, NULL) || getcontext(&there))
        return 1;
    there.uc_stack.ss_sp = memory.stack;
    there.uc_stack.ss_size = sizeof memory.stack;
    makecontext(&there, checks, 0);
    puts("ready");
    fflush(stdout);
    return swapcontext(&here, &there);
}
