/*
 * Uses signals itself: SIGPROF with an interval timer, real-time signals with handlers, sets of all
 * signals that are blocked and waited for. Says what it has seen. The highest real-time signals are
 * those that tidemark's timers would take.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t profiled, real_time[65];
static pthread_t waiter;
static atomic_int received;
static atomic_bool blocks; /* the waiter: what comes now is not its end */

static void on_prof(int number)
{
    (void)number;
    profiled++;
}

static void on_real_time(int number)
{
    real_time[number]++;
}

static uint64_t spin_ms(long ms)
{
    struct timespec used;
    volatile uint64_t sum = 0;
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    clock_gettime(clock, &used);
    long until = used.tv_sec * 1000 + used.tv_nsec / 1000000 + ms;
    do {
        for (int i = 0; i < 100000; i++)
            sum += (uint64_t)i * i;
        clock_gettime(clock, &used);
    } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < until);
    return sum;
}

/* Waits for any signal, with all blocked, and computes in between. */
static void *wait_for_signals(void *count)
{
    sigset_t all;
    int number;
    sigfillset(&all);
    sigdelset(&all, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    blocks = true;
    for (long i = 0; i < (long)count; i++) {
        spin_ms(20);
        if (sigwait(&all, &number) || number != SIGUSR1)
            return (void *)(long)number;
        received++;
    }
    spin_ms(40);
    return NULL;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_real_time}, old;
    struct itimerval each = {{0, 10000}, {0, 10000}};
    void *strange;
    int taken = argc > 1 ? atoi(argv[1]) : 3, unused = 0;
    (void)argv;
    for (int n = 34; n <= 64; n++) /* as a program that looks for one which is free */
        unused += sigaction(n, NULL, &old) == 0 && old.sa_handler == SIG_DFL;
    signal(64, SIG_IGN);
    int ignored = sigaction(64, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
    signal(64, SIG_DFL);
    spin_ms(50);
    signal(SIGPROF, on_prof);
    setitimer(ITIMER_PROF, &each, NULL);
    for (int i = 0; i < taken; i++)
        sigaction(64 - i, &action, NULL);
    pthread_create(&waiter, NULL, wait_for_signals, (void *)5L);
    while (!blocks)
        usleep(1000);
    for (int i = 0; i < 5; i++) {
        spin_ms(20);
        pthread_kill(waiter, SIGUSR1);
        while (received <= i) /* a second one would be lost */
            usleep(1000);
    }
    for (int i = 0; i < taken; i++)
        for (int k = 0; k <= i; k++)
            raise(64 - i);
    pthread_join(waiter, &strange);
    printf("unused %d ignored %d prof %d strange %ld\n", unused, ignored, profiled > 0,
           (long)strange);
    for (int i = 0; i < taken; i++)
        printf("%d: %d\n", 64 - i, (int)real_time[64 - i]);
    return 0;
}
