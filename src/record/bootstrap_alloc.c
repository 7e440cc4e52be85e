#include "record/bootstrap_alloc.h"

_Alignas(16) char boot_memory[BOOT_BYTES];
static _Atomic size_t boot_used;

void *boot_alloc(size_t size)
{
    if (size > sizeof boot_memory)
        return NULL;
    size = (size + 15) & ~(size_t)15;
    size_t at = atomic_fetch_add(&boot_used, size);
    return at + size <= sizeof boot_memory ? boot_memory + at : NULL;
}

size_t boot_bytes(char **start)
{
    size_t used = atomic_load(&boot_used);
    *start = boot_memory;
    return used < sizeof boot_memory ? used : sizeof boot_memory;
}

size_t boot_room(const void *p)
{
    return boot_owns(p) ? (size_t)(boot_memory + sizeof boot_memory - (const char *)p) : 0;
}
