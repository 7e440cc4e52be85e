/*
 * stack_filter: which stacks a question is about: --within, --within-path, --ignore and --thread,
 * and what `run` was given of these. Here it is decided what a function's name, a file and a thread
 * mean to the filter, and whether a stack counts.
 *
 *   frames.c          asks once for each name and file, and stores the answers as flags of frames
 *   call_paths.c      joins the flags of all frames of a stack (stack_flags)
 *   calltree.c        asks with these flags whether each stack counts, and adds up what does not
 *   pattern.h         what a pattern matches
 *   suppress_match.h  stacks that --suppressions and --presets leave out
 *   frame_cache.h     which answers are used again for the next question
 *
 * The struct also has the options that change how a stack looks: --fold and --merge (frames.c),
 * --python and --native (frames.c), --no-fold (calltree.c).
 *
 * Ownership: strings are borrowed (argv); lists are owned, and freed by the functions named
 * _release. {0} lets every stack pass.
 */
#ifndef TIDE_MODEL_STACK_FILTER_H
#define TIDE_MODEL_STACK_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "model/pattern.h"
#include "model/suppress.h"

struct frame_table;
struct recording;

/* What the user wants: which stacks count, and which of their frames are shown. */
struct stack_filter {
    struct pattern_list within; /* only stacks with a matching frame */
    VEC(char *) paths;          /* only stacks with a frame whose file begins with one of these */
    struct pattern_list ignore; /* no stacks with a matching frame; these are counted separately */
    struct pattern_list fold;   /* matching frames are dropped, and their caller is charged */
    struct rename_list merge;
    bool no_fold; /* keep the std:: frames at the innermost end */
    bool python_only, native_only;
    const char *thread;           /* NULL: all; a name or a thread id */
    struct suppressions suppress; /* from files: more stacks to ignore */
    /* Set of enum leak_kind: the kinds that are measured; suppressions of other kinds do not apply.
     * 0: all suppressions apply. */
    unsigned leak_kinds;
    bool presets; /* leave out what is never the user's fault (model/suppress_presets.h) */
    /* Make names comparable with those of this other recording (model/comparable_name.h), and give
     * a function one row, whatever library it is in. NULL: names as they are. */
    const struct recording *match;
    /* No error if no stack matches: another process may have such stacks, or they were cut. */
    bool lenient;
    bool no_defaults; /* do not apply --within, --ignore, --suppressions that `run` was given */
};

void stack_filter_release(struct stack_filter *f);
/* Does the filter restrict which stacks count, or change how they look? */
bool stack_filter_is_given(const struct stack_filter *f);
/* Does the filter, with what was given to `run`, let every stack pass? */
bool stack_filter_takes_all(const struct recording *r, const struct stack_filter *f);

/* What `run` was given, and the program has built in, unless the filter replaces or forbids it. */
struct recorded_filter {
    struct pattern_list within, ignore;
    struct suppressions suppress;
};

/* Adds what applies besides the filter, which must not have no_defaults. */
void recorded_filter_take(struct recorded_filter *r, const struct recording *from,
                          const struct stack_filter *f);
void recorded_filter_release(struct recorded_filter *r);

/* CALL_WITHIN and CALL_IGNORED of a function with this name (model/frames.h). */
uint16_t stack_filter_name_flags(const struct stack_filter *f, const struct recorded_filter *r,
                                 const char *name);
/* Is this file in one of the folders of --within-path? */
bool stack_filter_has_file(const struct stack_filter *f, const char *file);

/* The stacks of one profile that count. */
struct stack_choice {
    uint16_t needed; /* flags that some frame of the stack must have */
    bool *threads;   /* by thread; NULL: all */
    size_t thread_count;
};

/* -ENOENT: no thread has the name or number that --thread gives. */
int stack_choice_init(struct stack_choice *c, const struct frame_table *frames, struct err *err);
void stack_choice_release(struct stack_choice *c);

/* Does the stack of a thread count? `flags`: those of all its frames. If it does, it may still be
 * left out by --ignore (CALL_IGNORED) or a suppression; those are added up by their reason. */
static inline bool stack_choice_counts(const struct stack_choice *c, uint32_t thread,
                                       uint16_t flags)
{
    return (!c->threads || (thread < c->thread_count && c->threads[thread])) &&
           (flags & c->needed) == c->needed;
}

/* A filter that matches nothing is mistyped, or never existed: zeros would hide that. -ENOENT. */
int stack_filter_check(struct frame_table *frames, struct err *err);

#endif
