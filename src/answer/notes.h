/*
 * notes: what could not be recorded, for a report on one process of a recording.
 *
 * The collector stores notes about the whole recording (such as children that could not be
 * recorded) with the program that was started. A report on another process prints these too, after
 * its own notes, with the name of that program. Ownership: texts point into the recording, or to
 * what notes_release frees.
 */
#ifndef TIDE_ANSWER_NOTES_H
#define TIDE_ANSWER_NOTES_H

#include "store/recording.h"

struct notes {
    VEC(const char *) texts; /* the recording's own, or one of `owned`: */
    VEC(char *) made;
};

void notes_init(struct notes *n, const struct recording *r, const struct profile *p);
/* Drops the note of this number, which is printed elsewhere. */
void notes_drop(struct notes *n, size_t number);
void notes_release(struct notes *n);

#endif
