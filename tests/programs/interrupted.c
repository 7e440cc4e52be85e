/* Allocates and frees 1,000,000 blocks while a timer's handler maps and unmaps memory all the time.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "known.h"

static void handler(int number)
{
    void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)number;
    munmap(p, 4096);
}

SITE static void *deep(int depth)
{
    void *p = depth ? deep(depth - 1) : malloc(32);

    known_sink = p;
    return p;
}

int main(void)
{
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};

    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 1000000; i++)
        free(deep(i % 30));
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}
