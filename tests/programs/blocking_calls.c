/*
 * Makes one kind of blocking call again and again, with the shortest of waits, until that has used
 * so many milliseconds of CPU time. Says how many calls it made and how many ended with EINTR.
 * With a third argument, another thread meanwhile sends it so many signals like those of a timer
 * that expired, in the middle of its calls, as older kernels do; then it makes calls till that ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int pair[2], epoll;
static sem_t never;
static sigset_t some;
static const struct timespec shortest = {0, 1000};

static struct timespec soon(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 2000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

static int call(const char *kind)
{
    struct pollfd p = {.fd = pair[0], .events = POLLIN};
    struct timeval t = {0, 1};
    struct timespec until;
    struct epoll_event event;
    fd_set set;
    char byte;
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    if (strcmp(kind, "nanosleep") == 0)
        return nanosleep(&shortest, NULL);
    if (strcmp(kind, "clock_nanosleep") == 0) {
        int code = clock_nanosleep(CLOCK_MONOTONIC, 0, &shortest, NULL);
        errno = code;
        return code ? -1 : 0;
    }
    if (strcmp(kind, "usleep") == 0)
        return usleep(1);
    if (strcmp(kind, "poll") == 0)
        return poll(&p, 1, 1);
    if (strcmp(kind, "ppoll") == 0)
        return ppoll(&p, 1, &shortest, NULL);
    if (strcmp(kind, "select") == 0)
        return select(pair[0] + 1, &set, NULL, NULL, &t);
    if (strcmp(kind, "pselect") == 0)
        return pselect(pair[0] + 1, &set, NULL, NULL, &shortest, NULL);
    if (strcmp(kind, "epoll_wait") == 0)
        return epoll_wait(epoll, &event, 1, 1);
    if (strcmp(kind, "sem_timedwait") == 0) {
        until = soon();
        return sem_timedwait(&never, &until);
    }
    if (strcmp(kind, "recv") == 0)
        return (int)recv(pair[0], &byte, 1, 0);
    if (strcmp(kind, "read") == 0)
        return (int)read(pair[0], &byte, 1);
    if (strcmp(kind, "sigtimedwait") == 0)
        return sigtimedwait(&some, NULL, &shortest);
    exit(2);
}

static pid_t caller;
static atomic_bool sent;

static void *send_signals(void *count)
{
    struct timespec pause = {0, 500000};
    siginfo_t info = {.si_signo = 64, .si_code = SI_TIMER};
    for (long i = 0; i < (long)count; i++) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        if (syscall(SYS_rt_tgsigqueueinfo, getpid(), caller, 64, &info))
            exit(3);
    }
    sent = true;
    return NULL;
}

int main(int argc, char **argv)
{
    long signals = argc > 3 ? atol(argv[3]) : 0;
    long calls = 0, interrupted = 0, most_ms = argc > 2 ? atol(argv[2]) : 100;
    struct timespec used;
    struct timeval timeout = {0, 1};
    struct epoll_event event = {.events = EPOLLIN};
    if (argc < 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || (epoll = epoll_create1(0)) < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event) || sem_init(&never, 0, 0) ||
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout))
        return 2;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    pthread_t sender;
    caller = (pid_t)syscall(SYS_gettid);
    if (signals && pthread_create(&sender, NULL, send_signals, (void *)signals))
        return 2;
    do {
        for (int i = 0; i < 20; i++) {
            calls++;
            if (call(argv[1]) < 0 && errno == EINTR)
                interrupted++;
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (signals ? !sent : used.tv_sec * 1000 + used.tv_nsec / 1000000 < most_ms);
    printf("%ld %ld\n", calls, interrupted);
    return 0;
}
