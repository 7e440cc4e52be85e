/*
 * Functions whose totals and live bytes are known: each allocates blocks of one kind of size, in a
 * mixed order, and keeps some of them. With "free" all are freed at the end, with "threads" four
 * threads do it all, with "fork" a child does it again and frees its parent's.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT   400000
#define REPEAT 6

struct keep {
    void *blocks[KEPT];
    size_t count;
};

static struct keep main_keep;

#define ALLOCATOR(name, size, one_in)                                                              \
    __attribute__((noinline)) static void name(struct keep *k, unsigned i)                         \
    {                                                                                              \
        char *volatile p = malloc(size);                                                           \
        *p = 1;                                                                                    \
        if (i % (one_in) == 0)                                                                     \
            k->blocks[k->count++] = p;                                                             \
        else                                                                                       \
            free(p);                                                                               \
    }

ALLOCATOR(tiny, 16 + i % 5 * 8, 2)
ALLOCATOR(small, 200 + i % 100, 3)
ALLOCATOR(medium, 5000 + i % 1000, 4)
ALLOCATOR(large, 100000 + i % 7 * 1000, 2)
ALLOCATOR(huge, 1 << 20, 3)

/* Grows a block from 64 bytes to 64 KiB by realloc, and keeps every second one. */
__attribute__((noinline)) static void grown(struct keep *k, unsigned i)
{
    char *p = NULL;
    for (size_t size = 64; size <= 65536; size *= 2) {
        char *volatile q = realloc(p, size);
        p = q;
    }
    if (i % 2 == 0)
        k->blocks[k->count++] = p;
    else
        free(p);
}

static void work(struct keep *k)
{
    for (unsigned round = 0; round < REPEAT; round++) {
        for (unsigned i = 0; i < 20000; i++)
            tiny(k, i);
        for (unsigned i = 0; i < 8000; i++)
            small(k, i);
        for (unsigned i = 0; i < 1000; i++)
            medium(k, i);
        for (unsigned i = 0; i < 60; i++)
            large(k, i);
        for (unsigned i = 0; i < 6; i++)
            huge(k, i);
        for (unsigned i = 0; i < 40; i++)
            grown(k, i);
    }
}

static void give_back(struct keep *k)
{
    while (k->count)
        free(k->blocks[--k->count]);
}

static void *thread(void *argument)
{
    struct keep *k = argument;
    work(k);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "threads") == 0) {
        static struct keep keeps[4];
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, thread, &keeps[i]);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < 4; i++) /* of other threads */
            give_back(&keeps[i]);
        return 0;
    }
    work(&main_keep);
    if (strcmp(how, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            give_back(&main_keep); /* its parent's */
            work(&main_keep);
            give_back(&main_keep);
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
    if (strcmp(how, "free") == 0 || strcmp(how, "fork") == 0)
        give_back(&main_keep);
    return 0;
}
