/* A library to preload: a malloc that first calls what before_malloc points at, if anything. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void *malloc(size_t size);
extern void (*volatile before_malloc)(void);
void (*volatile before_malloc)(void);

void *malloc(size_t size)
{
    static void *(*next)(size_t);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc");
    if (before_malloc)
        before_malloc();
    return next(size);
}
