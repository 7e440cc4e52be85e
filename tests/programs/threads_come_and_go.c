/* Threads that start threads and join them, as fast as they can, until the process is killed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *briefly(void *unused)
{
    free(malloc(100));
    return unused;
}

static void *starts(void *unused)
{
    for (;;) {
        pthread_t some[4];
        unsigned n = 0;
        while (n < 4 && pthread_create(&some[n], NULL, briefly, NULL) == 0)
            n++;
        while (n > 0)
            pthread_join(some[--n], NULL);
    }
    return unused;
}

int main(void)
{
    for (unsigned i = 0; i < 3; i++) {
        pthread_t one;
        if (pthread_create(&one, NULL, starts, NULL))
            return 1;
    }
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
