/*
 * not_recorded: what this recording cannot have seen, and why, as notes in its profiles.
 *
 * A recording that is empty or lacks a process must say so. Three things are found out, and what
 * libraries pass us by (unhooked.h):
 * - a process recorded nothing: its program file tells the likely reason (executable.h);
 * - a process became another program (exec) and nothing was heard from that;
 * - a child of a recorded process never said hello.
 * The last two need a look at /proc while they live, taken now and then. A child that came and went
 * between two looks is missed; a process that became another program gives itself away by its name
 * until it is reaped.
 *
 * Called from the session's one thread.
 */
#ifndef TIDE_COLLECT_SESSION_NOT_RECORDED_H
#define TIDE_COLLECT_SESSION_NOT_RECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "collect/session/unhooked_libraries.h"
#include "collect/session/executable.h"
#include "collect/counting/target.h"

struct silent_child {
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

struct not_recorded {
    const char *only; /* names, one a line: others are not missed; NULL: all are */
    bool no_children; /* are not missed either */
    uint64_t next_look_ns, next_map_look_ns;
    VEC(struct looked) looked;
    VEC(struct unhooked_library) unhooked;
    VEC(struct silent_child) silent_children; /* children that can never say hello */
    VEC(struct left_out) left_out;
    VEC(struct recorded_default) suppressions; /* inside the programs; known at the end */
};

/* The file, looked at once. Valid until the next call. */
const struct executable *not_recorded_file(struct not_recorded *u, const char *path);

/* A recorded process says that it executes a program without us. `why`: an enum wire_out. */
void not_recorded_left_out(struct not_recorded *u, const char *path, uint32_t why);

/* At every turn of the loop; looks if it is time. */
void not_recorded_look(struct not_recorded *u, struct target *const *targets, size_t count,
                       uint64_t now_ns);
/* The target waits before it ends: what was loaded since the last look is seen now or never. */
void not_recorded_at_exit(struct not_recorded *u, struct target *t);
/* The target has ended, and perhaps is not reaped yet. */
void not_recorded_last_look(struct target *t);
/* Once, when all targets have ended: adds the notes. `program`: the process that was started. */
void not_recorded_explain(struct not_recorded *u, struct target *const *targets, size_t count,
                          pid_t program);

/* Did the user ask for programs of this name? */
bool not_recorded_is_wanted(const char *only, const char *path);
/* For a program that nothing was heard of. Caller frees. */
char *not_recorded_program_note(const struct not_recorded *u, const char *name);

#endif
