/*
 * own_lines: which line that the user wrote holds most of the peak. Functions of libraries are
 * charged to the innermost line outside of them (places_own), so everything that one line of a
 * script makes pandas allocate is one figure.
 */
#ifndef TIDE_ANALYSE_OWN_LINES_H
#define TIDE_ANALYSE_OWN_LINES_H

#include "analyse/places.h"

struct own_line {
    uint32_t call;           /* in places: a call from this line; CALL_NONE: there is none */
    int64_t bytes, of_bytes; /* live at the heap's peak, out of how much */
};

/* The line that held most at the peak; `places` must come from places_init. */
struct own_line own_lines_most(const struct places *places);

#endif
