/*
 * live_recording: reads the state of a running recording again and again, while a screen stays
 * responsive. The collector sends a descriptor of what the recording would be if it ended now
 * (WIRE_LOOK), so no file can be left behind.
 */
#ifndef TIDE_CLI_LIVE_RECORDING_H
#define TIDE_CLI_LIVE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/ctl_client.h"
#include "store/recording.h"

struct live_recording {
    struct ctl_client with;
    int fd; /* on which the answer comes; -1: nothing was asked */
    uint64_t asked_ns;
};

#define LIVE_RECORDING_PATH 32

void live_recording_close(struct live_recording *l);
/* Asks for the state, unless that was already done. -EPIPE: the recording has ended. */
int live_recording_ask(struct live_recording *l, struct err *err);
/* Waits for the state. Returns a descriptor, which the caller closes, and a path to read it by; or
 * a negative code. */
int live_recording_take(struct live_recording *l, char path[LIVE_RECORDING_PATH], struct err *err);
/* Reads the state once. `keeps_waiting`, unless it is NULL, waits for so many milliseconds and
 * returns whether the result is still wanted. */
int live_recording_read(pid_t pid, bool (*keeps_waiting)(unsigned ms), struct recording **out,
                        struct err *err);

#endif
