/*
 * unhooked_libraries: finds libraries whose calls of malloc do not reach the recorder, and adds
 * notes about them to the profiles.
 *
 * From time to time the collector reads from the running process to which functions the loader has
 * bound the libraries' calls. Calls that are not bound yet are unknown.
 *
 * Threads: the session's one thread. not_recorded.c calls it.
 */
#ifndef TIDE_COLLECT_SESSION_UNHOOKED_LIBRARIES_H
#define TIDE_COLLECT_SESSION_UNHOOKED_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

struct target;
struct not_recorded;

enum unhooked_way {
    UNHOOKED_HIDDEN, /* the library has a malloc that it does not export */
    UNHOOKED_OWN,    /* the library exports a malloc and calls it instead of ours: RTLD_DEEPBIND */
    UNHOOKED_LIBC,   /* the library calls libc's malloc instead of ours: RTLD_DEEPBIND */
    UNHOOKED_EARLY,  /* the library called libc's malloc until it was bound to ours */
    UNHOOKED_BOUND,  /* the library was bound to ours, and nothing was missed before */
};

struct unhooked_library {
    struct target *target;
    char *library;
    enum unhooked_way way;
};

/* Checks the libraries of a process. Returns the number of its mappings, which determines the
 * cost. */
size_t unhooked_libraries_check(struct not_recorded *u, struct target *t);
/* Notes that the recorder has bound the library to our functions, whatever was seen before. */
void unhooked_libraries_bound(struct not_recorded *u, struct target *t, const char *path,
                              bool missed);
/* Adds the notes. */
void unhooked_libraries_explain(const struct not_recorded *u);

#endif
