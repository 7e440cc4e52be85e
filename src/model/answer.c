#include "model/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/sampled.h"
#include "model/combined_profile.h"

/* How many of the marks that a query names are marks of this profile. */
static int marks_named(const struct profile *p, const struct query *q)
{
    int found = moment_is_mark(p, q->at) + moment_is_mark(p, q->since);
    bool any = false;
    for (size_t i = 0; q->has_mark && i < p->marks.count && !any; i++)
        any = !*q->has_mark || strcmp(p->marks.items[i].name, q->has_mark) == 0;
    return found + any;
}

/* The program that a process became by exec, or NULL. */
static const struct profile *program_after_exec(const struct recording *r, const struct profile *p)
{
    const struct profile *end = r->profiles.items + r->profiles.count;
    for (const struct profile *next = p + 1; next < end && p->execed; next++)
        if (next->pid == p->pid)
            return next;
    return NULL;
}

static bool is_launcher(const struct recording *r, const struct profile *p)
{
    const struct profile *next = program_after_exec(r, p);
    return next && profile_memory(p) < profile_memory(next) + ANSWER_LAUNCHER_BYTES;
}

/* Has `a` more to tell than `b`, which comes first in the recording? */
static bool is_larger(const struct profile *a, const struct profile *b)
{
    if (!a->sampling.alone || !b->sampling.alone)
        return profile_memory(a) > profile_memory(b);
    struct sampled_totals x = sampled_whole(a), y = sampled_whole(b);
    return x.cpu_ns != y.cpu_ns ? x.cpu_ns > y.cpu_ns : x.faults > y.faults;
}

const struct profile *answer_program(const struct recording *r)
{
    const struct profile *p = r->profiles.count ? r->profiles.items : NULL;
    for (const struct profile *next = p; next; next = program_after_exec(r, p))
        p = next;
    return p;
}

/* Where several are equal, it is the program that was started. */
static const struct profile *choose(const struct recording *r, const struct query *q)
{
    const struct profile *best = answer_program(r);
    int best_marks = q ? marks_named(best, q) : 0;
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        int marks = q ? marks_named(p, q) : 0;
        if (is_launcher(r, p) && !marks)
            continue;
        if (marks > best_marks || (marks == best_marks && is_larger(p, best))) {
            best = p;
            best_marks = marks;
        }
    }
    return best;
}

char *answer_process_word(const struct recording *r, const struct profile *p)
{
    size_t number = 1;
    for (const struct profile *q = r->profiles.items; q < p; q++)
        number += q->pid == p->pid;
    return xasprintf("%" PRIu32 "#%zu", p->pid, number);
}

int answer_process(const struct recording *r, const struct query *q, const struct profile **out,
                   struct err *err)
{
    const char *process = q ? q->process : NULL;
    if (!r->profiles.count)
        return err_set(err, -ENOENT, "the recording holds no process");
    if (!process) {
        *out = choose(r, q);
        return 0;
    }
    if (strcmp(process, COMBINED_PROFILE_WORD) == 0) {
        *out = r->combined;
        return *out ? 0
                    : err_set(err, -EINVAL,
                              "this can be told of one process only; --process PID picks it");
    }
    char *end;
    unsigned long pid = strtoul(process, &end, 10), wanted = 0;
    if (end == process || (*end && *end != '#') || *process == '-')
        return err_set(err, -EINVAL,
                       "--process '%s' is not a process id, nor all; 'tidemark report' lists them",
                       process);
    if (*end == '#') {
        const char *number = end + 1;
        wanted = strtoul(number, &end, 10);
        if (!wanted || *end)
            return err_set(err, -EINVAL, "--process '%s' is not of the form PID#N with N from 1",
                           process);
    }
    const struct profile *found = NULL;
    unsigned long seen = 0;
    for (size_t i = 0; i < r->profiles.count; i++)
        if (r->profiles.items[i].pid == pid && (!wanted || ++seen == wanted))
            found = &r->profiles.items[i];
    if (!found)
        return err_set(err, -ENOENT,
                       "no process %s in this recording; it holds %zu, the first is %u; "
                       "'tidemark report' lists them",
                       process, r->profiles.count, (unsigned)r->profiles.items[0].pid);
    *out = found;
    return 0;
}

static int check_shape(const struct query *q, struct err *err)
{
    if (q->focus.python_only && q->focus.native_only)
        return err_set(err, -EINVAL, "--python-only and --native-only exclude each other");
    if (q->shape != SHAPE_TABLE && (q->by == BY_STACK || q->by == BY_THREAD))
        return err_set(err, -EINVAL, "%s goes with --by function, line, library or file, not %s",
                       q->shape == SHAPE_TREE      ? "--tree"
                       : q->shape == SHAPE_CALLERS ? "--callers"
                                                   : "--callees",
                       grouping_name(q->by));
    return 0;
}

static int shape_rows(struct answer *a, struct err *err)
{
    const struct query *q = a->query;
    struct group g;
    int code = 0;
    group_init(&g, &a->frames, &a->tree, q->by);
    if (q->shape == SHAPE_TREE) {
        merged_build(&a->merged, &a->tree, g.of_frame, q->by == BY_LIBRARY || q->by == BY_FILE);
        merged_tree_rows(&a->rows, &a->merged, &g, q, &a->tree);
    } else if (q->shape == SHAPE_CALLERS || q->shape == SHAPE_CALLEES) {
        code = aggregate_edges(&a->rows, &a->of, &a->tree, &g, q, err);
    } else {
        aggregate_groups(&a->rows, &a->tree, &g);
    }
    group_release(&g);
    return code;
}

static int make_rows(struct answer *a, struct err *err)
{
    const struct query *q = a->query;
    if (q->by == BY_THREAD) {
        aggregate_threads(&a->rows, &a->tree, &a->measure, a->profile);
    } else if (q->by == BY_STACK) {
        merged_build(&a->merged, &a->tree, NULL, false);
        if (q->tree_only)
            return 0;
        merged_stack_rows(&a->rows, &a->merged, &a->tree, &a->measure, a->profile);
    } else {
        int code = shape_rows(a, err);
        if (code || q->shape == SHAPE_TREE) /* a tree has its own order */
            return code;
    }
    answer_rows_sort(&a->rows);
    answer_rows_cut(&a->rows, q->top, q->min_percent, a->tree.scale, a->tree.by_max);
    if (q->by == BY_STACK)
        merged_stack_depths(&a->rows, &a->merged);
    return 0;
}

/* A table of functions, lines or files names what the user wrote. Stacks and trees show all frames
 * anyway, and a library is native. */
static enum charge charge_of(const struct query *q)
{
    bool by_code = q->by == BY_FUNCTION || q->by == BY_LINE || q->by == BY_FILE;
    bool as_is = q->focus.native_only || q->focus.no_fold;
    return q->shape == SHAPE_TABLE && by_code && !as_is ? CHARGE_PYTHON : CHARGE_INNERMOST;
}

int answer_query(struct answer *a, const struct recording *r, const struct query *q,
                 struct err *err)
{
    *a = (struct answer){.recording = r, .query = q};
    int code = check_shape(q, err);
    if (!code)
        code = answer_process(r, q, &a->profile, err);
    if (!code)
        code = measure_window(a->profile, q, &a->window, err);
    if (!code && q->histogram)
        code = histograms_check(a->profile, q, &a->window, err);
    if (code)
        return code;
    a->totals = totals_of(a->profile, &a->window);
    frame_table_init(&a->frames, r, a->profile, &q->focus);
    measure_sites(&a->measure, a->profile, q->metric, q->size, &a->window);
    code = call_tree_build(&a->tree, &a->frames, &a->measure, charge_of(q), err);
    if (!code)
        code = make_rows(a, err);
    if (!code && q->histogram)
        histograms_make(&a->histograms, a->profile, q, &a->tree, &a->measure, &a->rows, &a->merged);
    if (code)
        answer_release(a);
    return code;
}

void answer_release(struct answer *a)
{
    histograms_release(&a->histograms);
    answer_rows_release(&a->rows);
    merged_release(&a->merged);
    call_tree_release(&a->tree);
    measure_release(&a->measure);
    frame_table_release(&a->frames);
    *a = (struct answer){0};
}
