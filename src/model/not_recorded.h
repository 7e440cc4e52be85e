/*
 * not_recorded: was a process recorded at all, and if not, why.
 *
 * If nothing can be preloaded into a program (because it is statically linked, for example), the
 * collector writes a profile without figures. If it cannot see a program's allocator, it writes a
 * profile without allocations. Both have a note that says why. Reports must not call such a profile
 * complete.
 */
#ifndef TIDE_MODEL_NOT_RECORDED_H
#define TIDE_MODEL_NOT_RECORDED_H

#include "store/recording.h"

enum recorded {
    RECORDED,
    RECORDED_PARTLY, /* its own allocations, or all, passed the recorder by */
    RECORDED_NOTHING /* nothing is known of it but its name and its end */
};

/* `note`: the number of the note that says why, where it is not RECORDED. */
enum recorded not_recorded(const struct profile *p, size_t *note);

#endif
