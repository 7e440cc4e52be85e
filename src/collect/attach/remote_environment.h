/*
 * remote_environment: reads the current environment of another process.
 *
 * /proc/PID/environ shows where the environment was when the program started. Servers that set a
 * title for ps (redis, PostgreSQL, nginx) overwrite that memory, and keep copies elsewhere: libc's
 * `environ` leads to them. The process is not trusted: sizes are limited. Nothing is written.
 */
#ifndef TIDE_COLLECT_ATTACH_REMOTE_ENVIRONMENT_H
#define TIDE_COLLECT_ATTACH_REMOTE_ENVIRONMENT_H

#include <stddef.h>
#include <sys/types.h>

/* The variables whose names begin with `prefix`, as NAME=VALUE strings, each ended by a NUL.
 * Variables that are longer than REMOTE_VARIABLE_MOST are left out. Empty if the memory cannot be
 * read. The caller frees the result. */
#define REMOTE_VARIABLE_MOST 512
char *remote_environment(pid_t pid, const char *prefix, size_t *size);

#endif
