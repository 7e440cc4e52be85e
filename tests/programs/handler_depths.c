/*
 * A handler on an alternate stack, whose frames are always at the same place, interrupts a
 * recursion at every depth: its stack is as deep as what it interrupted.
 */
#define _GNU_SOURCE
#include <signal.h>

#include "known.h"

enum { DEPTH = 20 };

SITE static void on_signal(int number)
{
    (void)number;
    known_sink = malloc(5);
}

SITE static void dive(int depth)
{
    raise(SIGUSR1);
    if (depth > 1)
        dive(depth - 1);
    raise(SIGUSR1);
    known_sink = NULL;
}

int main(void)
{
    static char alternate[64 * 1024];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    dive(DEPTH);
    return 0;
}
