#include "model/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "model/merge_intervals.h"
#include "model/combined_profile.h"
#include "model/measure.h"
#include "model/merge_state.h"
#include "model/process_choice.h"
#include "model/sample_sums.h"

#define NOTES_MOST 64 /* the first ones in alphabetical order */

struct merging {
    struct merge_code code;
    struct merge_figures figures;
    struct merge_spreads spreads;
    struct merge *inputs; /* in the order in which they were added */
    struct strpool processes;
    struct map of_process;      /* process -> its input */
    struct profile sum;         /* what needs no matching: peak, sampling, command */
    VEC(char *) notes;          /* sorted */
    struct recording *defaults; /* filters of `run` that all inputs share */
    bool any, python_without_objects;
};

struct merging *merging_new(void)
{
    struct merging *m = xcalloc(1, sizeof *m);
    merge_code_init(&m->code);
    merge_figures_init(&m->figures);
    m->inputs = merge_new();
    m->defaults = recording_new();
    m->sum.sampling = (struct sampling){.alone = true, .counted = true};
    return m;
}

void merging_free(struct merging *m)
{
    if (!m)
        return;
    merge_code_release(&m->code);
    merge_figures_release(&m->figures);
    merge_spreads_release(&m->spreads);
    merge_free(m->inputs);
    strpool_release(&m->processes);
    map_release(&m->of_process);
    profile_release(&m->sum);
    for (size_t i = 0; i < m->notes.count; i++)
        free(m->notes.items[i]);
    vec_release(&m->notes);
    recording_free(m->defaults);
    free(m);
}

/* --- inputs ----------------------------------------------------------------------------------- */

static struct merge_input input_of(const struct recording *r, const struct profile *p,
                                   const char *file)
{
    const struct profile *program = answer_program(r);
    struct window whole = {.at = {.intervals = p->intervals.count}};
    struct totals t = totals_of(p, &whole);
    struct sampled_totals s = sampled_whole(p);
    const char *name = program->command.count ? program->command.items[0] : program->executable;
    struct merge_input in = {.label = program->rank1 ? xasprintf("rank %u", program->rank1 - 1)
                                                     : xstrdup(file),
                             .file = xstrdup(file),
                             .host = xstrdup(program->host ? program->host : ""),
                             .program = xstrdup(name ? path_base(name) : ""),
                             .rank1 = program->rank1,
                             .pid = program->pid,
                             .processes = (uint32_t)r->profiles.count,
                             .start_unix_ns = r->profiles.items[0].start_unix_ns,
                             .duration_ns = p->duration_ns,
                             .exit_code = program->exit_code,
                             .signal = program->signal,
                             .complete = r->complete && p->complete,
                             .values = {[INPUT_ALLOCATIONS] = (uint64_t)t.allocations,
                                        [INPUT_FREES] = (uint64_t)t.frees,
                                        [INPUT_REALLOCATIONS] = (uint64_t)t.reallocations,
                                        [INPUT_BYTES_ALLOCATED] = (uint64_t)t.bytes_allocated,
                                        [INPUT_LIVE_BLOCKS] = (uint64_t)t.live_blocks,
                                        [INPUT_LIVE_BYTES] = (uint64_t)t.live_bytes,
                                        [INPUT_PEAK_BYTES] = t.peak_bytes,
                                        [INPUT_TEMPORARY] = (uint64_t)t.temporary_allocations,
                                        [INPUT_UNKNOWN_FREES] = t.unknown_frees,
                                        [INPUT_LOST_EVENTS] = t.lost_events,
                                        [INPUT_TRUNCATED] = t.truncated_stacks,
                                        [INPUT_INCOMPLETE] = t.incomplete_stacks,
                                        [INPUT_CPU_NS] = s.cpu_ns,
                                        [INPUT_FAULT_BYTES] = s.fault_bytes}};
    return in;
}

static struct merge_input input_copy(const struct merge_input *from)
{
    struct merge_input in = *from;
    in.label = xstrdup(from->label);
    in.file = xstrdup(from->file);
    in.host = xstrdup(from->host);
    in.program = xstrdup(from->program);
    return in;
}

/* Refuses a recording that was added before: it would count twice. */
static int check_new(struct merging *m, const struct merge_input *in, size_t number,
                     struct err *err)
{
    char *key = xasprintf("%u %llu %s", in->pid, (unsigned long long)in->start_unix_ns, in->host);
    uint32_t *of = map_at(&m->of_process, strpool_add(&m->processes, key));
    free(key);
    if (*of == MAP_NONE) {
        *of = (uint32_t)number;
        return 0;
    }
    const char *before =
        *of < m->inputs->inputs.count ? m->inputs->inputs.items[*of].file : in->file;
    return err_set(err, -EEXIST,
                   "%s and %s are recordings of the same process (%u on %s): merged, it would "
                   "count twice",
                   before, in->file, in->pid, in->host);
}

static int take_inputs(struct merging *m, const struct recording *r, const struct profile *p,
                       const char *file, struct err *err)
{
    size_t first = m->inputs->inputs.count;
    int code = 0;
    if (!p->merge) {
        struct merge_input in = input_of(r, p, file);
        code = check_new(m, &in, first, err);
        if (code)
            merge_input_release(&in);
        else
            *vec_push(&m->inputs->inputs) = in;
        return code;
    }
    for (size_t i = 0; i < p->merge->inputs.count && !code; i++)
        code = check_new(m, &p->merge->inputs.items[i], first + i, err);
    for (size_t i = 0; i < p->merge->inputs.count && !code; i++)
        *vec_push(&m->inputs->inputs) = input_copy(&p->merge->inputs.items[i]);
    m->inputs->filters_differ |= p->merge->filters_differ;
    return code;
}

/* --- figures without matching ----------------------------------------------------------------- */

void merging_note(struct merging *m, const char *text)
{
    size_t at;
    BISECT(at, m->notes.count, strcmp(m->notes.items[at], text) < 0);
    if (at < m->notes.count && strcmp(m->notes.items[at], text) == 0)
        return;
    char *last = xstrdup(text);
    *vec_push(&m->notes) = NULL;
    memmove(&m->notes.items[at + 1], &m->notes.items[at],
            (m->notes.count - 1 - at) * sizeof *m->notes.items);
    m->notes.items[at] = last;
    if (m->notes.count > NOTES_MOST)
        free(m->notes.items[--m->notes.count]);
}

static bool has_default(const struct recording *r, const struct recorded_default *d)
{
    for (size_t i = 0; i < r->defaults.count; i++) {
        const struct recorded_default *k = &r->defaults.items[i];
        if (k->kind == d->kind && strcmp(k->name, d->name) == 0 && strcmp(k->text, d->text) == 0)
            return true;
    }
    return false;
}

static void take_defaults(struct merging *m, const struct recording *r)
{
    struct recording *kept = recording_new();
    const struct recording *from = m->any ? m->defaults : r;
    for (size_t i = 0; i < from->defaults.count; i++) {
        const struct recorded_default *d = &from->defaults.items[i];
        if (has_default(r, d) && !has_default(kept, d))
            *vec_push(&kept->defaults) =
                (struct recorded_default){d->kind, xstrdup(d->name), xstrdup(d->text)};
    }
    for (size_t i = 0; i < r->defaults.count; i++)
        m->inputs->filters_differ |= !has_default(kept, &r->defaults.items[i]);
    m->inputs->filters_differ |= m->any && kept->defaults.count < m->defaults->defaults.count;
    recording_free(m->defaults);
    m->defaults = kept;
}

static int order_of_commands(const struct profile *a, const struct profile *b)
{
    size_t i = 0;
    for (; i < a->command.count && i < b->command.count; i++) {
        int order = strcmp(a->command.items[i], b->command.items[i]);
        if (order)
            return order;
    }
    return (a->command.count > b->command.count) - (a->command.count < b->command.count);
}

/* The alphabetically first command stands for all. */
static void take_command(struct merging *m, const struct profile *p)
{
    struct profile *sum = &m->sum;
    int order = order_of_commands(p, sum);
    const char *executable = p->executable ? p->executable : "";
    if (m->any && (order > 0 || (!order && strcmp(executable, sum->executable) >= 0)))
        return;
    for (size_t i = 0; i < sum->command.count; i++)
        free(sum->command.items[i]);
    sum->command.count = 0;
    for (size_t i = 0; i < p->command.count; i++)
        *vec_push(&sum->command) = xstrdup(p->command.items[i]);
    free(sum->executable);
    sum->executable = xstrdup(executable);
}

#define HIGHEST(into, from) (into) = (from) > (into) ? (from) : (into)

static void take_sums(struct merging *m, const struct profile *p)
{
    struct profile *sum = &m->sum;
    struct sampling *to = &sum->sampling;
    const struct sampling *from = &p->sampling;
    sum->peak_bytes += p->peak_bytes;
    sum->peak_skew_bytes += p->peak_skew_bytes;
    sum->memory_peak_bytes += p->memory_peak_bytes;
    sum->waits += p->waits;
    for (int view = 0; view < GPU_VIEWS; view++) {
        sum->gpu[view].known |= p->gpu[view].known;
        sum->gpu[view].peak_bytes += p->gpu[view].peak_bytes;
        sum->gpu[view].peak_blocks += p->gpu[view].peak_blocks;
    }
    /* The bound of each input's error bounds the whole. */
    HIGHEST(sum->sample_bytes, p->sample_bytes);
    HIGHEST(sum->python_version, p->python_version);
    m->python_without_objects |= p->python_version && !p->python_objects;
    to->alone &= from->alone;
    to->wall |= from->wall;
    to->counted &= from->counted;
    HIGHEST(to->kernel, from->kernel);
    HIGHEST(to->cpu_period_ns, from->cpu_period_ns);
    HIGHEST(to->fault_period, from->fault_period);
    to->lost += from->lost;
    to->user_ns += from->user_ns;
    to->system_ns += from->system_ns;
    to->minor_faults += from->minor_faults;
    to->major_faults += from->major_faults;
}

int merging_add(struct merging *m, struct recording *r, const char *file, struct err *err)
{
    size_t first = m->inputs->inputs.count;
    const struct profile *p = r->profiles.items;
    int code = 0;
    if (p->imported.from)
        return err_set(err, -ENODATA,
                       "%s was imported from %.100s: what it does not know cannot be summed up",
                       file, p->imported.from);
    if (r->profiles.count > 1) {
        code = combined_profile_make(r, err);
        p = r->combined;
    }
    if (!code && !p->merge)
        profile_merge_intervals(r->combined ? r->combined : r->profiles.items);
    if (!code)
        code = take_inputs(m, r, p, file, err);
    if (code)
        return code;
    struct merge_source s = {.recording = r, .profile = p};
    size_t strings = r->strings.strings.count + 1;
    s.string = xmalloc(strings * sizeof *s.string);
    memset(s.string, 0xff, strings * sizeof *s.string);
    merge_code_add(&m->code, &s);
    merge_figures_add(&m->figures, &s);
    if (p->merge)
        merge_spreads_join(&m->spreads, p->merge, m->inputs, first);
    else
        merge_spreads_measure(&m->spreads, r, p, m->inputs);
    take_defaults(m, r);
    take_command(m, p->merge ? p : answer_program(r));
    take_sums(m, p);
    for (size_t i = 0; i < p->notes.count; i++)
        merging_note(m, p->notes.items[i]);
    m->any = true;
    map_release(&s.place);
    free(s.string);
    free(s.node);
    free(s.thread);
    free(s.site);
    return 0;
}

/* --- the result ------------------------------------------------------------------------------- */

static const struct merge_input *sorted_inputs; /* qsort has no context */

static int in_order(const void *a, const void *b)
{
    return merge_input_order(&sorted_inputs[*(const uint32_t *)a],
                             &sorted_inputs[*(const uint32_t *)b]);
}

/* Moves the inputs into the result; `place`: the final index of each. */
static void finish_inputs(struct merging *m, struct profile *p, uint32_t *place)
{
    size_t count = m->inputs->inputs.count;
    const struct merge_input *items = sorted_inputs = m->inputs->inputs.items;
    uint32_t *order = xcalloc(count, sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    qsort(order, count, sizeof *order, in_order);
    p->merge = merge_new();
    p->merge->filters_differ = m->inputs->filters_differ;
    p->together = (uint32_t)count;
    p->start_unix_ns = UINT64_MAX;
    p->complete = true;
    p->exit_code = -1;
    bool same_host = true;
    for (size_t i = 0; i < count; i++) {
        const struct merge_input *in = &items[order[i]];
        place[order[i]] = (uint32_t)i;
        *vec_push(&p->merge->inputs) = input_copy(in);
        HIGHEST(p->duration_ns, in->duration_ns);
        HIGHEST(p->exit_code, in->exit_code);
        HIGHEST(p->signal, in->signal);
        if (in->start_unix_ns < p->start_unix_ns)
            p->start_unix_ns = in->start_unix_ns;
        p->complete &= in->complete;
        same_host &= strcmp(in->host, items[0].host) == 0;
    }
    p->host = xstrdup(same_host ? items[0].host : "");
    if (p->signal)
        p->exit_code = -1;
    free(order);
}

static int order_of_defaults(const void *a, const void *b)
{
    const struct recorded_default *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->text, y->text);
}

struct recording *merging_finish(struct merging *m)
{
    if (!m->any)
        return NULL;
    struct recording *r = recording_new();
    struct profile *p = vec_push(&r->profiles);
    uint32_t *place = xcalloc(m->inputs->inputs.count + 1, sizeof *place);
    uint32_t *node = xcalloc(m->code.nodes.count + 1, sizeof *node);
    *p = m->sum; /* including what it owns */
    m->sum = (struct profile){0};
    p->python_objects = p->python_version && !m->python_without_objects;
    finish_inputs(m, p, place);
    merge_code_finish(&m->code, r, p, node);
    merge_figures_finish(&m->figures, p, node);
    merge_spreads_finish(&m->spreads, place, p->merge);
    for (size_t i = 0; i < m->notes.count; i++)
        *vec_push(&p->notes) = xstrdup(m->notes.items[i]);
    struct recording *defaults = m->defaults;
    for (size_t i = 0; i < defaults->defaults.count; i++)
        *vec_push(&r->defaults) = defaults->defaults.items[i]; /* including what they own */
    defaults->defaults.count = 0;
    if (r->defaults.count)
        qsort(r->defaults.items, r->defaults.count, sizeof *r->defaults.items, order_of_defaults);
    r->complete = true;
    free(place);
    free(node);
    return r;
}
