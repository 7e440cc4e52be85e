/* A parent with many blocks, and workers that are forked from it and have few of their own.
 *   forks_workers BLOCKS WORKERS [deep]
 * Of its blocks a worker keeps 3001 in one that it inherited, 3002 in a global, 3003 in another of
 * its own; it loses 3004, and 3005, which only a block points to that was inherited and freed.
 * `deep`: it has a child of its own, which outlives it and shares all of its pages. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clear_stack.h"
#include "known.h"

static void *volatile *inherited, *volatile *freed;
static void *volatile global;

SITE static void allocate(void)
{
    void **own = calloc(1, 3002);
    inherited[100] = calloc(1, 3001);
    own[10] = calloc(1, 3003);
    global = own;
    known_sink = calloc(1, 3004);
    known_sink = NULL;
    freed[100] = calloc(1, 3005);
    free((void *)freed);
}

static void fork_longer(void)
{
    pid_t worker = getpid();
    if (fork() == 0) {
        while (getppid() == worker)
            usleep(1000);
        _exit(0);
    }
}

int main(int argc, char **argv)
{
    size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    int workers = argc > 2 ? atoi(argv[2]) : 0, bad = 0;
    void **blocks = malloc(count * sizeof *blocks + 8);
    for (size_t i = 0; i < count; i++)
        memset(blocks[i] = malloc(64), 1, 64);
    inherited = calloc(1, 2000);
    freed = calloc(1, 2000);
    for (int i = 0; i < workers; i++)
        if (fork() == 0) {
            allocate();
            clear_stack();
            if (argc > 3)
                fork_longer();
            exit(0);
        }
    for (int status; wait(&status) > 0;)
        bad += status != 0;
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    free(blocks);
    free((void *)inherited);
    free((void *)freed);
    return bad != 0;
}
