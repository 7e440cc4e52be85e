/*
 * A program or plugin with an allocator of its own, which calls it 7 times. OWN says how malloc is
 * declared: nothing (exported), static, or hidden. As a plugin, plugin_work is the entry.
 * With IDLE it is not called.
 */
#include <stddef.h>

#ifndef OWN
#define OWN
#endif

static _Alignas(16) char pool[65536];
static size_t used;

OWN void *malloc(size_t size);
OWN void free(void *p);

OWN __attribute__((noinline)) void *malloc(size_t size)
{
    void *p = pool + used;
    used += (size + 15) & ~(size_t)15;
    return used <= sizeof pool ? p : NULL;
}

OWN __attribute__((noinline)) void free(void *p)
{
    (void)p;
}

void plugin_work(void);

void plugin_work(void)
{
    for (int i = 0; i < 7; i++)
        free(malloc(1000));
}

int main(void)
{
#ifdef IDLE
    return 5;
#else
    plugin_work();
    return used == 7 * 1008 ? 5 : 9;
#endif
}
