/*
 * view_live: the state of a running recording, for `tidemark view PID`.
 */
#ifndef TIDE_CLI_VIEW_LIVE_H
#define TIDE_CLI_VIEW_LIVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "store/recording.h"

/* Has the collector write a snapshot to a file of our own, and reads it. `serving`: a signal that
 * ends the server ends the wait for it, too. 0; or negative: why is on stderr, or in `err`. */
int view_live_read(pid_t pid, bool serving, struct recording **out, struct err *err);

#endif
