/*
 * Blocks that are held in unusual places, or by nothing that counts; sizes tell them apart. From
 * 3100 on they are held, from 3200 on they are not. leak_roots PLUGIN: the path of plugin_roots.c.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "scan_blocks.h"

enum { KEYS = 40 }; /* more than a thread's descriptor has room for */

static uintptr_t volatile disguised[2];
static pthread_key_t first_key, late_key;

SITE static void by_keys(void)
{
    pthread_key_t keys[KEYS];
    for (int i = 0; i < KEYS; i++)
        if (pthread_key_create(&keys[i], NULL))
            abort();
    first_key = keys[0];
    late_key = keys[KEYS - 1];
    pthread_setspecific(first_key, block(3100));
    pthread_setspecific(late_key, block(3101));
}

static void *sets_key(void *unused)
{
    pthread_setspecific(first_key, block(3200));
    return unused;
}

/* Its data go with the thread, and nobody frees them. */
SITE static void by_key_of_ended_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, sets_key, NULL))
        abort();
    pthread_join(thread, NULL);
}

SITE static void by_disguise(void)
{
    disguised[0] = (uintptr_t)block(3201) ^ UINTPTR_MAX;
    disguised[1] = __builtin_bswap64((uintptr_t)block(3202));
}

/* In the kernel, which is not looked into. */
SITE static void by_pipe(void)
{
    int ends[2];
    void *p = block(3203);
    if (pipe(ends) || write(ends[1], &p, sizeof p) != sizeof p)
        abort();
}

SITE static void by_plugin(void *library)
{
    void (*keep)(void *, void *);
    *(void **)&keep = library ? dlsym(library, "plugin_keep") : NULL;
    if (!keep)
        abort();
    keep(block(3120), block(3121));
}

SITE static void by_closed_plugin(const char *path)
{
    void (*keep)(void *, void *);
    void *library = dlmopen(LM_ID_BASE, path, RTLD_NOW);
    *(void **)&keep = library ? dlsym(library, "plugin_keep") : NULL;
    if (!keep)
        abort();
    keep(block(3210), block(3211));
    dlclose(library);
}

SITE static void aligned(void)
{
    void *p;
    known_sink = aligned_alloc(64, 3264);
    known_sink = memalign(256, 3221);
    known_sink = valloc(3222);
    if (posix_memalign(&p, 128, 3223))
        abort();
    known_sink = p;
}

/* Lost twice over: the first block went with the second. */
SITE static void of_realloc(void)
{
    known_sink = realloc(block(16), 3230);
}

/* What a function that has returned had on its stack holds nothing. */
SITE static void on_a_frame_that_is_gone(void)
{
    void *volatile local = block(3231);
    known_sink = local;
}

SITE static void large(void)
{
    known_sink = block(5000000);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    by_keys();
    by_key_of_ended_thread();
    by_disguise();
    by_pipe();
    by_closed_plugin(argv[2]);
    by_plugin(dlopen(argv[1], RTLD_NOW));
    aligned();
    of_realloc();
    on_a_frame_that_is_gone();
    large();
    known_sink = NULL;
    clear_stack();
    return 0;
}
