/*
 * family CHILDREN: each child grows an array by realloc, works for 60 ms of CPU time and sleeps for
 * 40 ms; then the parent does.
 */
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "known.h"

SITE static void grow(void)
{
    char *array = NULL;

    for (size_t size = 16384; size <= 2097152; size *= 2) {
        char *larger = realloc(array, size);
        if (!larger)
            _exit(9);
        array = larger;
        memset(array, 1, size);
    }
    free(array);
}

SITE static void burn(void)
{
    struct timespec used = {0};
    static volatile unsigned long sum;

    while (!used.tv_sec && used.tv_nsec < 60000000) {
        for (unsigned i = 0; i < 100000; i++)
            sum += i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    }
}

SITE static void doze(void)
{
    struct timespec left = {0, 40000000};

    while (nanosleep(&left, &left) != 0)
        ;
}

static void live(void)
{
    grow();
    burn();
    doze();
}

int main(int argc, char **argv)
{
    for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--)
        if (fork() == 0) {
            live();
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    live();
    return 0;
}
