/* ends HOW: allocates 1,000 blocks of 64 bytes, then ends in the way named. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "known.h"

SITE static void before_end(void)
{
    for (int i = 0; i < 1000; i++)
        known_sink = malloc(64);
}

SITE static void at_exit(void)
{
    for (int i = 0; i < 10; i++)
        known_sink = malloc(32);
}

static void *exits(void *unused)
{
    before_end();
    exit(6);
    return unused;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    atexit(at_exit);
    if (!strcmp(how, "exit_in_thread")) {
        pthread_t thread;

        pthread_create(&thread, NULL, exits, NULL);
        pthread_join(thread, NULL);
    }
    before_end();
    if (!strcmp(how, "return"))
        return 3;
    if (!strcmp(how, "exit"))
        exit(0);
    if (!strcmp(how, "_exit"))
        _exit(4);
    if (!strcmp(how, "quick_exit"))
        quick_exit(5);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv"))
        raise(SIGSEGV);
    kill(getpid(), !strcmp(how, "term") ? SIGTERM : SIGKILL);
    return 9;
}
