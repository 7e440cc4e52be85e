/* Allocates in a signal handler, on the normal and on the alternate stack: both stacks go on to
 * main. */
#define _GNU_SOURCE
#include <signal.h>

#include "known.h"

static char alternate[64 * 1024];

SITE static void in_handler(size_t size)
{
    known_sink = malloc(size);
}

SITE static void on_usr1(int unused)
{
    (void)unused;
    in_handler(111);
}

SITE static void on_usr2(int unused)
{
    (void)unused;
    in_handler(222);
}

SITE static void raiser(int signal)
{
    raise(signal);
    known_sink = NULL;
}

int main(void)
{
    struct sigaction first = {.sa_handler = on_usr1};
    struct sigaction second = {.sa_handler = on_usr2, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};

    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &first, NULL);
    sigaction(SIGUSR2, &second, NULL);
    for (int i = 0; i < 20; i++) {
        raiser(SIGUSR1);
        raiser(SIGUSR2);
    }
    return 0;
}
