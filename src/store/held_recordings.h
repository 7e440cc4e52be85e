/*
 * held_recordings: recordings that stay in memory under a name, for callers that run many commands
 * on them (the page's core, `tidemark view --serve`). recording_read of such a name returns the
 * held recording, and recording_free does not free it. Threads: one.
 */
#ifndef TIDE_STORE_HELD_RECORDINGS_H
#define TIDE_STORE_HELD_RECORDINGS_H

#include <stdbool.h>

#include "store/recording.h"

/* Holds a recording, and frees the one that was held under this name before. */
void recording_hold(const char *name, struct recording *r);
/* NULL: none has this name. */
struct recording *recording_held(const char *name);
bool recording_is_held(const struct recording *r);
/* A number that changes whenever a held recording is replaced: whatever was derived from it may be
 * stale. */
unsigned recording_held_generation(void);

#endif
