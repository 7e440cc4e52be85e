/* Sites whose blocks have one size at first, and others later: alike_then_not PAUSE_US. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static useconds_t pause_us;

static __attribute__((noinline)) void *small_first(size_t size)
{
    return malloc(size);
}

static __attribute__((noinline)) void *most_when_alike(size_t size)
{
    return malloc(size);
}

static __attribute__((noinline)) void *freed_by_another(size_t size)
{
    return malloc(size);
}

static void rest(void)
{
    if (pause_us)
        usleep(pause_us);
}

static void *blocks[20];

static void drop(size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++)
        free(blocks[i]);
    rest();
}

static void *frees(void *unused)
{
    drop(0, 3);
    drop(3, 2);
    return unused;
}

/* All calls of one function have the same stack. */
static const struct step {
    void *(*get)(size_t);
    size_t count, size, from, freed;
} steps[] = {
    {small_first, 10, 100, 0, 10},   {small_first, 1, 5000, 0, 1},
    {small_first, 3, 100, 0, 1},     {most_when_alike, 10, 1000, 0, 8}, /* the heap's peak */
    {most_when_alike, 1, 50, 0, 1},  {most_when_alike, 1, 40, 0, 0},
    {freed_by_another, 3, 64, 0, 0}, {freed_by_another, 2, 200, 3, 0},
};

int main(int argc, char **argv)
{
    pthread_t thread;
    pause_us = argc > 1 ? (useconds_t)atoi(argv[1]) : 0;
    for (const struct step *s = steps; s < steps + sizeof steps / sizeof *steps; s++) {
        for (size_t i = 0; i < s->count; i++)
            blocks[s->from + i] = s->get(s->size);
        rest();
        drop(0, s->freed);
    }
    if (pthread_create(&thread, NULL, frees, NULL))
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
