/*
 * suppress_frame: does one place of a suppression match one frame of a stack?
 *
 * suppress_match.h and suppress_states.h decide whether a whole suppression matches a whole stack,
 * and ask here for each of its places. No state; any text is accepted.
 */
#ifndef TIDE_MODEL_SUPPRESS_FRAME_H
#define TIDE_MODEL_SUPPRESS_FRAME_H

#include "model/suppress.h"

/* A frame as it is compared with suppressions. Unknown texts are NULL. */
struct place_subject {
    const char *function, *file;
    const char *object; /* the whole path, if it is known */
    uint32_t line;
};

/* Does the place, which must not be PLACE_ANY_NUMBER, match this frame? */
bool place_matches(const struct place *p, const struct place_subject *f);
/* May a PLACE_ANY_NUMBER skip this frame? */
bool place_passes(const struct place *p, const struct place_subject *f);

#endif
