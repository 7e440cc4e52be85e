/*
 * mark_on: the collector's part of `run --mark-on FUNCTION`. It knows the names, finds them in the
 * files that processes load (record/mark_on.c does the rest), and reports at the end what became of
 * each.
 */
#ifndef TIDE_COLLECT_COUNTING_MARK_ON_H
#define TIDE_COLLECT_COUNTING_MARK_ON_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "wire/layout.h"

struct target;

/* A file and the functions in it; the file is the same as long as its inode and time are. */
struct looked_in;

struct left_alone {
    pid_t pid;
    uint32_t number; /* 0: all in files that are loaded later */
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
/* Finds the functions in a file that a process has loaded; returns how many. `file`: as the loader
 * names it, "" for the program. `executable`: the program's path, NULL if it is not known. */
uint32_t mark_on_find(struct mark_on *m, pid_t pid, const char *file, const char *executable,
                      struct wire_function out[WIRE_FUNCTIONS_MAX]);
/* The recorder did not mark a function (0: all in files that are loaded later), for a reason of
 * enum wire_left. */
void mark_on_left_alone(struct mark_on *m, pid_t pid, const char *file, uint32_t number,
                        uint32_t why);
/* The label of a mark, which is counted; NULL: there is no such number. */
const char *mark_on_entered(struct mark_on *m, uint64_t number);
/* Adds notes to the profiles about functions that were not found, not marked, or never entered. */
void mark_on_explain(const struct mark_on *m, struct target *const *targets, size_t count,
                     pid_t program);

#endif
