/* Records parts of itself (tide_start). Says what each call gave; its argument is what to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark.h"

static char *kept[1000];
static int count;

__attribute__((noinline)) static void keep(int blocks, size_t size)
{
    while (blocks--)
        memset(kept[count++] = malloc(size), 1, size);
}

static int two_parts(void)
{
    keep(7, 1000);
    printf("start %d\n", tide_start("first.tide"));
    printf("again %d\n", tide_start("none.tide"));
    keep(20, 3000);
    printf("stop %d\n", tide_stop());
    keep(11, 1000);
    printf("start %d\n", tide_start("second.tide"));
    keep(5, 4000);
    printf("stop %d\n", tide_stop());
    printf("stop %d\n", tide_stop());
    printf("children %d\n", (int)waitpid(-1, NULL, WNOHANG));
    return 0;
}

/* The other end of a pipe that we had is nobody's but ours: else this would wait for ever. */
static int pipe_end(void)
{
    int ends[2];
    char byte;
    if (pipe(ends))
        return 1;
    printf("start %d\n", tide_start("pipe.tide"));
    close(ends[1]);
    printf("read %d\n", (int)read(ends[0], &byte, 1));
    printf("stop %d\n", tide_stop());
    return 0;
}

static int forked(void)
{
    int status = -1;
    printf("start %d\n", tide_start("forked.tide"));
    fflush(stdout);
    keep(3, 2000);
    if (fork() == 0) {
        keep(4, 2000);
        _exit(tide_stop() == -3 ? 6 : 7);
    }
    wait(&status);
    keep(2, 2000);
    printf("stop %d\n", tide_stop());
    printf("child %d\n", WEXITSTATUS(status));
    return 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, malloc(4096), _IOFBF, 4096); /* before, so that it is not counted */
    return argc < 2                         ? 2
           : strcmp(argv[1], "pipe") == 0   ? pipe_end()
           : strcmp(argv[1], "forked") == 0 ? forked()
                                            : two_parts();
}
