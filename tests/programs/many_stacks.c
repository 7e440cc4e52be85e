/*
 * As many stacks as the first argument's power of two: each allocates 16 bytes once, and each is as
 * deep as all others. The blocks are a list that begins in a variable. With a second argument, the
 * program may map no more than so many KiB besides what it has at its start and needs for the
 * blocks.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "known.h"

static void **list;

SITE static void leaf(void)
{
    void **block = malloc(16); /* leaf */

    *block = list;
    list = block;
}

/* The lowest bits of `path` say from which line the next call is made. What is before and after the two calls
 * differs: compilers make one of calls that are alike. */
SITE static void branch(int depth, unsigned path)
{
    if (!depth) {
        leaf();
        __asm__ volatile("");
    } else if (path & 1) {
        __asm__ volatile("nop");
        branch(depth - 1, path >> 1);
        __asm__ volatile("");
    } else {
        __asm__ volatile("");
        branch(depth - 1, path >> 1);
        __asm__ volatile("nop");
    }
}

static void limit_address_space(size_t more)
{
    unsigned long pages = 0, page = (unsigned long)sysconf(_SC_PAGESIZE);
    FILE *f = fopen("/proc/self/statm", "r");

    if (!f || fscanf(f, "%lu", &pages) != 1)
        abort();
    fclose(f);
    setrlimit(RLIMIT_AS, &(struct rlimit){pages * page + more, RLIM_INFINITY});
}

int main(int argc, char **argv)
{
    int depth = known_argument(argc, argv, 1, 17), limit = known_argument(argc, argv, 2, 0);

    if (limit)
        limit_address_space((32ul << depth) + ((size_t)limit << 10));
    for (unsigned path = 0; path < 1u << depth; path++)
        branch(depth, path);
    return 0;
}
