#include "answer/json_parts.h"

#include <stdlib.h>
#include <string.h>

#include "model/mapped_by.h"
#include "model/not_recorded.h"
#include "answer/imported.h"
#include "answer/notes.h"
#include "answer/summary.h"
#include "model/sample_sums.h"

#define CPU_PARTS 100 /* parts of a window, at most */

static void json_command(struct json *j, const struct profile *p)
{
    json_array(j, "command");
    for (size_t i = 0; i < p->command.count; i++)
        json_string(j, NULL, p->command.items[i]);
    json_end(j);
}

static void json_pid(struct json *j, const struct profile *p)
{
    json_i64_if(j, "pid", !profile_lacks(p, UNKNOWN_PROCESS), p->pid);
}

static void json_ending(struct json *j, const struct profile *p)
{
    json_i64_if(j, "exit_code", p->exit_code >= 0, p->exit_code);
    json_i64_if(j, "signal", p->signal, p->signal);
    struct strbuf words = {0};
    summary_ending(p, &words);
    json_string(j, "ending", words.data);
    strbuf_release(&words);
}

void json_program(struct json *j, const struct recording *r, const struct profile *p)
{
    json_command(j, p);
    json_pid(j, p);
    if (p->together)
        json_u64(j, "together", p->together);
    json_ending(j, p);
    bool recorded = not_recorded(p, &(size_t){0}) == RECORDED;
    json_bool(j, "complete", r->complete && p->complete && recorded);
    json_u64_if(j, "duration_ns", !profile_lacks(p, UNKNOWN_TIME), p->duration_ns);
    imported_json(j, p);
    if (p->sample_bytes) {
        json_object(j, "sampled");
        json_u64(j, "bytes", p->sample_bytes);
        json_end(j);
    }
}

void json_estimate(struct json *j, const char *key, bool known, struct estimate e)
{
    json_object(j, key);
    if (known) {
        json_i64(j, "low_bytes", e.low);
        json_i64(j, "high_bytes", e.high);
    } else {
        json_null(j, "low_bytes");
        json_null(j, "high_bytes");
    }
    json_end(j);
}

/* Each total with the figures that it needs (enum unknown). */
#define EACH_TOTAL(X)                                                                              \
    X(allocations, UNKNOWN_TOTALS | UNKNOWN_COUNTS)                                                \
    X(frees, UNKNOWN_TOTALS | UNKNOWN_COUNTS | UNKNOWN_LIVE)                                       \
    X(reallocations, UNKNOWN_REALLOCATIONS)                                                        \
    X(bytes_allocated, UNKNOWN_TOTALS)                                                             \
    X(live_blocks, UNKNOWN_LIVE | UNKNOWN_COUNTS)                                                  \
    X(live_bytes, UNKNOWN_LIVE)                                                                    \
    X(peak_bytes, UNKNOWN_PEAK)                                                                    \
    X(peak_time_ns, UNKNOWN_PEAK_TIME | UNKNOWN_TIME)                                              \
    X(temporary_allocations, UNKNOWN_TEMPORARY)                                                    \
    X(unknown_frees, UNKNOWN_LOSSES)                                                               \
    X(lost_events, UNKNOWN_LOSSES)                                                                 \
    X(truncated_stacks, UNKNOWN_LOSSES)                                                            \
    X(incomplete_stacks, UNKNOWN_LOSSES)

void json_totals_as(struct json *j, const char *key, const struct totals *t)
{
#define PUT(member, needed)                                                                        \
    if (t->unknown & (needed) || (t->untimed && strcmp(#member, "peak_time_ns") == 0))             \
        json_null(j, #member);                                                                     \
    else                                                                                           \
        _Generic(t->member, uint64_t : json_u64, int64_t : json_i64)(j, #member, t->member);
    json_object(j, key);
    EACH_TOTAL(PUT)
    json_end(j);
}

void json_totals(struct json *j, const struct totals *t)
{
    json_totals_as(j, "totals", t);
}

void json_totals_change(struct json *j, const struct totals *a, const struct totals *b)
{
#define CHANGE(member, needed)                                                                     \
    json_i64_if(j, #member, !((a->unknown | b->unknown) & (needed)),                               \
                (int64_t)((uint64_t)b->member - (uint64_t)a->member));
    EACH_TOTAL(CHANGE)
}

void json_value_if(struct json *j, const char *key, struct value v, bool counted)
{
    json_object(j, key);
    json_i64(j, "bytes", v.amount);
    json_i64_if(j, "count", counted, v.count);
    json_end(j);
}

void json_value(struct json *j, const char *key, struct value v)
{
    json_value_if(j, key, v, true);
}

static void json_reason(struct json *j, const char *kind, const char *name, struct value v)
{
    json_object(j, NULL);
    json_string(j, "kind", kind);
    json_string(j, "name", name);
    json_i64(j, "bytes", v.amount);
    json_i64(j, "count", v.count);
    json_end(j);
}

void json_ignored(struct json *j, const struct call_tree *t)
{
    json_object(j, "ignored");
    json_i64(j, "bytes", t->ignored.amount);
    json_i64(j, "count", t->ignored.count);
    json_array(j, "by");
    if (!value_is_zero(t->ignored_by[IGNORED_PATTERN]))
        json_reason(j, "ignore", "--ignore", t->ignored_by[IGNORED_PATTERN]);
    for (size_t i = 0; i < t->suppressed.count; i++)
        json_reason(j, "suppression", t->suppressed.items[i].name, t->suppressed.items[i].value);
    for (int i = 0; i < PRESETS; i++)
        if (!value_is_zero(t->presets[i]))
            json_reason(j, "preset", preset_name((enum preset)i), t->presets[i]);
    json_end(j);
    json_end(j);
}

static void json_cpu_over_time(struct json *j, const struct answer *a)
{
    size_t count;
    struct sampled_part *parts = sampled_over_time(a->profile, &a->window, CPU_PARTS, &count);
    json_array(j, "cpu_over_time");
    for (size_t i = 0; i < count; i++) {
        json_object(j, NULL);
        json_u64(j, "end_ns", parts[i].end_ns);
        json_u64(j, "cpu_ns", parts[i].cpu_ns);
        json_end(j);
    }
    json_end(j);
    free(parts);
}

void json_sampling(struct json *j, const struct answer *a)
{
    const struct sampling *g = &a->profile->sampling;
    if (!profile_is_sampled(a->profile))
        return;
    struct sampled_totals t = sampled_totals(a->profile, &a->window, a->query->metric);
    json_object(j, "sampling");
    bool timed = !profile_lacks(a->profile, UNKNOWN_CPU_TIME);
    json_u64_if(j, "cpu_period_ns", timed, g->cpu_period_ns);
    if (g->timer)
        json_string(j, "cpu_source", "timer");
    json_u64_if(j, "cpu_ns", timed, t.cpu_ns);
    json_u64(j, "cpu_samples", t.cpu_samples);
    if (a->query->metric == METRIC_CPU)
        json_cpu_over_time(j, a);
    if (g->kernel) {
        json_u64(j, "cpu_kernel_ns", t.kernel_ns);
        json_u64(j, "cpu_kernel_samples", t.kernel_samples);
        json_string(j, "cpu_kernel", g->kernel == KERNEL_SAMPLED ? "sampled" : "estimated");
    }
    if (g->wall) {
        json_u64(j, "waiting_ns", t.waiting_ns);
        json_u64(j, "waits", t.waits);
        json_u64(j, "ready_ns", t.ready_ns);
    }
    json_u64(j, "fault_period", g->fault_period);
    json_u64(j, "faults", t.faults);
    json_u64(j, "fault_bytes", t.fault_bytes);
    json_u64(j, "huge_faults", t.huge_faults);
    json_u64(j, "file_faults", t.file_faults);
    json_u64(j, "copy_faults", t.copy_faults);
    json_u64(j, "touched_faults", t.touched);
    json_u64(j, "touched_bytes", t.touched_bytes);
    json_u64(j, "truncated_stacks", t.truncated_stacks);
    json_u64(j, "incomplete_stacks", t.incomplete_stacks);
    json_u64(j, "lost_samples", a->recording->profiles.items[0].sampling.lost);
    if (g->counted) {
        json_object(j, "kernel");
        json_u64(j, "user_ns", g->user_ns);
        json_u64(j, "system_ns", g->system_ns);
        json_u64(j, "minor_faults", g->minor_faults);
        json_u64(j, "major_faults", g->major_faults);
        json_end(j);
    }
    json_end(j);
}

void json_inherited(struct json *j, const struct profile *p)
{
    if (!p->inherited.parent)
        return;
    json_object(j, "inherited");
    json_u64(j, "from", p->inherited.parent);
    json_u64(j, "blocks", p->inherited.blocks);
    json_u64(j, "bytes", p->inherited.bytes);
    json_u64(j, "freed_blocks", p->inherited.freed_blocks);
    json_u64(j, "freed_bytes", p->inherited.freed_bytes);
    json_end(j);
}

void json_attached(struct json *j, const struct profile *p)
{
    const struct attached_before *a = &p->attached;
    if (!a->is)
        return;
    json_object(j, "attached");
    json_bool(j, "detached", a->detached);
    json_bool(j, "before_known", a->before == BEFORE_KNOWN);
    if (a->before != BEFORE_KNOWN)
        json_string(j, "before_unknown", summary_before_unknown(a));
    json_u64(j, "before_blocks", a->before_blocks);
    json_u64(j, "before_bytes", a->before_bytes);
    json_u64(j, "before_frees", a->frees);
    /* Their types are not known. */
    if (a->reach.known) {
        json_object(j, "before_reachability");
        json_u64(j, "blocks", a->reach.blocks);
        json_u64(j, "bytes", a->reach.bytes);
        json_u64(j, "lost_blocks", a->reach.lost_blocks);
        json_u64(j, "lost_bytes", a->reach.lost_bytes);
        json_end(j);
    } else {
        json_string(j, "before_reachability", NULL);
    }
    json_string(j, "before_types", NULL);
    json_end(j);
}

void json_mapped(struct json *j, const struct profile *p)
{
    struct mapped_by m = mapped_by(p);
    if (!m.module)
        return;
    json_object(j, "mapped_by");
    json_string(j, "module", m.module);
    json_u64(j, "bytes", m.bytes);
    json_u64(j, "rss_bytes", m.rss_bytes);
    json_u64(j, "heap_bytes", m.heap_bytes);
    json_u64(j, "time_ns", m.time_ns);
    json_end(j);
}

void json_processes(struct json *j, const struct recording *r, const struct profile *p)
{
    json_array(j, "processes");
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *q = &r->profiles.items[i];
        json_object(j, NULL);
        json_pid(j, q);
        json_i64_if(j, "ppid", !q->imported.from, q->ppid);
        json_command(j, q);
        json_ending(j, q);
        json_u64_if(j, "peak_bytes", !profile_lacks(q, UNKNOWN_PEAK), q->peak_bytes);
        json_u64_if(j, "memory_peak_bytes", !q->imported.from, profile_memory(q));
        struct sampled_totals t = sampled_whole(q);
        if (q->sampling.cpu_period_ns)
            json_u64_if(j, "cpu_ns", !profile_lacks(q, UNKNOWN_CPU_TIME), t.cpu_ns);
        if (q->sampling.fault_period)
            json_u64(j, "faults", t.faults);
        json_end(j);
    }
    json_end(j);
    json_array(j, "notes");
    struct notes notes;
    notes_init(&notes, r, p);
    for (size_t i = 0; i < notes.texts.count; i++)
        json_string(j, NULL, notes.texts.items[i]);
    notes_release(&notes);
    if (r->incomplete)
        json_string(j, NULL, r->incomplete);
    json_end(j);
}

static const char *kind_name(enum frame_kind kind)
{
    return kind == FRAME_INLINED ? "inlined" : kind == FRAME_PYTHON ? "python" : "native";
}

static struct frame_text frame_text(struct json_stacks *s, uint32_t number)
{
    const struct frame_table *t = s->frames;
    if (!s->made)
        s->made = xcalloc(t->frames.count + 1, sizeof *s->made);
    struct frame_text *text = &s->made[number];
    if (text->size)
        return *text;
    const struct call_frame *f = &t->frames.items[number];
    struct json j;
    json_init(&j, &s->text);
    text->start = s->text.size;
    json_object(&j, NULL);
    json_string(&j, "function", frame_table_string(t, f->name));
    json_string(&j, "module", frame_table_known(t, f->module));
    json_string(&j, "file", frame_table_known(t, f->file));
    json_i64_if(&j, "line", f->line, f->line);
    json_string(&j, "kind", kind_name((enum frame_kind)f->kind));
    strbuf_putc(&s->text, '}'); /* not json_end, which ends a document with a newline */
    text->size = s->text.size - text->start;
    return *text;
}

void json_frames(struct json *j, struct json_stacks *s, const uint32_t *parent,
                 const uint32_t *frame, uint32_t node)
{
    json_array(j, "stack");
    for (uint32_t n = node; n; n = parent[n]) {
        struct frame_text text = frame_text(s, frame[n]);
        if (n != node)
            strbuf_putc(j->out, ',');
        strbuf_add(j->out, s->text.data + text.start, text.size);
    }
    json_end(j);
}

void json_stack(struct json *j, struct json_stacks *s, const struct merged *m, uint32_t node)
{
    json_frames(j, s, m->parent.items, m->key.items, node);
}

void json_stacks_release(struct json_stacks *s)
{
    strbuf_release(&s->text);
    free(s->made);
    *s = (struct json_stacks){.frames = s->frames};
}
