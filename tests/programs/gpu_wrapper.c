/*
 * A stand-in for a library that has some of the names of CUDA's driver and calls it, as those do that
 * limit a program's share of a graphics processor, or that load the driver when it is first needed.
 */
#include <dlfcn.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default"), noinline))

__attribute__((visibility("default"))) void *wrapped;

static void *find(const char *name)
{
    return dlsym(wrapped, name);
}

EXPORT int cuMemAlloc_v2(unsigned long long *out, size_t size)
{
    int (*next)(unsigned long long *, size_t);
    void *f = find("cuMemAlloc_v2");
    memcpy(&next, &f, sizeof f);
    int result = next(out, size);
    return result ? result + 100 : 0;
}

EXPORT int cuMemFree_v2(unsigned long long block)
{
    int (*next)(unsigned long long);
    void *f = find("cuMemFree_v2");
    memcpy(&next, &f, sizeof f);
    int result = next(block);
    return result ? result + 100 : 0;
}

/* Seen before the driver is loaded. */
static char *volatile seen;
__attribute__((constructor)) static void start(void)
{
    seen = strdup("seen");
}
