/*
 * Allocating with little stack left. little_stack threads: 20 threads with the smallest stack there
 * is. little_stack measure: how many bytes of stack an allocation takes at most, as a number on
 * stdout; each on a fresh stack full of a pattern. little_stack guard: a thread recurses,
 * allocating at every 16th level, until 6 KiB of its stack are left, and there.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "known.h"

SITE static void allocates(size_t size)
{
    known_sink = malloc(size);
}

SITE static void *in_thread(void *unused)
{
    allocates(31);
    return unused;
}

static void threads(void)
{
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN))
        abort();
    for (int i = 0; i < 20; i++) {
        pthread_t id;
        if (pthread_create(&id, &attributes, in_thread, NULL))
            abort();
        pthread_join(id, NULL);
    }
}

static unsigned char painted[64 * 1024] __attribute__((aligned(4096)));
static ucontext_t painted_context, main_context;
static char *entered_at;

/* Three ways to a rule that is not known yet: each call has its own return address. */
SITE static void first(void)
{
    entered_at = __builtin_frame_address(0);
    known_sink = malloc(41);
    known_sink = calloc(1, 42);
    known_sink = realloc(known_sink, 4300);
    free(known_sink);
}

static void measure(void)
{
    static size_t most;
    static int i;

    for (i = 0; i < 3; i++) {
        memset(painted, 0xa5, sizeof(painted));
        getcontext(&painted_context);
        painted_context.uc_stack.ss_sp = painted;
        painted_context.uc_stack.ss_size = sizeof(painted);
        painted_context.uc_link = &main_context;
        makecontext(&painted_context, first, 0);
        swapcontext(&main_context, &painted_context);
        unsigned char *low = painted;
        while (*low == 0xa5)
            low++;
        size_t used = (size_t)(entered_at - (char *)low);
        if (used > most)
            most = used;
    }
    printf("%zu\n", most);
}

static char *limit;

SITE static void sinks(int depth)
{
    char here;

    if (depth % 16 == 0 || &here <= limit)
        allocates(51);
    if (&here > limit)
        sinks(depth + 1);
    known_sink = NULL;
}

SITE static void *to_the_guard(void *unused)
{
    pthread_attr_t attributes;
    void *low;
    size_t size, guard;

    if (pthread_getattr_np(pthread_self(), &attributes) ||
        pthread_attr_getstack(&attributes, &low, &size) ||
        pthread_attr_getguardsize(&attributes, &guard))
        abort();
    pthread_attr_destroy(&attributes);
    limit = (char *)low + 6 * 1024;
    sinks(1);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t id;

    if (argc != 2)
        return 2;
    if (argv[1][0] == 't')
        threads();
    else if (argv[1][0] == 'm')
        measure();
    else {
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 128 * 1024);
        if (pthread_create(&id, &attributes, to_the_guard, NULL))
            return 3;
        pthread_join(id, NULL);
    }
    return 0;
}
