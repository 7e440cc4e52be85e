/* The frees of C23, which are given the size. Old C libraries have none: they are looked for. */
#include "known.h"

extern void free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

SITE static void keeps(void)
{
    known_sink = malloc(71);
}

SITE static void drops(void)
{
    void *volatile p = malloc(100);
    free_sized(p, 100);
    free_sized(NULL, 0);
    p = aligned_alloc(64, 128);
    free_aligned_sized(p, 64, 128);
    free_aligned_sized(NULL, 64, 0);
}

int main(void)
{
    if (!free_sized || !free_aligned_sized)
        return 77;
    for (int i = 0; i < 125; i++)
        drops();
    for (int i = 0; i < 50; i++)
        keeps();
    return 0;
}
