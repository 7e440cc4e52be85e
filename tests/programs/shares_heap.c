/* A large heap, forked children that share it, and a block of each child's own.
 *   shares_heap MIB CHILDREN
 * Prints the children's process ids, and ends them when stdin does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK (64 << 10)
#define MOST  64

static void *volatile kept; /* by each child */

static void be_a_child(const int end[2])
{
    char byte;
    kept = malloc(3000);
    close(end[1]);
    if (read(end[0], &byte, 1) < 0)
        exit(1);
    exit(0);
}

int main(int argc, char **argv)
{
    size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) * ((1 << 20) / BLOCK) : 0;
    int children = argc > 2 ? atoi(argv[2]) : 0, end[2], bad = 0;
    pid_t pids[MOST];
    void **blocks = malloc(count * sizeof *blocks);
    for (size_t i = 0; i < count; i++)
        memset(blocks[i] = malloc(BLOCK), 1, BLOCK);
    if (pipe(end) != 0)
        return 1;
    for (int i = 0; i < children && i < MOST; i++)
        if ((pids[i] = fork()) == 0)
            be_a_child(end);
    for (int i = 0; i < children && i < MOST; i++)
        printf("%d%c", pids[i], i + 1 < children ? ' ' : '\n');
    fflush(stdout);
    while (getchar() != EOF)
        ;
    close(end[0]);
    close(end[1]);
    for (int status; wait(&status) > 0;)
        bad += status != 0;
    printf("%d bad\n", bad);
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
    free(blocks);
    return bad != 0;
}
