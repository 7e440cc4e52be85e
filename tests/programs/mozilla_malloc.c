/*
 * A program like Firefox: it has malloc and pthread_create itself, and allocation functions that
 * take an arena; what those return is freed by free, too. Blocks come from one large area and are
 * never used twice.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "known.h"

typedef size_t arena_id;

#define ROUNDS 100
#define KEPT   7

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attributes, start, argument);
}

static _Alignas(64) char area[64 << 20];
static size_t used;

/* With its size before it. */
static void *take(size_t size)
{
    size_t at = __atomic_fetch_add(&used, (size + 127) / 64 * 64, __ATOMIC_RELAXED) + 64;
    if (size > sizeof area || at + size > sizeof area)
        return NULL;
    *(size_t *)(area + at - 8) = size;
    return area + at;
}

static void *take_more(void *old, size_t size)
{
    void *p = take(size);
    if (p && old)
        memcpy(p, old, ((size_t *)old)[-1] < size ? ((size_t *)old)[-1] : size);
    return p;
}

static void give(void *p)
{
    if (p)
        ((size_t *)p)[-1] = 0;
}

SITE void *malloc(size_t size)
{
    return take(size);
}

SITE void *calloc(size_t count, size_t size)
{
    return take(count * size); /* the area is zero */
}

SITE void *realloc(void *old, size_t size)
{
    void *p = take_more(old, size);
    if (p)
        give(old);
    return p;
}

SITE void free(void *p)
{
    give(p);
}

SITE void *moz_arena_malloc(arena_id arena, size_t size)
{
    return arena ? take(size) : NULL;
}

SITE void *moz_arena_calloc(arena_id arena, size_t count, size_t size)
{
    return arena ? take(count * size) : NULL;
}

SITE void *moz_arena_realloc(arena_id arena, void *old, size_t size)
{
    void *p = arena ? take_more(old, size) : NULL;
    if (p)
        give(old);
    return p;
}

SITE void *moz_arena_memalign(arena_id arena, size_t alignment, size_t size)
{
    return arena && alignment <= 64 ? take(size) : NULL;
}

SITE void moz_arena_free(arena_id arena, void *p)
{
    if (arena)
        give(p);
}

static arena_id volatile arena = 1;

/* Every second one is freed by free, those that are not kept. */
static void drop(int i, void *p)
{
    if (i >= KEPT)
        i % 2 ? free(p) : moz_arena_free(arena, p);
}

SITE static void by_arena_malloc(void)
{
    for (int i = 0; i < ROUNDS; i++)
        drop(i, known_sink = moz_arena_malloc(arena, 801));
}

SITE static void by_arena_calloc(void)
{
    for (int i = 0; i < ROUNDS; i++)
        drop(i, known_sink = moz_arena_calloc(arena, 3, 211));
}

SITE static void by_arena_realloc(void)
{
    for (int i = 0; i < ROUNDS; i++)
        drop(i, known_sink = moz_arena_realloc(arena, moz_arena_malloc(arena, 16), 1203));
}

SITE static void by_arena_memalign(void)
{
    for (int i = 0; i < ROUNDS; i++)
        drop(i, known_sink = moz_arena_memalign(arena, 64, 1301));
}

SITE static void *by_malloc(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        drop(i, known_sink = malloc(1001));
    return unused;
}

int main(void)
{
    pthread_t thread;
    by_arena_malloc();
    by_arena_calloc();
    by_arena_realloc();
    by_arena_memalign();
    if (pthread_create(&thread, NULL, by_malloc, NULL) || pthread_join(thread, NULL))
        return 1;
    return 0;
}
