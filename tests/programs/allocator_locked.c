/*
 * allocator_locked HOW: moments at which the allocator must not be asked, for a lock of it may be
 * held by this very thread, or by one that is not there.
 *
 *   handler   malloc_trim and mallinfo2, which are not hooked, are interrupted again and again by a
 *             signal whose handler makes a mark
 *   children  a process with busy threads makes children by _Fork, by fork and by clone, each of
 *             which makes a mark; then it makes one itself
 *   computes  a function that may be a mark, and that a handler interrupts and allocates
 *   trims     calls malloc_trim, whose inner functions may be marks (run --mark-on)
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"
#include "tidemark.h"

enum { HANDLED = 40, THREADS = 4 };

static volatile sig_atomic_t handled;
static _Atomic int stop;

static void handle(int number)
{
    (void)number;
    if (handled < HANDLED)
        tide_mark("handler");
    handled = handled + 1;
}

/* Most of the time is spent in the two functions, with their lock held. */
static void be_interrupted(void)
{
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    static void *blocks[20000];
    for (int i = 0; i < 20000; i++)
        blocks[i] = malloc(200);
    for (int i = 0; i < 20000; i += 2)
        free(blocks[i]);
    tide_mark("before");
    signal(SIGALRM, handle);
    setitimer(ITIMER_REAL, &often, NULL);
    while (handled < HANDLED) {
        malloc_trim(0);
        mallinfo2();
    }
    setitimer(ITIMER_REAL, &never, NULL);
}

SITE void computes(void)
{
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < 500; i++)
        sum = sum + i;
}

static void handle_and_allocate(int number)
{
    void *volatile block = malloc(5000);
    (void)number;
    free(block);
    handled = handled + 1;
}

static void *wait_for_stop(void *unused)
{
    while (!stop)
        usleep(1000);
    return unused;
}

/* Nothing of libc is interrupted. Without another thread malloc would take no lock. */
static void compute(void)
{
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    static void *blocks[100000];
    sigset_t alarm;
    pthread_t id;
    for (int i = 0; i < 100000; i++)
        blocks[i] = malloc(2000);
    for (int i = 0; i < 100000; i += 2)
        free(blocks[i]);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    pthread_create(&id, NULL, wait_for_stop, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    signal(SIGALRM, handle_and_allocate);
    setitimer(ITIMER_REAL, &often, NULL);
    while (handled < 3000)
        computes();
    setitimer(ITIMER_REAL, &never, NULL);
    stop = 1;
    pthread_join(id, NULL);
}

static void *allocate(void *unused)
{
    while (!stop) {
        void *volatile block = malloc(3000);
        free(block);
    }
    return unused;
}

static void child(const char *label, pid_t pid)
{
    int status = 0;
    if (pid == 0) {
        tide_mark(label);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    if (status)
        exit(7);
}

static void have_children(void)
{
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, allocate, NULL);
    child("by _Fork", _Fork());
    child("by fork", fork());
    child("by clone", (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    tide_mark("parent");
}

SITE void harmless(void)
{
    known_sink = malloc(10);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    tide_active();
    if (strcmp(how, "handler") == 0)
        be_interrupted();
    else if (strcmp(how, "children") == 0)
        have_children();
    else if (strcmp(how, "computes") == 0)
        compute();
    else {
        harmless();
        malloc_trim(0);
    }
    return 0;
}
