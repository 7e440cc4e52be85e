/* loads_runtimes A.so B.so: a C program that loads two libraries of C++, for itself alone each,
 * uses them, one keeps 100 bytes, the other 200, and unloads them. */
#include <dlfcn.h>

#include "known.h"

int main(int argc, char **argv)
{
    void *handles[2];

    if (argc != 3)
        return 2;
    for (int i = 0; i < 2; i++)
        handles[i] = dlopen(argv[i + 1], RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < 2; i++) {
        if (!handles[i])
            return 9;
        void *(*grab)(size_t) = (void *(*)(size_t))dlsym(handles[i], "grab");
        void (*drop)(void *) = (void (*)(void *))dlsym(handles[i], "drop");
        drop(grab(5000));
        known_sink = grab(100 * (size_t)(i + 1));
    }
    for (int i = 0; i < 2; i++)
        dlclose(handles[i]);
    return 0;
}
