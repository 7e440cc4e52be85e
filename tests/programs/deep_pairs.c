/*
 * deep_pairs LIBRARY: 5 times loads it with RTLD_DEEPBIND, has it free a block of 100 bytes of
 * ours, frees one of 200 bytes of its, and unloads it. Nothing is left.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "known.h"

SITE static void round_trip(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);

    if (!library)
        _Exit(9);
    void (*take)(void *) = (void (*)(void *))dlsym(library, "pair_take");
    void *(*give)(void) = (void *(*)(void))dlsym(library, "pair_give");
    void *volatile block = malloc(100);
    take(block);
    block = give();
    free(block);
    if (dlclose(library))
        _Exit(8);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    for (int i = 0; i < 5; i++)
        round_trip(argv[1]);
    return 0;
}
