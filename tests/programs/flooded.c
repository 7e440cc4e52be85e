/* A child sends its parent signals with a value, without pause; the parent ends with 9 if one comes
 * without. Few may wait at a time: the kernel counts those of all processes of a user, and refuses
 * timers and pthread_cancel to the others when there are as many as a process may have. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define VALUE 77

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_code != SI_QUEUE || info->si_value.sival_int != VALUE)
        _exit(9);
}

int main(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    struct rlimit waiting = {1000, 1000};
    pid_t parent = getpid();
    action.sa_sigaction = on_signal;
    sigaction(SIGRTMIN + 3, &action, NULL);
    setrlimit(RLIMIT_SIGPENDING, &waiting);
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("ready"); /* from the first signal on, main may not run at all */
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            sigqueue(parent, SIGRTMIN + 3, (union sigval){.sival_int = VALUE});
        _exit(0);
    }
    for (volatile unsigned i = 0;; i++)
        ;
}
