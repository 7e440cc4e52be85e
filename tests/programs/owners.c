/*
 * owners PAGES: memory is allocated in some functions and touched in another. Blocks are so large
 * that libc maps each apart, so that a page is one block's.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "known.h"

#define PAGE 4096

SITE static char *large_block(size_t pages)
{
    return malloc(pages * PAGE);
}

SITE static char *another(size_t pages)
{
    return aligned_alloc(PAGE, pages * PAGE);
}

SITE static char *own_mapping(size_t pages)
{
    return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

__attribute__((noinline, noclone)) static void touch(volatile char *memory, size_t pages)
{
    for (size_t i = 0; i < pages; i++)
        memory[i * PAGE + 100] = 1;
}

int main(int argc, char **argv)
{
    size_t pages = argc > 1 ? (size_t)atol(argv[1]) : 1000;
    char *a = large_block(pages), *b = another(2 * pages), *c = own_mapping(3 * pages);
    known_sink = a;
    known_sink = b;
    known_sink = c;
    touch(c, 3 * pages);
    touch(a, pages);
    touch(b, 2 * pages);
    return 0;
}
