/*
 * live_recording: the state of a running recording, again and again, while a screen stays responsive.
 *
 * The collector sends a descriptor of what a recording would be if it ended now (WIRE_LOOK). There is
 * no file that could be left behind.
 */
#ifndef TIDE_CLI_LIVE_RECORDING_H
#define TIDE_CLI_LIVE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/conversation.h"
#include "store/recording.h"

struct live_recording {
    struct conversation with;
    int fd; /* on which the answer comes; -1: none was asked for */
    uint64_t asked_ns;
};

#define LIVE_RECORDING_PATH 32

void live_recording_close(struct live_recording *l);
/* Asks for the state, unless that was done. -EPIPE: the recording has ended. */
int live_recording_ask(struct live_recording *l, struct err *err);
/* Waits for it. A descriptor, which the caller closes, and a path to read it by; or negative. */
int live_recording_take(struct live_recording *l, char path[LIVE_RECORDING_PATH], struct err *err);
/* All of it, once. `goes_on`, unless it is NULL, waits for so many milliseconds and says whether we
 * still want to know. */
int live_recording_read(pid_t pid, bool (*goes_on)(unsigned ms), struct recording **out,
                        struct err *err);

#endif
