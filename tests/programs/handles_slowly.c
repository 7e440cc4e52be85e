/*
 * Waits in the call that it is told, until a handler of its own has run, which computes for a while
 * with all signals blocked. Says how the call ended. A second signal comes if it did not end.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void spin_ms(long ms)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    long until = used.tv_sec * 1000 + used.tv_nsec / 1000000 + ms;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < until);
}

static void on_alarm(int number)
{
    static const char again[] = "the call went on\n";
    (void)number;
    if (handled++) {
        ssize_t ignored = write(1, again, sizeof again - 1);
        (void)ignored;
        _exit(1);
    }
    spin_ms(60);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval each = {{10, 0}, {0, 200000}};
    sigset_t alarm_only, others, before;
    struct epoll_event event;
    const char *call = argc > 1 ? argv[1] : "handler";
    int result = 0, queue = epoll_create1(0);
    free(malloc(10));
    sigfillset(&others);
    sigdelset(&others, SIGALRM);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm_only, &before);
    if (strcmp(call, "handler") == 0) /* it is not the call that blocks them */
        sigfillset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    if (strcmp(call, "handler") == 0)
        result = sigsuspend(&before);
    else if (strcmp(call, "ppoll") == 0)
        result = ppoll(NULL, 0, NULL, &others);
    else if (strcmp(call, "pselect") == 0)
        result = pselect(0, NULL, NULL, NULL, NULL, &others);
    else if (strcmp(call, "epoll_pwait") == 0)
        result = epoll_pwait(queue, &event, 1, -1, &others);
    else
        result = sigsuspend(&others);
    puts(result == -1 && errno == EINTR ? "EINTR" : "strange");
    return 0;
}
