/*
 * reloads HOW A.so B.so: loads A, calls a_work(303), unloads it, then B and b_work(304), 20 times.
 * HOW: plain, deepbind, or unseen: unloaded by libc's own dlclose, as libc does with what it loads
 * itself. Ends with 5 unless some B was where an A had been.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "known.h"

typedef int (*closes)(void *);

static void *visit(const char *library, const char *function, size_t size, int flags,
                   closes close_it)
{
    struct link_map *handle = dlopen(library, RTLD_NOW | flags);

    if (!handle)
        _Exit(9);
    void *place = (void *)handle->l_addr;
    void (*work)(size_t) = (void (*)(size_t))dlsym(handle, function);
    work(size);
    if (close_it(handle))
        _Exit(8);
    return place;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int same = 0, flags = argv[1][0] == 'd' ? RTLD_DEEPBIND : 0;
    closes close_it = dlclose;
    if (argv[1][0] == 'u')
        *(void **)&close_it = dlsym(dlopen("libc.so.6", RTLD_NOW), "dlclose");
    for (int i = 0; i < 20; i++) {
        void *first = visit(argv[2], "a_work", 303, flags, close_it);
        same += visit(argv[3], "b_work", 304, flags, close_it) == first;
    }
    return same ? 0 : 5;
}
