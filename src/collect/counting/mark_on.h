/*
 * mark_on: the collector's part of `run --mark-on FUNCTION`. It finds the functions in the files
 * that processes load (record/mark_on.c patches them), and reports at the end which functions were
 * found, marked and entered.
 */
#ifndef TIDE_COLLECT_COUNTING_MARK_ON_H
#define TIDE_COLLECT_COUNTING_MARK_ON_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "wire/layout.h"

struct target;

/* A file and the functions in it. A file with the same inode and time is the same file. */
struct looked_in;

struct left_alone {
    pid_t pid;
    uint32_t number; /* number of the function; 0: all functions in files that are loaded later */
    uint32_t why;
    char *path;
};

struct mark_on {
    const char *const *names; /* as the user gave them; they are the labels of the marks */
    size_t count;
    uint64_t *entered; /* [count]: marks made */
    bool *found;       /* [count] */
    VEC(struct looked_in) files;
    VEC(struct left_alone) left;
};

void mark_on_init(struct mark_on *m, const char *const *names, size_t count);
/* Finds the functions in a file that a process has loaded; returns how many. `file` is the name
 * that the loader uses, "" for the program. `executable` is the program's path, NULL if it is not
 * known. */
uint32_t mark_on_find(struct mark_on *m, pid_t pid, const char *file, const char *executable,
                      struct wire_function out[WIRE_FUNCTIONS_MAX]);
/* Notes that the recorder did not mark a function (0: all functions in files that are loaded
 * later), for a reason of enum wire_left. */
void mark_on_left_alone(struct mark_on *m, pid_t pid, const char *file, uint32_t number,
                        uint32_t why);
/* Counts a mark, and returns its label; NULL: there is no function of this number. */
const char *mark_on_entered(struct mark_on *m, uint64_t number);
/* Adds notes to the profiles about functions that were not found, not marked, or never entered. */
void mark_on_explain(const struct mark_on *m, struct target *const *targets, size_t count,
                     pid_t program);

#endif
