/* To be linked with an allocator: what parent and child, and threads of the child, allocate. */
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

SITE static void in_parent(void)
{
    for (int i = 0; i < 10; i++)
        known_sink = malloc(100);
}

SITE static void *in_child(void *unused)
{
    for (int i = 0; i < 50; i++) {
        void *volatile block = malloc(1000);
        if (i >= 7)
            free(block);
    }
    return unused;
}

int main(void)
{
    int status = 0;

    in_parent();
    pid_t child = fork();
    if (child == 0) {
        known_run(8, in_child);
        _exit(3);
    }
    waitpid(child, &status, 0);
    in_parent();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
