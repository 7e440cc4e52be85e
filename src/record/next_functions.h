/*
 * next_functions: finds the functions that the hooks forward to, in the order in which the loader
 * searches. Called when the recorder starts, before there are threads that it knows of.
 */
#ifndef TIDE_RECORD_NEXT_FUNCTIONS_H
#define TIDE_RECORD_NEXT_FUNCTIONS_H

#include <stdbool.h>

/* Fills `next` (record/recorder.h), all at once. */
void next_find_all(void);
/* Call it before there are threads: initialises libc's allocator if it is used besides another
 * one. */
void next_make_libc_ready(void);
/* Are the functions that these two pointers point to in the same file? */
bool same_module(const void *slot, const void *other);

#endif
