/*
 * file: recordings in files, plain or packed with gzip. Also recording_read of store/reader.h.
 */
#ifndef TIDE_STORE_FILE_H
#define TIDE_STORE_FILE_H

#include <stdbool.h>

#include "base/err.h"
#include "store/chunk.h"

/* 0, or negative and a sentence; then there is nothing to close. */
int recording_file_open(struct chunk_source *s, const char *path, struct err *err);
void recording_file_close(struct chunk_source *s);
/* Is there a recording at this path, plain or packed? */
bool recording_file_is(const char *path);

#endif
