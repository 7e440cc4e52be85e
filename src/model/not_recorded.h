/*
 * not_recorded: was a process recorded at all, and if not, why.
 *
 * Of a program into which nothing can be preloaded (statically linked, say) the collector makes a
 * profile without figures, and of one whose allocator it cannot see a profile without allocations.
 * Each has a note that says why. Reports must not call such a profile complete.
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
