/* runs_spins ROUNDS LIBRARY...: calls spin() of each library in turn. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint64_t (*spin[8])(uint64_t);
    volatile uint64_t state = 88172645463325252u;
    int count = argc - 2;
    for (int i = 0; i < count && i < 8; i++) {
        void *library = dlopen(argv[i + 2], RTLD_NOW);
        if (!library)
            return 1;
        *(void **)&spin[i] = dlsym(library, "spin");
    }
    for (long round = atol(argv[1]); round > 0; round--)
        for (int i = 0; i < count; i++)
            state = spin[i](state);
    return 0;
}
