/* Frames of all shapes between main and the allocation: each function calls the next with a size of
 * its own. */
#define _GNU_SOURCE
#include <alloca.h>
#include <string.h>

#include "known.h"

SITE static void leaf(size_t size)
{
    known_sink = malloc(size);
}

SITE static void plain_frame(void)
{
    leaf(1);
    known_sink = NULL;
}

SITE static void large_frame(void)
{
    volatile char buffer[100000];

    buffer[0] = buffer[99999] = 1;
    leaf(2);
    buffer[1] = buffer[0];
}

SITE static void variable_frame(int n)
{
    volatile char *buffer = alloca((size_t)n * 100);

    buffer[0] = 1;
    leaf(3);
    buffer[1] = buffer[0];
}

SITE static void aligned_frame(void)
{
    _Alignas(64) volatile char buffer[128];

    buffer[0] = 1;
    leaf(4);
    buffer[1] = buffer[0];
}

/* Arguments on the stack: the stack pointer moves around the call. */
SITE static long many_arguments(long a, long b, long c, long d, long e, long f, long g, long h,
                                long i)
{
    leaf(5);
    return a + b + c + d + e + f + g + h + i;
}

SITE static void passes_many(int n)
{
    known_sink = (void *)many_arguments(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8);
}

SITE static int compare(const void *a, const void *b)
{
    leaf(6);
    return *(const int *)a - *(const int *)b;
}

/* Through libc: qsort of two items compares once. */
SITE static void through_qsort(void)
{
    int items[2] = {2, 1};

    qsort(items, 2, sizeof(items[0]), compare);
    known_sink = NULL;
}

SITE static void saves_registers(int n)
{
    int a = n * 3, b = n * 5, c = n * 7, d = n * 11, e = n * 13, f = n * 17;

    leaf(7);
    known_sink = (void *)(long)(a ^ b ^ c ^ d ^ e ^ f);
    leaf(7);
    known_sink = (void *)(long)(a + b * c - d / (e | 1) + f);
}

/* The same caller again and again from a changing depth: what was remembered of the stack must not
 * be believed. */
SITE static void varying(int depth)
{
    if (depth)
        varying(depth - 1);
    else
        leaf(8);
    known_sink = NULL;
}

int main(int argc, char **argv)
{
    (void)argv;
    plain_frame();
    large_frame();
    variable_frame(argc);
    aligned_frame();
    passes_many(argc);
    through_qsort();
    saves_registers(argc);
    for (int i = 0; i < 1000; i++)
        varying(i * 7 % 20);
    return 0;
}
