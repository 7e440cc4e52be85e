/*
 * not_recorded: finds out what is missing in a recording, and why, and adds notes about it to the
 * profiles. model/not_recorded.h decides what follows for answers, answer/notes.h prints the notes.
 * A recording that is empty or lacks a process must say so.
 *
 * This module finds
 * - processes that recorded nothing; the program file shows the likely reason (executable.h)
 * - processes that executed another program which never connected
 * - children of recorded processes that never connected
 * - libraries whose calls of malloc are not hooked (unhooked_libraries.h)
 *
 * The last three are found in /proc, which the collector reads now and then while the processes
 * live. Recorded processes also say when they execute a program that cannot load the recorder.
 * Other children (setuid, or without tidemark's environment) that began and ended between two
 * readings are missed. A process that executed another program is recognised by its name until it
 * is reaped.
 *
 * Threads: the session's one thread. Ownership: it owns its texts, except `only`.
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
        LEFT_OUT_LIBC = WIRE_OUT_LIBC, /* its loader cannot load the recorder */
        LEFT_OUT_32_BIT = WIRE_OUT_32_BIT,
        LEFT_OUT_STATIC = WIRE_OUT_STATIC,
        LEFT_OUT_SANITIZER = WIRE_OUT_SANITIZER,
        LEFT_OUT_NO_LIBRARY = WIRE_OUT_NO_LIBRARY,
        LEFT_OUT_ATTACHED /* an attached program executed it, which does not pass the recorder on */
    } why;
    unsigned times;
};

/* A child of an attached program that executes another program. */
struct executed_child {
    pid_t pid;
    uint64_t stack_start; /* changes at each exec; 0: no exec yet, or not known */
    bool is_there;        /* the child was seen at this reading of /proc */
};

struct not_recorded {
    /* Names of programs, one per line: other programs are not reported as missing. NULL: all
     * programs are. */
    const char *only;
    bool no_children; /* children are not reported as missing either */
    bool seldom;      /* reading /proc must cost very little: do it a quarter as often */
    uint64_t next_check_ns, next_libraries_check_ns, next_children_check_ns;
    /* Files that were examined: families of processes run the same few files over and over. */
    VEC(struct executable) examined;
    struct strpool paths;        /* of these files */
    struct map examined_by_path; /* number of the path to index in `examined` */
    VEC(struct unhooked_library) unhooked;
    VEC(struct silent_child) silent_children;     /* children that can never connect */
    VEC(struct executed_child) executed_children; /* the children that the last reading found */
    VEC(struct left_out) left_out;
    /* Suppressions for LeakSanitizer in the programs; complete at the end. */
    VEC(struct recorded_default) suppressions;
};

/* Examines the file, once. Valid until the next call. */
const struct executable *not_recorded_file(struct not_recorded *u, const char *path);

/* Handles the report of a recorded process that it executes a program without the recorder. `why`
 * is an enum wire_out. */
void not_recorded_left_out(struct not_recorded *u, const char *path, uint32_t why);

/* Call it at every turn of the loop; it reads /proc if that is due. */
void not_recorded_check(struct not_recorded *u, struct target *const *targets, size_t count,
                        uint64_t now_ns);
/* Reads /proc whether it is due or not. */
void not_recorded_check_now(struct not_recorded *u, struct target *const *targets, size_t count,
                            uint64_t now_ns);
/* Reads the libraries of a target that waits before it ends, which is the last chance to see what
 * was loaded since the last reading. */
void not_recorded_at_exit(struct not_recorded *u, struct target *t);
/* Call it when the target has ended, if possible before it is reaped. */
void not_recorded_check_ended(struct target *t);
/* Adds the notes. Call it once, when all targets have ended. `program`: the process that was
 * started. */
void not_recorded_explain(struct not_recorded *u, struct target *const *targets, size_t count,
                          pid_t program);
/* Call it when the file is written, which takes `suppressions` from here. */
void not_recorded_release(struct not_recorded *u);

/* The note for a program that never connected. The caller frees it. */
char *not_recorded_program_note(const struct not_recorded *u, const char *name);

#endif
