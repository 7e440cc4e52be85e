/*
 * crowded descriptors: uses up all descriptors below the soft limit, then allocates in 18
 * threads that are alive together and in a forked child.
 * crowded children N: N children that are alive together; each allocates 20 blocks in in_child.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threads_at_once.h"

SITE static void before(void)
{
    for (int i = 0; i < 1000; i++)
        known_sink = malloc(64);
}

SITE static void in_child(void)
{
    for (int i = 0; i < 20; i++)
        known_sink = malloc(16);
}

static int descriptors(void)
{
    int status;
    pid_t child;

    while (open("/dev/null", O_RDWR) >= 0)
        ;
    run_at_once(18);
    child = fork();
    if (child == 0) {
        in_child();
        _exit(open("/dev/null", O_RDWR) >= 0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        return 1;
    return open("/dev/null", O_RDWR) >= 0 ? 2 : 0; /* the limit is what it was */
}

static int children(int count)
{
    int gate[2], done[2], failed = 0;
    char byte;

    if (pipe(gate) || pipe(done))
        return 1;
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            close(gate[1]);
            in_child();
            if (write(done[1], "", 1) != 1 || read(gate[0], &byte, 1) != 0)
                _exit(1);
            _exit(0);
        }
    }
    for (int i = 0; i < count; i++)
        failed |= read(done[0], &byte, 1) != 1;
    close(gate[1]);
    for (int status; wait(&status) > 0;)
        failed |= status != 0;
    return failed;
}

int main(int argc, char **argv)
{
    before();
    return argc > 2 ? children(atoi(argv[2])) : descriptors();
}
