/*
 * unhooked_libraries: libraries whose calls of malloc do not reach the recorder, and why, as notes
 * in the profiles.
 *
 * The collector reads now and then, from the living process, which functions the loader has bound
 * their calls to. Nothing is known of calls that are not bound yet.
 *
 * Called from the session's one thread, by not_recorded.
 */
#ifndef TIDE_COLLECT_SESSION_UNHOOKED_LIBRARIES_H
#define TIDE_COLLECT_SESSION_UNHOOKED_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

struct target;
struct not_recorded;

enum unhooked_way {
    UNHOOKED_HIDDEN, /* it has a malloc that it does not export */
    UNHOOKED_OWN,    /* it exports one, which comes after ours, yet calls it: RTLD_DEEPBIND */
    UNHOOKED_LIBC,   /* it has none and calls libc's instead of ours: RTLD_DEEPBIND too */
    UNHOOKED_EARLY,  /* likewise, but only at first: then it was bound to ours */
    UNHOOKED_BOUND,  /* nothing was missed before that */
};

struct unhooked_library {
    struct target *target;
    char *library;
    enum unhooked_way way;
};

/* Returns how many mappings the process has: so long it took. */
size_t unhooked_libraries_look(struct not_recorded *u, struct target *t);
/* The program has bound one to our functions, whatever was seen of it before. */
void unhooked_libraries_bound(struct not_recorded *u, struct target *t, const char *path,
                              bool missed);
/* Adds the notes. */
void unhooked_libraries_explain(const struct not_recorded *u);

#endif
