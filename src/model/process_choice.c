#include "model/process_choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/combined_profile.h"
#include "model/mark_rows.h"
#include "model/measure.h"
#include "model/moment.h"
#include "model/sample_sums.h"

/* How many of the marks in the query this profile has. */
static int marks_named(const struct profile *p, const struct query *q)
{
    int found = moment_is_mark(p, q->at) + moment_is_mark(p, q->since);
    bool any = false;
    for (size_t i = 0; q->has_mark && i < p->marks.count && !any; i++)
        any = !*q->has_mark ||
              mark_has_label(p->marks.items[i].name, q->has_mark, strlen(q->has_mark));
    return found + any;
}

/* How well a profile suits the query: the marks in it come first, then memory of graphics
 * processors, if the query is about that. */
static int suits(const struct profile *p, const struct query *q)
{
    bool gpu = q && metric_is_gpu(q->metric) && gpu_figures_of(p, q->metric)->peak_bytes;
    return q ? 2 * marks_named(p, q) + gpu : 0;
}

/* The program that a process executed next, or NULL. */
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

/* Is `a` a better choice than `b`, which comes earlier in the recording? */
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

/* If several are equal, the program that was started is chosen. */
static const struct profile *choose(const struct recording *r, const struct query *q)
{
    const struct profile *best = answer_program(r);
    int best_suits = suits(best, q);
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        int this_suits = suits(p, q);
        if (is_launcher(r, p) && !this_suits)
            continue;
        if (this_suits > best_suits || (this_suits == best_suits && is_larger(p, best))) {
            best = p;
            best_suits = this_suits;
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
        /* A merge is all of its inputs already. */
        *out = r->profiles.items[0].merge ? r->profiles.items : r->combined;
        return *out ? 0
                    : err_set(err, -EINVAL,
                              "this is known for one process only; --process PID picks it");
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
