/*
 * Ways to leave frames that allocated without returning from them; each ROUNDS times.
 * jumps over: longjmp over frames. jumps handler: siglongjmp out of a handler on an alternate
 * stack. jumps malloc: longjmp out of malloc itself, of a preloaded one that calls before_malloc
 * (jumping_malloc.c); jumps depths: likewise, from stacks that are 16 bytes deeper each time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "known.h"

enum { ROUNDS = 100, DEPTH = 10, DEPTHS = 256 };

static sigjmp_buf back;
static void (*volatile *before_malloc)(void);

SITE static void allocates(size_t size)
{
    known_sink = malloc(size);
}

static void jump(void)
{
    *before_malloc = NULL;
    siglongjmp(back, 1);
}

static void on_signal(int number)
{
    (void)number;
    allocates(7);
    siglongjmp(back, 1);
}

SITE static void falls(int depth, char how)
{
    allocates(11);
    if (depth > 0)
        falls(depth - 1, how);
    else if (how == 'o')
        siglongjmp(back, 1);
    else if (how == 'h')
        raise(SIGUSR1);
    else {
        *before_malloc = jump;
        known_sink = malloc(100000); /* never comes back */
        abort();
    }
    known_sink = NULL;
}

/* What looks at the stack afterwards has frames of its own, which may lie where these were. */
SITE static void sinks(size_t bytes)
{
    char *volatile room = __builtin_alloca(bytes);
    *before_malloc = jump;
    known_sink = malloc(100000); /* never comes back */
    room[0] = 0;
}

/* Deeper than what was left: its stack covers the same addresses, and more. */
SITE static void after(int depth)
{
    if (depth > 0)
        after(depth - 1);
    else
        allocates(13);
    known_sink = NULL;
}

int main(int argc, char **argv)
{
    static char alternate[64 * 1024];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

    if (argc != 2)
        return 2;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    if (argv[1][0] == 'm' || argv[1][0] == 'd') {
        before_malloc = dlsym(RTLD_DEFAULT, "before_malloc");
        if (!before_malloc)
            return 3;
    }
    for (volatile size_t i = 1; argv[1][0] == 'd' && i <= DEPTHS; i++) {
        if (!sigsetjmp(back, 1))
            sinks(16 * i);
        allocates(17);
    }
    for (volatile int i = 0; argv[1][0] != 'd' && i < ROUNDS; i++) {
        if (!sigsetjmp(back, 1))
            falls(DEPTH, argv[1][0]);
        after(2 * DEPTH);
    }
    return 0;
}
