/* Loses blocks, then forks children of which each loses its own. Arguments: children, or none; with
 * a second argument the last child allocates that many bytes and makes the marks. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark.h"

static void *volatile kept;

__attribute__((noinline)) static void lose(size_t size, int count)
{
    for (int i = 0; i < count; i++) {
        volatile char *p = malloc(size);
        p[0] = 1;
    }
}

__attribute__((noinline)) static void parent_loses(void)
{
    lose(1000, 100);
}

__attribute__((noinline)) static void child_loses(void)
{
    lose(2000, 50);
}

/* What is left of pointers in dead frames and registers. */
__attribute__((noinline)) static int wipe(void)
{
    volatile char a[8192];
    memset((char *)a, 0, sizeof a);
    return a[5];
}

int main(int argc, char **argv)
{
    int children = argc > 1 ? atoi(argv[1]) : 0;
    parent_loses();
    wipe();
    for (int i = 0; i < children; i++) {
        if (fork())
            continue;
        if (argc > 2 && i == children - 1) {
            kept = calloc(1, strtoul(argv[2], NULL, 10));
            for (int event = 0; event < 3; event++)
                tide_mark("event");
        }
        child_loses();
        exit(wipe());
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
