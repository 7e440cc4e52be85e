/*
 * descendants: what the kernel says about the program's descendants, which are not children of the
 * collector: how one ended, and whether any of them never connected. Nothing here allocates or
 * fails; what the kernel does not say is reported as unknown.
 */
#ifndef TIDE_COLLECT_PROC_DESCENDANTS_H
#define TIDE_COLLECT_PROC_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Does any thread of the process still run? In a zombie none does, although it can be sent
 * signals. */
bool descendants_runs(pid_t pid);

/* How a process ended, in the form of waitpid; false: not known any more. */
bool descendants_status(pid_t pid, int pidfd, int *wait_status);

struct descendants {
    /* Processes that map our shared memory, and will connect at their first allocation. */
    unsigned forked;
    unsigned starting; /* processes that run and may connect soon */
    /* Processes that sleep: they cannot be recorded (static programs), or should not be. */
    unsigned silent;
};

/* Counts the living processes that have the session's key in their environment, without zombies. A
 * process that has overwritten its environment is not found. Only processes younger than this one
 * are examined: reading the environment of another one may take long, because that process holds
 * the lock of its address space while it waits for a processor. */
struct descendants descendants_left(const char *key);

#endif
