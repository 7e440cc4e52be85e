/*
 * other_namespace A.so: loads A 5 times with dlmopen, with a C library of its own, whose malloc no
 * preloaded library can see. What the program itself allocates in between is known.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "known.h"

SITE static void in_program(void)
{
    known_sink = malloc(311);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    for (int i = 0; i < 5; i++) {
        void *handle = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
        if (!handle)
            return 3;
        void (*work)(size_t) = (void (*)(size_t))dlsym(handle, "a_work");
        for (int j = 0; j < 100; j++) {
            work(312);
            in_program();
        }
        dlclose(handle);
    }
    return 0;
}
