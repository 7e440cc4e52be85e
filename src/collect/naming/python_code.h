/*
 * python_code: what a program reported about its Python code, and the frames that follow from it.
 *
 * The records (wire/layout.h) are copied as they come, so that they cannot change while they are
 * read. Each is checked when a frame needs it. Whatever a record holds, the result is a frame.
 *
 * Ownership: python_codes_release frees; {0} is empty.
 */
#ifndef TIDE_COLLECT_NAMING_PYTHON_CODE_H
#define TIDE_COLLECT_NAMING_PYTHON_CODE_H

#include "base/strbuf.h"
#include "store/recording.h"

struct python_codes {
    struct strbuf records; /* at the same offsets as in the shared memory */
};

/* Copies new records. `used` is the number of complete bytes according to the program; it counts
 * only up to `size`. */
void python_codes_read(struct python_codes *c, const void *memory, uint32_t size, uint32_t used);
/* Makes the frame of a node whose address has NODE_IS_PYTHON, with its names in `strings`. */
struct frame python_codes_frame(const struct python_codes *c, uint64_t address,
                                struct strpool *strings);
void python_codes_release(struct python_codes *c);

/* A sentence about a process whose Python frames are not recorded, or not all; NULL: nothing to
 * say. */
char *python_note(uint32_t state, uint32_t version);
/* A sentence about a process whose Python objects were to be recorded and are not; NULL: nothing to
 * say. */
char *python_objects_note(uint32_t state, uint32_t objects_state);

#endif
