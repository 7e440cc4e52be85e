/*
 * little: a bit of everything in few events: blocks that stay and go, a second thread, a mapping,
 * and a child that does its own.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

SITE static void grow(int n, size_t size)
{
    for (int i = 0; i < n; i++)
        known_sink = realloc(malloc(size), size * 2);
}

SITE static void *in_thread(void *unused)
{
    (void)unused;
    grow(3, 50);
    free(malloc(10));
    return NULL;
}

int main(void)
{
    int status;
    grow(5, 100);
    known_run(2, in_thread);
    known_sink = mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        grow(2, 1000);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
