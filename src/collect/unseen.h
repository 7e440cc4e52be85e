/*
 * unseen: what this recording cannot have seen, and why, as notes in its profiles.
 *
 * A recording that is empty or lacks a process must say so. Three things are found out, and what
 * libraries pass us by (bypasses.h):
 * - a process recorded nothing: its program file tells the likely reason (executable.h);
 * - a process became another program (exec) and nothing was heard from that;
 * - a child of a recorded process never said hello.
 * The last two need a look at /proc while they live, taken now and then. A child that came and went
 * between two looks is missed; a process that became another program gives itself away by its name
 * until it is reaped.
 *
 * Called from the session's one thread.
 */
#ifndef TIDE_COLLECT_UNSEEN_H
#define TIDE_COLLECT_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "collect/bypasses.h"
#include "collect/executable.h"
#include "collect/target.h"

struct stranger {
    pid_t pid;
    char *note;
};

/* A program that was executed without the recorder, which its loader cannot load. */
struct left_out {
    char *path;
    enum wire_out why;
    unsigned times;
};

/* A program file that was looked at: families run the same few over and over. */
struct looked {
    char *path;
    struct executable is;
};

struct unseen {
    const char *only; /* names, one a line: others are not missed; NULL: all are */
    bool no_children; /* are not missed either */
    uint64_t next_look_ns, next_map_look_ns;
    VEC(struct looked) looked;
    VEC(struct bypass) bypasses;
    VEC(struct stranger) strangers; /* children that can never say hello */
    VEC(struct left_out) left_out;
    VEC(struct recorded_default) suppressions; /* inside the programs; known at the end */
};

/* The file, looked at once. Valid until the next call. */
const struct executable *unseen_file(struct unseen *u, const char *path);

/* A recorded process says that it executes a program without us. `why`: an enum wire_out. */
void unseen_left_out(struct unseen *u, const char *path, uint32_t why);

/* At every turn of the loop; looks if it is time. */
void unseen_look(struct unseen *u, struct target *const *targets, size_t count, uint64_t now_ns);
/* The target has ended, and perhaps is not reaped yet. */
void unseen_last_look(struct target *t);
/* Once, when all targets have ended: adds the notes. `program`: the process that was started. */
void unseen_explain(struct unseen *u, struct target *const *targets, size_t count, pid_t program);

/* Did the user ask for programs of this name? */
bool unseen_is_wanted(const char *only, const char *path);
/* For a program that nothing was heard of. Caller frees. */
char *unseen_program_note(const struct unseen *u, const char *name);

#endif
