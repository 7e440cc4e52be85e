/*
 * mark_on: the collector's part of `run --mark-on FUNCTION`: knows the names, finds them in the
 * files that processes load (the recorder does the rest: record/mark_on.c), and says in the end
 * what came of each.
 */
#ifndef TIDE_COLLECT_COUNTING_MARK_ON_H
#define TIDE_COLLECT_COUNTING_MARK_ON_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "wire/layout.h"

struct target;

/* A file and what it has; it is the same file as long as its inode and time are. */
struct looked_in;

struct left_alone {
    pid_t pid;
    uint32_t number; /* 0: all in files that come later */
    uint32_t why;
    char *path;
};

struct mark_on {
    const char *const *names; /* as the user gave them: the labels */
    size_t count;
    uint64_t *entered; /* [count]: marks made */
    bool *found;       /* [count] */
    VEC(struct looked_in) files;
    VEC(struct left_alone) left;
};

void mark_on_init(struct mark_on *m, const char *const *names, size_t count);
/* The functions of a file that a process has loaded; returns how many. `file`: as the loader names
 * it, "" for the program. `executable`: the program, NULL if that is not known. */
uint32_t mark_on_find(struct mark_on *m, pid_t pid, const char *file, const char *executable,
                      struct wire_function out[WIRE_FUNCTIONS_MAX]);
/* The recorder did not mark one (0: all that come later), for a reason of enum wire_left. */
void mark_on_left_alone(struct mark_on *m, pid_t pid, const char *file, uint32_t number,
                        uint32_t why);
/* The label of a mark; NULL: there is no such number. Counts it. */
const char *mark_on_entered(struct mark_on *m, uint64_t number);
/* Adds to the profiles' notes what was not found, left alone, or never entered. */
void mark_on_explain(const struct mark_on *m, struct target *const *targets, size_t count,
                     pid_t program);

#endif
