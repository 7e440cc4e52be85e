/* loads_plugins A.so first B.so second: loads A, calls first(100), unloads it; then B and
 * second(200); 50 times. */
#include <dlfcn.h>

#include "known.h"

SITE static void call(const char *library, const char *function, size_t size)
{
    void *handle = dlopen(library, RTLD_NOW);

    if (!handle)
        _Exit(9);
    void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(handle, function);
    known_sink = allocate(size);
    dlclose(handle);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    for (int i = 0; i < 50; i++) {
        call(argv[1], argv[2], 100);
        call(argv[3], argv[4], 200);
    }
    return 0;
}
