/*
 * top_screen: `tidemark top` on a terminal: a plot of memory, the table, and keys.
 */
#ifndef TIDE_CLI_TOP_SCREEN_H
#define TIDE_CLI_TOP_SCREEN_H

#include "analyse/top.h"
#include "cli/query_options.h"
#include "cli/live_recording.h"

struct top_options {
    struct query_options query;
    enum top_sort sort;
    uint64_t window_ns, refresh_ns;
    bool once;
    bool process_given;
    char *running; /* the process that was chosen instead, or NULL; owned */
};

/* Waits for the state that was asked for, and reads it (cmd_top.c). */
int top_read(struct top_options *o, struct live_recording *live, struct recording **out,
             struct err *err);

/* Runs until the user quits. `live`: NULL for a recording in a file. `recording` is the first
 * state, and is freed. Returns the exit status, or a negative code and a sentence: the terminal
 * cannot be used. */
int top_screen(struct top_options *o, struct live_recording *live, struct recording *recording,
               struct err *err);

#endif
