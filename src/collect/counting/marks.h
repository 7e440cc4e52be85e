/*
 * marks: moments with a name. A mark advances the tick, so it ends an interval, whose rows then
 * give the exact state at the mark. The interval may be closed before the mark itself is read (if
 * another thread showed the new tick first): the two are matched by the tick.
 */
#ifndef TIDE_COLLECT_COUNTING_MARKS_H
#define TIDE_COLLECT_COUNTING_MARKS_H

#include <stdbool.h>

#include "base/vec.h"
#include "store/recording.h"

struct target;
struct boundary;

/* A mark until the profile is made. Its live figures are those of the interval log. */
struct pending_mark {
    uint32_t tick; /* the first one after it */
    uint32_t label, thread;
    struct stamp stamp;
    uint64_t absent_bytes; /* as in struct mark */
    bool absent_known;
};

struct marks {
    VEC(struct pending_mark) pending;
    VEC(struct mark_value) values; /* `mark` is a tick */
    VEC(uint32_t) unloads;         /* ticks that no mark made, and that have not been reached yet */
    struct strpool labels;
};

/* Handles a WIRE_NOTE; returns the tick that it begins, or 0. */
uint32_t marks_note(struct target *t, uint32_t thread, const uint64_t *words);
/* Adds a mark from outside: ends an interval now. */
void marks_add(struct target *t, const char *label, uint64_t now_ns);
/* The end time of the interval whose last tick this is. *kept: it ends at a mark. */
uint64_t marks_end(struct target *t, const struct boundary *b, bool *kept);
/* Fills target.profile's marks. */
void marks_finish(struct target *t, struct strpool *strings);
void marks_release(struct marks *m);

#endif
