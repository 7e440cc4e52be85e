/*
 * only: which programs are recorded (run --only).
 */
#ifndef TIDE_WIRE_ONLY_H
#define TIDE_WIRE_ONLY_H

#include <stdbool.h>
#include <string.h>

/* Does the name of a file, without its folder, contain one of these names? `only`: one per line. */
static inline bool wire_only_wants(const char *only, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    while (*only) {
        size_t size = strcspn(only, "\n");
        if (size && memmem(name, strlen(name), only, size))
            return true;
        only += size + (only[size] == '\n');
    }
    return false;
}

#endif
