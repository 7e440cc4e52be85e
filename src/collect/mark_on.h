/*
 * mark_on: the collector's part of `run --mark-on FUNCTION`: knows the names, finds them in the
 * files that processes load (the recorder does the rest: record/mark_on.c), and says in the end
 * what came of each.
 */
#ifndef TIDE_COLLECT_MARK_ON_H
#define TIDE_COLLECT_MARK_ON_H

#include "base/vec.h"
#include "collect/door.h"

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
/* A process asks for the functions of a file (v->text) that it has loaded. `executable`: its
 * program, NULL if that is not known. */
void mark_on_answer(struct mark_on *m, struct visitor *v, const char *executable);
void mark_on_left_alone(struct mark_on *m, struct visitor *v);
/* The label of a mark; NULL: there is no such number. Counts it. */
const char *mark_on_entered(struct mark_on *m, uint64_t number);
/* Adds to the profiles' notes what was not found, left alone, or never entered. */
void mark_on_explain(const struct mark_on *m, struct target *const *targets, size_t count,
                     pid_t program);

#endif
