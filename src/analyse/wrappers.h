/*
 * wrappers: functions of a program that only call malloc for others (xmalloc). If most bytes are
 * charged to them, a table by function says nothing; --fold charges their callers instead. The
 * first lines of a report suggest it (answer/summary_left_out.c).
 */
#ifndef TIDE_ANALYSE_WRAPPERS_H
#define TIDE_ANALYSE_WRAPPERS_H

#include "model/answer.h"

#define WRAPPERS_SHOWN 4

struct wrappers {
    /* Indexes into the strings of the frame table, the largest first; of several overloads, only
     * the largest. */
    uint32_t names[WRAPPERS_SHOWN];
    size_t count;
    double share; /* share of all bytes of the answer that these functions have */
};

/* Finds innermost functions that are named like an allocator and have several callers. false: most
 * bytes are not charged to such functions. */
bool wrappers_find(struct wrappers *w, const struct answer *a);
/* Appends the argument of --fold that charges their callers. */
void wrappers_pattern(const struct wrappers *w, const struct answer *a, struct strbuf *out);

#endif
