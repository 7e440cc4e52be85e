/*
 * only: does the user ask for a program of this name (run --only)?
 */
#ifndef TIDE_COLLECT_SESSION_ONLY_H
#define TIDE_COLLECT_SESSION_ONLY_H

#include <stdbool.h>
#include <sys/types.h>

/* `only`: names, one per line; NULL: everything is wanted. */
bool only_wants(const char *only, const char *path);
/* By the name of its file, by the name it was called by, or by that of the script that it runs, as
 * the recorder decides in the process itself. */
bool only_wants_process(const char *only, pid_t pid);

#endif
