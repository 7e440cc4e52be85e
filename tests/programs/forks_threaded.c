/* forks_threaded LIBRARY: a process that has had a second thread forks. The child allocates below
 * `outer`, 100 times each: 71 bytes at first, 77 bytes in the library that it loads, 72 bytes when
 * it has unloaded it. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

static void *work(void *arg)
{
    known_sink = malloc(10);
    return arg;
}

SITE static void inner(size_t size)
{
    known_sink = malloc(size);
}

SITE static void outer(size_t size, void (*instead)(void))
{
    for (int i = 0; i < 100; i++) {
        if (instead)
            instead();
        else
            inner(size);
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 2 || pthread_create(&thread, NULL, work, NULL))
        return 1;
    pthread_join(thread, NULL);
    if (fork() == 0) {
        outer(71, NULL);
        void *library = dlopen(argv[1], RTLD_NOW);
        void (*deep)(void) = library ? (void (*)(void))dlsym(library, "deep_outer") : NULL;
        if (!deep)
            _exit(1);
        outer(0, deep);
        dlclose(library);
        outer(72, NULL);
        _exit(0);
    }
    int status = 1;
    wait(&status);
    return status != 0;
}
