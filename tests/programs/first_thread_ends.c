/* Its first thread ends, and another one goes on until the process is killed. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *waits(void *unused)
{
    for (;;)
        pause();
    return unused;
}

int main(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, waits, NULL))
        return 1;
    puts("ready");
    fflush(stdout);
    pthread_exit(NULL);
}
