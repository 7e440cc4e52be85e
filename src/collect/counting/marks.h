/*
 * marks: moments with a name. A mark advances the tick, the number of the interval that is open
 * now, so it ends an interval, whose rows then give the exact state at the mark. If another thread
 * reports the new tick first, the interval is closed before the mark itself is read; the tick shows
 * which interval belongs to the mark. The program sets marks in record/api.c and record/mark_on.c;
 * how they are numbered and shown is decided by model/mark_rows.h.
 */
#ifndef TIDE_COLLECT_COUNTING_MARKS_H
#define TIDE_COLLECT_COUNTING_MARKS_H

#include <stdbool.h>

#include "base/vec.h"
#include "store/recording.h"

struct target;
struct wire_held;
struct boundary;

/* A mark, until the profile is made. The interval log has its live figures. */
struct pending_mark {
    uint32_t tick; /* the first tick after the mark */
    uint32_t label, thread;
    struct stamp stamp;
    uint64_t absent_bytes; /* as in struct mark */
    bool absent_known;
};

struct marks {
    VEC(struct pending_mark) pending;
    VEC(struct mark_value) values; /* the member `mark` is a tick here */
    /* Ticks that an unload made and no mark, and that have not been reached yet. */
    VEC(uint32_t) unloads;
    struct strpool labels;
};

/* Handles a WIRE_NOTE. Returns the tick that the note begins, or 0. */
uint32_t marks_note(struct target *t, uint32_t thread, const uint64_t *words);
/* Adds a mark without sizes and ends an interval now. Returns where its sizes belong, until the
 * next mark: call process_sizes_mark (resident/process_sizes.h), which fills them in. */
struct stamp *marks_add(struct target *t, const char *label, uint64_t now_ns);
/* Sets the figures that the program's allocator reported, if it reported any. */
void stamp_set_held(struct stamp *s, const struct wire_held *held);
/* The end time of the interval that ends at a boundary. *kept: it ends at a mark. */
uint64_t marks_end(struct target *t, const struct boundary *b, bool *kept);
/* Fills target.profile's marks. */
void marks_finish(struct target *t, struct strpool *strings);
void marks_release(struct marks *m);

#endif
