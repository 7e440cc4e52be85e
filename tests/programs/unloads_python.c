/*
 * unloads_python LIBRARY [confined]: unloads what looks like a CPython that has ended (this file,
 * built with -DLIBRARY), while another thread, at an allocation, is asked for its state there, and
 * takes its time. confined: under a seccomp filter, which allows everything. Ends with 9 if it was
 * unloaded under that thread, else with 3.
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "known.h"

struct shared {
    _Atomic int hold, inside, go;
    pthread_t closer;
};

#ifdef LIBRARY

#include "fake_python.h"

EXPORT void begin(struct shared *with);

static struct shared *s;

void *PyGILState_GetThisThreadState(void)
{
    if (s && s->hold && !pthread_equal(pthread_self(), s->closer)) {
        s->inside = 1;
        while (!s->go)
            usleep(1000);
        s->inside = 0;
    }
    return NULL;
}

int Py_IsInitialized(void)
{
    return 0;
}

void begin(struct shared *with)
{
    s = with;
    known_sink = malloc(100); /* so that it is met */
}

__attribute__((destructor)) static void unloaded(void)
{
    if (s->inside)
        _exit(9);
}

#else

static struct shared shared;

static void *allocates(void *unused)
{
    while (!shared.go) {
        void *volatile p = malloc(100);
        free(p);
    }
    return unused;
}

static void *lets_go(void *unused)
{
    usleep(300000);
    shared.go = 1;
    return unused;
}

static int confine(void)
{
    struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = 1, .filter = &all};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(int argc, char **argv)
{
    pthread_t a, b;
    void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
    if (!library)
        return 1;
    void (*begin)(struct shared *);
    *(void **)&begin = dlsym(library, "begin");
    shared.closer = pthread_self();
    begin(&shared);
    shared.hold = 1;
    pthread_create(&a, NULL, allocates, NULL);
    for (int i = 0; i < 60000 && !shared.inside; i++)
        usleep(1000);
    if (!shared.inside)
        return 2;
    if (argc > 2 && confine())
        return 1;
    pthread_create(&b, NULL, lets_go, NULL);
    dlclose(library);
    pthread_join(b, NULL);
    pthread_join(a, NULL);
    return 3;
}

#endif
