/* A thread that is nearly always in vfork, whose child takes its time; another one reads stdin. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *spawn(void *none)
{
    for (;;) {
        pid_t child = vfork();
        if (child == 0) {
            usleep(50000);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        usleep(2000);
    }
    return none;
}

int main(void)
{
    pthread_t thread;
    char line[100];
    setvbuf(stdout, NULL, _IONBF, 0);
    if (pthread_create(&thread, NULL, spawn, NULL))
        return 1;
    puts("ready");
    while (fgets(line, sizeof line, stdin))
        puts("0");
    return 5;
}
