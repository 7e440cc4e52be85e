/*
 * notes: what a recording says could not be seen, for a report on one of its processes.
 *
 * The collector stores notes about the whole recording (such as children that could not be
 * recorded) with the program that was started. A report on another process prints these too, after
 * its own notes, with the name of that program.
 *
 * Ownership: texts point into the recording, or to what notes_release frees.
 */
#ifndef TIDE_ANSWER_NOTES_H
#define TIDE_ANSWER_NOTES_H

#include "store/recording.h"

struct notes {
    VEC(const char *) texts; /* the recording's own, or one of these: */
    VEC(char *) made;
};

void notes_init(struct notes *n, const struct recording *r, const struct profile *p);
/* The one of this number is told elsewhere. */
void notes_drop(struct notes *n, size_t number);
void notes_release(struct notes *n);

#endif
