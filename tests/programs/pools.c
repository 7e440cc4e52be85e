/*
 * Allocators of the program's own, which tell of their blocks. All memory is from one malloc.
 *
 * pools plain: a and b with known blocks, live at marks; some are replaced, some unknown.
 *
 * pools pairs N: N blocks come and go.
 *
 * pools threads N: 8 threads hand out N blocks each, and free those of their neighbour.
 *
 * pools names N: one block in each of N pools.
 *
 * pools forks: parent and child.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark.h"

#define THREADS 8
static char *arena;

__attribute__((noinline)) static void small(int i)
{
    tide_alloc("a", arena + i, 1); /* as close as can be */
}

__attribute__((noinline)) static void large(int i)
{
    tide_alloc("b of all", arena + i, 5000000000ul);
}

__attribute__((noinline)) static void plain(void)
{
    for (int i = 0; i < 100; i++) {
        small(i);
        tide_mark("small");
    }
    for (int i = 0; i < 3; i++)
        large(i); /* at addresses that a has as well */
    tide_mark("all");
    for (int i = 0; i < 100; i += 2)
        tide_free("a", arena + i);
    tide_free("b of all", arena + 2);
    tide_mark("half");
    tide_free("a", arena);      /* it is no more */
    tide_free("c", arena + 1);  /* there is no such pool */
    tide_free("a", NULL);       /* nothing */
    tide_alloc("a", NULL, 100); /* nothing */
    tide_alloc("a", arena + 1, 11);
    tide_pause();
    tide_alloc("a", arena + 1000, 1000000); /* not recorded */
    tide_free("a", arena + 3);              /* followed */
    tide_resume();
}

struct ring {
    pthread_barrier_t *barrier;
    int number, count;
};

static void *hands_over(void *of)
{
    struct ring *r = of;
    size_t each = 64;
    char *own = arena + (size_t)r->number * (size_t)r->count * each;
    char *others = arena + (size_t)((r->number + 1) % THREADS) * (size_t)r->count * each;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < r->count; i++)
            tide_alloc("shared", own + (size_t)i * each, (unsigned)(round + 1) * 10);
        pthread_barrier_wait(r->barrier);
        for (int i = 0; i < r->count - round; i++) /* more is left over in each round, */
            tide_free("shared", others + (size_t)i * each);
        pthread_barrier_wait(r->barrier);
        for (int i = r->count - round; i < r->count; i++) /* and freed by its own thread */
            tide_free("shared", own + (size_t)i * each);
        pthread_barrier_wait(r->barrier);
    }
    for (int i = 0; i < r->count; i++)
        tide_alloc("left", own + (size_t)i * each, 7);
    return NULL;
}

static void threads(int count)
{
    pthread_t ids[THREADS];
    pthread_barrier_t barrier;
    struct ring rings[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        rings[i] = (struct ring){&barrier, i, count};
        pthread_create(&ids[i], NULL, hands_over, &rings[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 0;
    arena = malloc(10000000);
    if (strcmp(argv[1], "plain") == 0) {
        plain();
    } else if (strcmp(argv[1], "pairs") == 0) {
        for (int i = 0; i < count; i++) {
            tide_alloc("pairs", arena + i % 1000 * 16, 16);
            tide_free("pairs", arena + i % 1000 * 16);
        }
    } else if (strcmp(argv[1], "threads") == 0) {
        threads(count);
    } else if (strcmp(argv[1], "names") == 0) {
        for (int i = 0; i < count; i++) {
            char name[32];
            snprintf(name, sizeof name, "pool number %d", i);
            tide_alloc(name, arena + i, 10);
        }
    } else if (strcmp(argv[1], "forks") == 0) {
        tide_alloc("before", arena, 1);
        pid_t child = fork();
        tide_alloc(child ? "parent" : "child", arena, 10);
        tide_alloc("both", arena, child ? 100 : 1000);
        if (child)
            waitpid(child, NULL, 0);
        else
            tide_free("before", arena);
    } else {
        return 3;
    }
    return tide_active() ? 0 : 4;
}
