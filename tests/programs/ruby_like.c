/*
 * ruby_like LIBRARY: a runtime that, as Ruby does, releases the pages of its objects before main returns,
 * but not what the objects own. LIBRARY is an extension that loses blocks of its own
 * (loses_in_extension.c).
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "known.h"

#define STRINGS 50

SITE static void own(char **objects)
{
    for (int i = 0; i < STRINGS; i++)
        objects[i] = malloc(100);
    for (int i = 0; i + 1 < STRINGS; i += 2)
        memcpy(objects[i], &objects[i + 1],
               sizeof objects[i + 1]); /* every other one owns the next */
}

SITE static void forget(void)
{
    known_sink = malloc(64);
    known_sink = NULL;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*extension)(void) = library ? (void (*)(void))dlsym(library, "extension") : NULL;
    char **objects = calloc(STRINGS, sizeof *objects);

    own(objects);
    for (int i = 1; i < STRINGS; i += 2)
        objects[i] = NULL;
    forget();
    if (extension)
        extension();
    memset(objects, 0, STRINGS * sizeof *objects);
    free(objects);
    return 0;
}
