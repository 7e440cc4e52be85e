/*
 * Leaves blocks behind in known ways. "dirty" (default):
 *
 *     lose     10 of 100 bytes before the mark "middle", 5 after it; nothing points to them
 *     chain    4 lists: a lost head of 64 bytes, which points to 3 blocks of 32 bytes
 *     keep     20 of 50 bytes, in a variable
 *     at_exit  4 of 1,000 bytes, in a variable, freed by a handler of exit
 *     helper   3 of 10 bytes, by a thread of that name; nothing points to them
 *
 * "clean": everything is freed, at_exit as above. "kept": keep and at_exit only.
 * "children": two children, of which the first is "dirty" and the second "clean"; itself "clean".
 */
#include "known.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark.h"

static void *volatile kept[20], *volatile until_exit[4];

SITE static void lose(int count)
{
    for (int i = 0; i < count; i++)
        known_sink = malloc(100);
    known_sink = NULL;
}

SITE static void chain(void)
{
    for (int i = 0; i < 4; i++) {
        void **head = calloc(8, 8);

        for (int k = 0; k < 3; k++)
            head[k] = calloc(4, 8);
        known_sink = head;
    }
    known_sink = NULL;
}

SITE static void keep(void)
{
    for (int i = 0; i < 20; i++)
        kept[i] = malloc(50);
}

SITE static void at_exit(void)
{
    for (int i = 0; i < 4; i++)
        until_exit[i] = malloc(1000);
}

static void free_at_exit(void)
{
    for (int i = 0; i < 4; i++)
        free(until_exit[i]);
}

SITE static void *helper(void *unused)
{
    (void)unused;
    tide_thread_name("helper");
    for (int i = 0; i < 3; i++)
        known_sink = malloc(10);
    known_sink = NULL;
    return NULL;
}

/* What is left of pointers in dead parts of the stack and in registers. */
SITE static void scrub(void)
{
    volatile char room[16384];

    memset((char *)room, 0, sizeof room);
}

SITE static void dirty(void)
{
    pthread_t thread;

    lose(10);
    tide_mark("middle");
    lose(5);
    chain();
    if (pthread_create(&thread, NULL, helper, NULL) || pthread_join(thread, NULL))
        abort();
}

SITE static void child(const char *how)
{
    pid_t pid = fork();

    if (!pid) {
        if (!strcmp(how, "dirty"))
            dirty();
        at_exit();
        free_at_exit();
        scrub();
        exit(0);
    }
    if (pid < 0 || waitpid(pid, NULL, 0) != pid)
        abort();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "dirty";

    if (!strcmp(how, "children")) {
        child("dirty");
        child("clean");
        return 0;
    }
    atexit(free_at_exit);
    at_exit();
    if (strcmp(how, "clean"))
        keep();
    if (!strcmp(how, "dirty"))
        dirty();
    scrub();
    return 0;
}
