/*
 * heap_figures STATE [MARKS [PAUSE_MS [SNAPSHOT]]]: brings the heap into a state, asks the
 * allocator itself what it holds and what of it is free, marks the moment "now", and asks again:
 * nothing may have changed. SNAPSHOT is a file; one is written before the first mark, and is asked
 * for the same way. Prints "allocator held free" for each.
 *
 * States: few blocks; mapped: large ones, which have mappings of their own; holes: every second of
 * many was freed; threads: 8 of them leave blocks and holes behind, in arenas of their own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "known.h"
#include "tidemark.h"

enum { BLOCKS = 20000, LARGE = 8, THREADS = 8, MOST_MARKS = 1000 };

struct figures {
    const char *allocator;
    size_t held, free; /* free is -1 where it is not told */
};

static int (*control)(const char *, void *, size_t *, void *, size_t);
static int (*property)(const char *, size_t *);
static void (*process)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *,
                       size_t *);

#ifdef LINKED_IN /* and its functions not for dlsym to see */
extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
extern int MallocExtension_GetNumericProperty(const char *, size_t *) __attribute__((weak));
#endif

static void find_allocator(void)
{
#ifdef LINKED_IN
    control = mallctl;
    property = MallocExtension_GetNumericProperty;
#else
    void *found[] = {dlsym(RTLD_DEFAULT, "mallctl"),
                     dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty"),
                     dlsym(RTLD_DEFAULT, "mi_process_info")};
    memcpy(&control, &found[0], sizeof control);
    memcpy(&property, &found[1], sizeof property);
    memcpy(&process, &found[2], sizeof process);
#endif
}

static size_t ask_jemalloc(const char *name)
{
    size_t value = 0, size = sizeof value;
    if (control(name, &value, &size, NULL, 0))
        exit(5);
    return value;
}

static size_t ask_tcmalloc(const char *name)
{
    size_t value = 0;
    if (!property(name, &value))
        exit(5);
    return value;
}

static struct figures ask(void)
{
    struct figures f = {"glibc", 0, 0};
    if (control) {
        unsigned long long epoch = 1;
        control("epoch", NULL, NULL, &epoch, sizeof epoch);
        f.allocator = "jemalloc";
        f.held = ask_jemalloc("stats.resident");
        f.free = ask_jemalloc("stats.active") - ask_jemalloc("stats.allocated") +
                 ask_jemalloc("stats.arenas.4096.pdirty") * ask_jemalloc("arenas.page");
    } else if (property) {
        f.allocator = "tcmalloc";
        f.held = ask_tcmalloc("generic.heap_size");
        f.free = f.held - ask_tcmalloc("generic.current_allocated_bytes");
    } else if (process) {
        size_t other[7];
        f.allocator = "mimalloc";
        process(&other[0], &other[1], &other[2], &other[3], &other[4], &f.held, &other[5],
                &other[6]);
        f.free = (size_t)-1;
    } else {
        struct mallinfo2 m = mallinfo2();
        f.held = m.arena + m.hblkhd;
        f.free = m.fordblks;
    }
    return f;
}

static void *blocks[THREADS + 1][BLOCKS];

static void fill(void **mine, int count)
{
    for (int i = 0; i < count; i++)
        mine[i] = malloc((size_t)(i % 50 + 1) * 24);
}

static void make_holes(void **mine, int count)
{
    for (int i = 0; i < count; i += 2) {
        free(mine[i]);
        mine[i] = NULL;
    }
}

static pthread_barrier_t all_there;

static void *in_thread(void *argument)
{
    void **mine = argument;
    pthread_barrier_wait(&all_there); /* so that they share no arena */
    fill(mine, BLOCKS / THREADS);
    make_holes(mine, BLOCKS / THREADS);
    pthread_barrier_wait(&all_there);
    return NULL;
}

static void reach(const char *state)
{
    if (strcmp(state, "few") == 0) {
        fill(blocks[0], 100);
    } else if (strcmp(state, "mapped") == 0) {
        for (int i = 0; i < LARGE; i++)
            blocks[0][i] = malloc(((size_t)i + 1) << 20);
        free(blocks[0][3]);
    } else if (strcmp(state, "holes") == 0) {
        fill(blocks[0], BLOCKS);
        make_holes(blocks[0], BLOCKS);
    } else {
        pthread_t ids[THREADS];
        pthread_barrier_init(&all_there, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&ids[i], NULL, in_thread, blocks[i + 1]);
        for (int i = 0; i < THREADS; i++)
            pthread_join(ids[i], NULL);
    }
}

int main(int argc, char **argv)
{
    static struct figures said[MOST_MARKS];
    static char buffer[4096];
    int marks = known_argument(argc, argv, 2, 1) + (argc > 4),
        pause_ms = known_argument(argc, argv, 3, 0);
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    find_allocator();
    tide_active(); /* finds the recorder */
    reach(argc > 1 ? argv[1] : "few");
    for (int i = 0; i < marks && i < MOST_MARKS; i++) {
        if (i) {
            usleep((useconds_t)pause_ms * 1000);
            known_sink = malloc((size_t)i * 1000);
        }
        said[i] = ask();
        if (i == 0)
            said[i] = ask(); /* the first question may have changed something */
        if (i == 0 && argc > 4)
            tide_snapshot(argv[4]);
        else
            tide_mark("now");
        struct figures after = ask();
        if (after.held != said[i].held || after.free != said[i].free)
            return 4;
    }
    for (int i = 0; i < marks && i < MOST_MARKS; i++)
        printf("%s %zu %zd\n", said[i].allocator, said[i].held, (ssize_t)said[i].free);
    return 0;
}
