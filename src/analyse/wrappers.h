/*
 * wrappers: functions of a program that do nothing but call malloc for others (xmalloc).
 *
 * Where most bytes are charged to them a table by function says nothing; --fold charges their
 * callers instead.
 */
#ifndef TIDE_ANALYSE_WRAPPERS_H
#define TIDE_ANALYSE_WRAPPERS_H

#include "model/answer.h"

#define WRAPPERS_SHOWN 4

struct wrappers {
    uint32_t names[WRAPPERS_SHOWN]; /* in the strings of the frame table, the largest first */
    size_t count;
    double share; /* of all bytes of the answer: those of these functions */
};

/* false: they are not what most bytes are charged to. Innermost functions that are named like an
 * allocator and are called from several others. */
bool wrappers_find(struct wrappers *w, const struct answer *a);
/* The argument of --fold that charges their callers. */
void wrappers_pattern(const struct wrappers *w, const struct answer *a, struct strbuf *out);

#endif
