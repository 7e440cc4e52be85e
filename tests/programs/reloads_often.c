/*
 * reloads_often FIRST SECOND COUNT LINK: loads, calls and unloads plugin FIRST so often, by links
 * to it, LINK0 and so on, and then SECOND. All are at the same address; ends with 9 if one is not.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "known.h"

static uintptr_t place;

static void visit(const char *path, const char *name, size_t size)
{
    void *handle = dlopen(path, RTLD_NOW), *found = handle ? dlsym(handle, name) : NULL;
    void *(*function)(size_t);
    if (!found || (place && place != (uintptr_t)found))
        exit(found ? 9 : 2);
    place = (uintptr_t)found;
    memcpy(&function, &found, sizeof function);
    known_sink = function(size);
    dlclose(handle);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 5)
        return 1;
    for (int i = 0; i < atoi(argv[3]); i++) {
        snprintf(path, sizeof path, "%s%d", argv[4], i);
        if (symlink(argv[1], path))
            return 3;
        visit(path, "first", 111);
    }
    visit(argv[2], "second", 222);
    return 0;
}
