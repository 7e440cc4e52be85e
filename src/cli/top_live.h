/*
 * top_live: the state of a running recording, again and again, while a screen stays responsive.
 *
 * The collector writes what it has to a file of ours (WIRE_LOOK), which is read and removed.
 */
#ifndef TIDE_CLI_TOP_LIVE_H
#define TIDE_CLI_TOP_LIVE_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/conversation.h"
#include "store/recording.h"

struct top_live {
    struct conversation with;
    char *folder, *file;
    int fd; /* on which the answer to a look comes; -1: none was asked for */
};

/* -errno and a sentence: there is no folder for the file. */
int top_live_open(struct top_live *l, struct err *err);
void top_live_close(struct top_live *l);
/* Asks for a look, unless one was asked for. */
int top_live_ask(struct top_live *l, struct err *err);
/* Waits for it and reads it. -EPIPE: the recording has ended. */
int top_live_read(struct top_live *l, struct recording **out, struct err *err);

#endif
