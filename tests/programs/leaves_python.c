/*
 * leaves_python: exports what a CPython does, and ends with 3 if it is still asked for a thread's
 * state at an allocation after
 *   sigaction  a handler left sigaction() by siglongjmp while it was asked whether it ends,
 *   dlclose    likewise dlclose() while it was asked whether it has,
 *   fork       a child was made while another thread unloaded something (-DPLUGIN of this file);
 * else with 9.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

__attribute__((visibility("default"))) void while_unloading(void);

#ifdef PLUGIN

__attribute__((destructor)) static void unloaded(void)
{
    while_unloading();
}

#else

#include "fake_python.h"

enum { FINALIZING = 3 }; /* word of the runtime */

static sigjmp_buf back;
static _Atomic int calls, leave, unloading, unload;

static void asked(void)
{
    if (atomic_exchange(&leave, 0))
        raise(SIGUSR1);
}

void *PyGILState_GetThisThreadState(void)
{
    calls++;
    asked();
    return NULL;
}

int Py_IsInitialized(void)
{
    asked();
    return 0;
}

void while_unloading(void)
{
    unloading = 1;
    while (!unload)
        usleep(1000);
}

static void on_signal(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static int is_asked(void)
{
    calls = 0;
    known_sink = malloc(100);
    return calls ? 3 : 9;
}

static void *closes(void *library)
{
    dlclose(library);
    return NULL;
}

static int forks(const char *path)
{
    pthread_t thread;
    int status = 0;
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        return 1;
    is_asked();
    pthread_create(&thread, NULL, closes, library);
    while (!unloading)
        usleep(1000);
    pid_t child = fork();
    if (child == 0)
        _exit(is_asked());
    waitpid(child, &status, 0);
    unload = 1;
    pthread_join(thread, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    if (argc < 2 || is_asked() != 3)
        return 1;
    if (argc > 2)
        return forks(argv[2]);
    sigaction(SIGUSR1, &action, NULL);
    leave = 1;
    if (!sigsetjmp(back, 1)) {
        if (strcmp(argv[1], "sigaction") == 0) {
            _PyRuntime[FINALIZING] = 1;
            sigaction(SIGUSR2, &action, NULL);
        } else {
            dlclose(dlopen(NULL, RTLD_NOW));
        }
        return 2; /* it was not asked */
    }
    _PyRuntime[FINALIZING] = 0;
    return is_asked();
}

#endif
