/* Executes itself again and again, from a thread that is not the first, while others allocate. Says once
 * that it is ready. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *allocates(void *unused)
{
    for (;;) {
        free(malloc(100));
        usleep(100);
    }
    return unused;
}

static void *executes(void *name)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    usleep((useconds_t)(now.tv_nsec % 30000));
    execl("/proc/self/exe", name, "again", (char *)NULL);
    _exit(3);
}

int main(int argc, char **argv)
{
    pthread_t one;
    for (unsigned i = 0; i < 3; i++)
        if (pthread_create(&one, NULL, allocates, NULL))
            return 1;
    if (argc == 1) {
        puts("ready");
        fflush(stdout);
    }
    if (pthread_create(&one, NULL, executes, argv[0]))
        return 1;
    for (;;)
        pause();
}
