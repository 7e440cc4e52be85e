/*
 * stored_recording: a recording whose chunks are not compressed, for a page that is compressed as a
 * whole. Every reader of recordings can read it.
 */
#ifndef TIDE_VIEW_STORED_RECORDING_H
#define TIDE_VIEW_STORED_RECORDING_H

#include "base/err.h"
#include "base/strbuf.h"

/* Copies everything up to the first damage. Returns 0, or a negative code and a sentence if the
 * file cannot be opened or is no recording. */
int stored_recording(const char *path, struct strbuf *out, struct err *err);

#endif
