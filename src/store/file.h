/*
 * file: recordings in files, plain or compressed with gzip. It also defines recording_read of
 * store/reader.h.
 */
#ifndef TIDE_STORE_FILE_H
#define TIDE_STORE_FILE_H

#include <stdbool.h>

#include "base/err.h"
#include "store/chunk.h"

/* Returns 0, or a negative errno and a sentence; after an error there is nothing to close. */
int recording_file_open(struct chunk_source *s, const char *path, struct err *err);
void recording_file_close(struct chunk_source *s);
/* Is there a recording at this path, plain or compressed? */
bool recording_file_is(const char *path);

#endif
