/*
 * exit_status: how a child ended, as a shell says it: its exit code, or 128 and the signal. It is the
 * exit status of `tidemark run` and `tidemark compare`.
 */
#ifndef TIDE_BASE_EXIT_STATUS_H
#define TIDE_BASE_EXIT_STATUS_H

#include <sys/wait.h>

static inline int exit_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

#endif
