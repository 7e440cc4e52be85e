/*
 * not_recorded: was a process recorded at all, and if not, why?
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
    RECORDED_PARTLY, /* its own allocations, or all of them, were not recorded */
    RECORDED_NOTHING /* only its name and its end are known */
};

/* Was the process recorded? If not, or only partly, *note is the index of the note that says
 * why. */
enum recorded not_recorded(const struct profile *p, size_t *note);
/* The first of the program's notes that says that it, or another process or program that it
 * started, was not recorded; NULL: there is none. */
const char *not_recorded_elsewhere(const struct profile *program);

#endif
