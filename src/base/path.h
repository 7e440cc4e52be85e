/*
 * path: the last part of a path, and the name of a program.
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

/* The same for the first argument of a process. It is a path, or a title that the process has
 * written over its arguments, such as "nginx: master process /usr/sbin/nginx", which is kept as it
 * is. */
static inline const char *path_program(const char *command)
{
    const char *colon = strstr(command, ": ");
    return colon && !memchr(command, '/', (size_t)(colon - command)) ? command : path_base(command);
}

#endif
