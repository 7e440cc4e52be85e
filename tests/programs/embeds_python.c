/*
 * embeds_python LIBPYTHON ROUNDS [lingers|stays]: in each round loads it, runs some Python, finalises
 * and unloads it; allocates 1,000 bytes with no Python about: once before, three times and in a
 * thread in each round. `lingers`: it is not unloaded, and a thread still waits when the program
 * ends. `stays`: nor is it finalised.
 *
 * In Python, `in_python` allocates a block of 30,000 bytes in each round.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "known.h"

SITE static void outside(void)
{
    known_sink = malloc(1000);
}

static void *in_thread(void *unused)
{
    (void)unused;
    outside();
    return NULL;
}

static void *linger(void *unused)
{
    pause();
    return unused;
}

static void *find(void *library, const char *name)
{
    void *f = dlsym(library, name);
    if (!f)
        printf("no %s\n", name);
    return f;
}

SITE static int embed(const char *path, const char *how)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    void (*initialize)(int), (*finalize)(void);
    int (*run)(const char *);
    *(void **)&initialize = find(library, "Py_InitializeEx");
    *(void **)&finalize = find(library, "Py_Finalize");
    *(void **)&run = find(library, "PyRun_SimpleString");
    initialize(0);
    int code = run("import ctypes\n"
                   "def in_python(size):\n"
                   "    m = ctypes.CDLL(None).malloc\n"
                   "    m.argtypes = ctypes.c_size_t,\n"
                   "    m(size)\n"
                   "in_python(30000)\n");
    outside();
    if (strcmp(how, "stays") != 0)
        finalize();
    outside();
    if (!*how)
        dlclose(library);
    outside();
    return code;
}

int main(int argc, char **argv)
{
    outside();
    for (int round = 0; argc > 2 && round < atoi(argv[2]); round++) {
        pthread_t thread;
        if (embed(argv[1], argc > 3 ? argv[3] : ""))
            return 1;
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
    }
    pthread_t lingering;
    return argc > 3 && pthread_create(&lingering, NULL, linger, NULL);
}
