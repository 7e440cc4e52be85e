/*
 * exit_status: how a child ended, as a shell reports it: its exit code, or 128 plus the signal.
 * `tidemark run` and `tidemark compare` exit with this status. Which signals `run` sends on to the
 * program: collect/session/relayed_signals.h.
 */
#ifndef TIDE_BASE_EXIT_STATUS_H
#define TIDE_BASE_EXIT_STATUS_H

#include <sys/wait.h>

static inline int exit_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

#endif
