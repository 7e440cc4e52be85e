/*
 * process_id: the argument PID of `attach`, `detach` and `ctl`.
 */
#ifndef TIDE_CLI_PROCESS_ID_H
#define TIDE_CLI_PROCESS_ID_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#include "base/err.h"

/* Returns 0; or -EINVAL and a sentence. */
static inline int process_id_parse(const char *text, pid_t *out, struct err *err)
{
    char *end;
    long pid = strtol(text, &end, 10);
    *out = 0;
    if (*end || pid <= 0 || pid > INT32_MAX)
        return err_set(err, -EINVAL, "'%s' is not a process id", text);
    *out = (pid_t)pid;
    return 0;
}

#endif
