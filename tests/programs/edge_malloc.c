/*
 * edge_malloc: to be preloaded. Blocks of up to 8 bytes end where a page does, and the next page
 * cannot be read.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, SMALL = 8, BLOCKS = 4096 };

void *__libc_malloc(size_t);
void __libc_free(void *);
void *__libc_realloc(void *, size_t);

static char *area;
static int used;

static int is_small(const void *p)
{
    return area && (const char *)p >= area && (const char *)p < area + BLOCKS * 2L * PAGE;
}

void *malloc(size_t size)
{
    if (!area)
        area = mmap(NULL, BLOCKS * 2L * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int number = size <= SMALL ? __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED) : BLOCKS;
    if (number >= BLOCKS)
        return __libc_malloc(size);
    mprotect(area + number * 2L * PAGE, PAGE, PROT_READ | PROT_WRITE);
    return area + number * 2L * PAGE + PAGE - SMALL;
}

void free(void *p)
{
    if (!is_small(p))
        __libc_free(p);
}

void *realloc(void *old, size_t size)
{
    if (!is_small(old))
        return old ? __libc_realloc(old, size) : malloc(size);
    void *p = __libc_malloc(size);
    if (p)
        memcpy(p, old, size < SMALL ? size : SMALL);
    return p;
}
