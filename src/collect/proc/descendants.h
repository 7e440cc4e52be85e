/*
 * descendants: what the kernel says of the program's descendants, which are not children of the
 * collector: how one ended, and whether there are any that never connected.
 *
 * Nothing here allocates or fails; what the kernel does not say is reported as unknown.
 */
#ifndef TIDE_COLLECT_PROC_DESCENDANTS_H
#define TIDE_COLLECT_PROC_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Does any thread of the process still run? A zombie does not, although it can be sent signals. */
bool descendants_runs(pid_t pid);

/* How a process ended that did, as waitpid would tell it; false: not known any more. */
bool descendants_status(pid_t pid, int pidfd, int *wait_status);

struct descendants {
    unsigned forked;   /* hold shared memory of ours: their first allocation will make them known */
    unsigned starting; /* at work, maybe on their start: they may say hello soon */
    unsigned silent;   /* asleep: not_recorded (static, say), or not of those to record */
};

/* The living processes that have the session's key in their environment, zombies left out. Who has
 * none there (it wrote over it) is not found. Only processes that are younger than this one are
 * looked at: to read the environment of another may take long, as that one holds the lock of its
 * address space while it waits for a processor. */
struct descendants descendants_left(const char *key);

#endif
