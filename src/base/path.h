/*
 * path: the last part of a path.
 */
#ifndef TIDE_BASE_PATH_H
#define TIDE_BASE_PATH_H

#include <string.h>

/* What is after the last slash; the whole path, if that is empty. */
static inline const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

#endif
