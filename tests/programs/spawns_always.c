/* Threads that allocate, fork, vfork, spawn, load libraries and start threads, with signals, until the
 * process is killed. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void on_alarm(int signal)
{
    (void)signal;
}

static void *briefly(void *unused)
{
    free(malloc(100));
    return unused;
}

static void *forks(void *unused)
{
    for (;;) {
        pid_t child = fork();
        if (!child)
            _exit(0);
        waitpid(child, NULL, 0);
        free(malloc(1000));
        usleep(5000);
    }
    return unused;
}

static void *vforks(void *unused)
{
    for (;;) {
        pid_t child = vfork();
        if (!child) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        waitpid(child, NULL, 0);
        usleep(5000);
    }
    return unused;
}

static void *spawns(void *unused)
{
    char *const arguments[] = {"true", NULL};
    for (;;) {
        pid_t child;
        if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0)
            waitpid(child, NULL, 0);
        usleep(5000);
    }
    return unused;
}

static void *loads(void *unused)
{
    for (;;) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        if (library)
            dlclose(library);
        pthread_t one;
        if (pthread_create(&one, NULL, briefly, NULL) == 0)
            pthread_join(one, NULL);
        usleep(1000);
    }
    return unused;
}

int main(void)
{
    void *(*const all[])(void *) = {forks, vforks, spawns, loads};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 3000}, {0, 3000}};
    sigaction(SIGALRM, &action, NULL);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        pthread_t one;
        if (pthread_create(&one, NULL, all[i], NULL))
            return 1;
    }
    setitimer(ITIMER_REAL, &often, NULL);
    for (;;)
        pause();
}
