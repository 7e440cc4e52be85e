/*
 * moment: resolves the words of --at and --since to positions in the interval log. measure.h
 * decides what is summed up between two positions.
 *
 * A moment is a boundary between intervals: `intervals` whole intervals lie before it. A time or a
 * percentage is moved to the nearest boundary; time_ns is that boundary, asked_ns the original
 * time. The peak is special: sites have the exact live values at the peak (at_peak_*). Where only
 * intervals are known, the end of the interval that contains the peak is used. `word` is borrowed
 * from the caller.
 */
#ifndef TIDE_MODEL_MOMENT_H
#define TIDE_MODEL_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/recording.h"

struct moment {
    const char *word;
    bool peak;
    bool own_peak; /* the peak is one of graphics processors, not the heap's */
    size_t intervals;
    uint64_t time_ns;
    uint64_t asked_ns; /* before it was moved to a boundary */
};

/* From `since` to `at`; since.intervals <= at.intervals. */
struct window {
    struct moment since, at;
};

/* Resolves a word to a moment. -EINVAL: the word is no moment, or not within this run. */
int moment_resolve(const struct profile *p, const char *word, struct moment *out, struct err *err);

/* Does the word name a mark of this profile? NULL does not. */
bool moment_is_mark(const struct profile *p, const char *word);

/* Resolves the words of --since and --at; NULL words are the defaults start and end. -EINVAL also
 * if `since` comes after `at`. */
int window_resolve(const struct profile *p, const char *since, const char *at, struct window *out,
                   struct err *err);

/* The same for a metric whose peak was at another time than that of the heap. */
int window_resolve_own_peak(const struct profile *p, uint64_t peak_ns, const char *since,
                            const char *at, struct window *out, struct err *err);

/* Does the window cover the whole run? */
bool window_is_whole(const struct profile *p, const struct window *w);

#endif
