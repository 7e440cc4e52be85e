/*
 * mistaken_state LIBPYTHON: embeds Python. While that is initialised once more, its function that
 * returns a thread's state may look under key 0 for a moment; here it always does so in a thread
 * that runs no Python code. The thread allocates 100 blocks of 1,001 bytes. Linked with -rdynamic,
 * so that the recorder finds this function first.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "known.h"

static _Thread_local bool beside;
static volatile int asked;
static void *(*interpreters)(void); /* not looked up below: the recorder calls that inside dlsym */

__attribute__((visibility("default"))) void *PyGILState_GetThisThreadState(void);

void *PyGILState_GetThisThreadState(void)
{
    asked |= beside;
    return beside ? pthread_getspecific(0) : interpreters ? interpreters() : NULL;
}

SITE static void allocates(void)
{
    for (int i = 0; i < 100; i++)
        known_sink = malloc(1001);
}

static void *work(void *unused)
{
    beside = true;
    allocates();
    return unused;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    void (*initialize)(int);
    int (*run)(const char *);
    pthread_t thread;
    void *f = library ? dlsym(library, "Py_InitializeEx") : NULL;
    void *g = library ? dlsym(library, "PyRun_SimpleString") : NULL;
    void *h = library ? dlsym(library, "PyGILState_GetThisThreadState") : NULL;
    if (!f || !g || !h)
        return 9;
    memcpy(&interpreters, &h, sizeof h);
    memcpy(&initialize, &f, sizeof f);
    memcpy(&run, &g, sizeof g);
    initialize(0);
    if (run("kept = [bytes(30001) for i in range(10)]"))
        return 8;
    if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
        return 7;
    _exit(asked ? 0 : 6);
}
