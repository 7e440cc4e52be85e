/*
 * counts_signals NUMBER HOW: counts signals of this number that it gets, and prints how many.
 *   waits    says so, and ends with the first one
 *   group    sends three to its process group, itself
 *   child    a child that has allocated nothing sends one to the process group
 *   parent   sends three to its parent process
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../include/tidemark.h"

static volatile sig_atomic_t count;

static void on_signal(int number)
{
    (void)number;
    count++;
}

/* When the collector has answered twice, it has read what it got before, and acted on it. */
static void wait_for_collector(void)
{
    struct tide_heap heap;

    tide_figures(&heap, 0);
    tide_figures(&heap, 0);
}

static void send_to(pid_t receiver, int number, int times)
{
    for (int i = 0; i < times; i++) {
        kill(receiver, number);
        wait_for_collector();
    }
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    int number = argc > 1 ? atoi(argv[1]) : 0;
    const char *how = argc > 2 ? argv[2] : "";
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(number, &action, NULL);
    if (strcmp(how, "waits") == 0) {
        alarm(200); /* if it never comes */
        puts("waits");
        fflush(stdout);
        while (!count)
            sigsuspend(&(sigset_t){0});
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (strcmp(how, "group") == 0)
        send_to(0, number, 3);
    if (strcmp(how, "parent") == 0)
        send_to(getppid(), number, 3);
    if (strcmp(how, "child") == 0) {
        if (fork() == 0) {
            sigprocmask(SIG_BLOCK, &set, NULL);
            send_to(0, number, 1);
            _exit(0);
        }
        wait(NULL);
        wait_for_collector();
    }
    printf("%d\n", (int)count);
    return 0;
}
