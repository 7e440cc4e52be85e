/*
 * A simple allocator: blocks from one large area, never used twice, with their size before them. It
 * has the malloc family and no malloc_usable_size. As a library to preload, or as part of a program
 * (-DWITH_MAIN), which then allocates through it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "known.h"

static _Alignas(4096) char area[64 << 20];
static size_t used;

void *memalign(size_t alignment, size_t size);

void *memalign(size_t alignment, size_t size)
{
    size_t before, at;

    if (size > sizeof(area)) {
        errno = ENOMEM;
        return NULL;
    }
    before = __atomic_fetch_add(&used, size + 2 * alignment + 16, __ATOMIC_RELAXED);
    at = (before + 8 + alignment - 1) & ~(alignment - 1);
    if (at + size > sizeof(area)) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(area + at - 8, &size, 8);
    return area + at;
}

void *malloc(size_t size)
{
    return memalign(16, size);
}

void *calloc(size_t count, size_t size)
{
    return memalign(16, count * size); /* never used twice: it is zero */
}

void free(void *block)
{
    if (block && ((char *)block < area || (char *)block >= area + sizeof(area)))
        __builtin_trap();
}

void *realloc(void *old, size_t size)
{
    size_t old_size = 0;
    void *block = memalign(16, size);

    if (old && block) {
        memcpy(&old_size, (char *)old - 8, 8);
        memcpy(block, old, old_size < size ? old_size : size);
    }
    return block;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

#ifdef WITH_FREE_SIZED
void free_sized(void *block, size_t size);
void free_sized(void *block, size_t size)
{
    size_t known = size;
    if (block)
        memcpy(&known, (char *)block - 8, 8);
    if (known != size)
        __builtin_trap();
    free(block);
}

void free_aligned_sized(void *block, size_t alignment, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    if ((uintptr_t)block % alignment)
        __builtin_trap();
    free_sized(block, size);
}
#endif

#ifdef WITH_STRDUP
/* As mimalloc 3 has it: its own function, which calls no other, is the program's strdup too. */
void *mi_malloc(size_t size) __attribute__((alias("malloc"), copy(malloc)));
void mi_free(void *block) __attribute__((alias("free"), copy(free)));
size_t mi_usable_size(const void *block);
size_t mi_usable_size(const void *block)
{
    size_t size = 0;
    if (block)
        memcpy(&size, (const char *)block - 8, 8);
    return size;
}

char *mi_strdup(const char *text);
char *mi_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    size_t at = (__atomic_fetch_add(&used, size + 48, __ATOMIC_RELAXED) + 23) & ~15ul;
    memcpy(area + at - 8, &size, 8);
    return memcpy(area + at, text, size);
}
char *strdup(const char *text) __attribute__((alias("mi_strdup")));
#endif

#ifdef WITH_MAIN
SITE static void takes(size_t size)
{
    known_sink = malloc(size);
    known_sink = calloc(3, size);
    known_sink = realloc(known_sink, 5 * size);
    free(known_sink);
    known_sink = strdup("seven..");
}

int main(void)
{
    for (int i = 0; i < 100; i++)
        takes(401);
    return 0;
}
#endif
