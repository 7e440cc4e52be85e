/*
 * not_recorded: what this recording does not have, and why, as notes in its profiles.
 *
 * A recording that is empty or lacks a process must say so. This module finds
 *
 * - processes that recorded nothing; the program file shows the likely reason (executable.h)
 * - processes that executed another program which never connected
 * - children of recorded processes that never connected
 * - libraries whose calls of malloc are not hooked (unhooked_libraries.h)
 *
 * The last three are found in /proc while the processes live, which the collector reads now and
 * then. A child that began and ended between two readings is missed. A process that executed
 * another program is found by its name until it is reaped.
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

/* A program that was executed without the recorder. */
struct left_out {
    char *path;
    enum left_out_why {
        LEFT_OUT_LIBC = WIRE_OUT_LIBC, /* its loader cannot load it, */
        LEFT_OUT_32_BIT = WIRE_OUT_32_BIT,
        LEFT_OUT_ATTACHED /* or nobody gave it to it: who executed it was attached to */
    } why;
    unsigned times;
};

/* A child that an attached program has, and that executes another. */
struct executed_child {
    pid_t pid;
    uint64_t stack_start; /* each exec chooses another one; 0: not yet, or not known */
    bool is_there;        /* at this look */
};

/* A program file that was looked at: families run the same few over and over. */
struct looked {
    char *path;
    struct executable is;
};

struct not_recorded {
    const char *only; /* names, one a line: others are not missed; NULL: all are */
    bool no_children; /* are not missed either */
    uint64_t next_look_ns, next_map_look_ns, next_children_look_ns;
    VEC(struct looked) looked;
    VEC(struct unhooked_library) unhooked;
    VEC(struct silent_child) silent_children;     /* children that can never say hello */
    VEC(struct executed_child) executed_children; /* those of the last look */
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
/* Looks, whether it is time or not. */
void not_recorded_look_now(struct not_recorded *u, struct target *const *targets, size_t count,
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
