/*
 * Prints what a program can see of its surroundings that a recorder might disturb: signal handlers
 * and masks, the alternate stack, timers, name, umask, limits. Has to be the same under tidemark as
 * without.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "known.h"

int main(int argc, char **argv)
{
    sigset_t mask;
    stack_t alternate;
    struct itimerval timer;
    struct rlimit limit;
    char name[16] = "";
    const char *pending = dlerror();

    printf("an error of dlsym that is not ours: %s\n", pending ? pending : "none");
    for (int i = 0; i < 100000; i++) {
        void *p = malloc(64);

        known_sink = p;
        free(p);
    }
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action;

        if (sigaction(signal, NULL, &action))
            continue;
        if (action.sa_handler != SIG_DFL || action.sa_flags)
            printf("signal %d: handler %d flags %x\n", signal, action.sa_handler == SIG_IGN,
                   action.sa_flags);
        if (sigismember(&mask, signal))
            printf("signal %d is blocked\n", signal);
    }
    sigaltstack(NULL, &alternate);
    printf("alternate stack: flags %d\n", alternate.ss_flags);
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        getitimer(which, &timer);
        printf("timer %d: %ld\n", which, (long)(timer.it_value.tv_sec + timer.it_value.tv_usec));
    }
    for (int which = 0; which < RLIM_NLIMITS; which++) {
        getrlimit(which, &limit);
        printf("limit %d: %lx %lx\n", which, (unsigned long)limit.rlim_cur,
               (unsigned long)limit.rlim_max);
    }
    prctl(PR_GET_NAME, name);
    printf("timer slack: %d ns\n", prctl(PR_GET_TIMERSLACK));
    int death_signal = 0;
    prctl(PR_GET_PDEATHSIG, &death_signal);
    printf("name %s, umask %o, dumpable %d, death signal %d\n", name, umask(0),
           prctl(PR_GET_DUMPABLE), death_signal);
    printf("%d arguments, %s, TIDE_TEST=%s\n", argc, argv[0], getenv("TIDE_TEST"));
    return 0;
}
