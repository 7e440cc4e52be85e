/*
 * stored_recording: a recording whose chunks are not compressed, for a page that is compressed as a
 * whole. Every reader of recordings reads it.
 */
#ifndef TIDE_VIEW_STORED_RECORDING_H
#define TIDE_VIEW_STORED_RECORDING_H

#include "base/err.h"
#include "base/strbuf.h"

/* What is whole in the file is copied; 0, or negative and a sentence if it cannot be opened or is
 * no recording. */
int stored_recording(const char *path, struct strbuf *out, struct err *err);

#endif
