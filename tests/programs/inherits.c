/*
 * inherits HOW: a parent with 100 blocks of 100 bytes forks. Its child frees 30 of them, moves 10
 * by realloc to 200 bytes, tries a realloc of one that fails, allocates 5 blocks of 1,000 and forks
 * in turn: the grandchild frees 20 of the first parent's and 2 of the child's. Meanwhile the parent
 * frees all of its own and allocates as many.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

enum { BLOCKS = 100, SIZE = 100 };
static void *blocks[BLOCKS], *own[5];
static pid_t (*make)(void) = fork;

static void wait_for(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        _exit(9);
}

SITE static void in_grandchild(void)
{
    for (int i = 50; i < 70; i++)
        free(blocks[i]);
    free(own[0]);
    free(own[1]);
    known_sink = malloc(10);
    _exit(0);
}

SITE static void in_child(void)
{
    for (int i = 0; i < 30; i++)
        free(blocks[i]);
    for (int i = 30; i < 40; i++)
        blocks[i] = realloc(blocks[i], 200);
    known_sink = realloc(blocks[40], known_sink ? SIZE_MAX / 2 : PTRDIFF_MAX);
    for (int i = 0; i < 5; i++)
        own[i] = malloc(1000);
    pid_t grandchild = make();
    if (grandchild == 0)
        in_grandchild();
    wait_for(grandchild);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "_Fork"))
        make = _Fork;
    known_sink = malloc(1); /* whatever the loader and libc had, too */
    free(known_sink);
    known_sink = NULL;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(SIZE);
    pid_t child = make();
    if (child == 0)
        in_child();
    for (int i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
        blocks[i] = malloc(SIZE);
    }
    wait_for(child);
    return 0;
}
