/*
 * bypasses: libraries whose calls of malloc never reach us, and why, as notes in the profiles.
 *
 * What the loader has bound their calls to is read from the process while it lives, now and then.
 * Of calls that are still to be bound nothing is known.
 *
 * Called from the session's one thread, by unseen.
 */
#ifndef TIDE_COLLECT_BYPASSES_H
#define TIDE_COLLECT_BYPASSES_H

struct target;
struct unseen;

enum bypass_way {
    BYPASS_HIDDEN, /* it has a malloc that it does not export */
    BYPASS_OWN,    /* it exports one, which comes after ours, yet calls it: RTLD_DEEPBIND */
    BYPASS_LIBC,   /* it has none and calls libc's instead of ours: RTLD_DEEPBIND too */
    BYPASS_EARLY,  /* likewise, but only while it was being loaded */
};

struct bypass {
    struct target *target;
    char *library;
    enum bypass_way way;
};

void bypasses_look(struct unseen *u, struct target *t);
/* One that the program tells of. */
void bypasses_add(struct unseen *u, struct target *t, const char *path, enum bypass_way way);
/* Adds the notes. */
void bypasses_explain(const struct unseen *u);

#endif
