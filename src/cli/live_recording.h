/*
 * live_recording: the state of a running recording, again and again, while a screen stays responsive.
 *
 * The collector writes what it has to a file of ours (WIRE_LOOK), which is read and removed.
 */
#ifndef TIDE_CLI_LIVE_RECORDING_H
#define TIDE_CLI_LIVE_RECORDING_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/conversation.h"
#include "store/recording.h"

struct live_recording {
    struct conversation with;
    char *folder, *file;
    int fd; /* on which the answer to a look comes; -1: none was asked for */
};

/* -errno and a sentence: there is no folder for the file. */
int live_recording_open(struct live_recording *l, struct err *err);
void live_recording_close(struct live_recording *l);
/* Asks for a look, unless one was asked for. */
int live_recording_ask(struct live_recording *l, struct err *err);
/* Waits for it and reads it. -EPIPE: the recording has ended. */
int live_recording_read(struct live_recording *l, struct recording **out, struct err *err);
/* All of it for one look. `goes_on`, unless it is NULL, waits for so many milliseconds and says
 * whether we still want to know. */
int live_recording_once(pid_t pid, bool (*goes_on)(unsigned ms), struct recording **out,
                        struct err *err);

#endif
