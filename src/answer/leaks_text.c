/* What was never freed, as text: an answer, a summary, entries with their stacks. */
#include <string.h>

#include "base/say.h"
#include "answer/leaks.h"
#include "answer/location.h"
#include "answer/next_command.h"
#include "answer/stack_text.h"
#include "answer/summary.h"
#include "base/units.h"
#include "answer/wrap.h"

#define STACK_FRAMES    8 /* lines shown of one stack */
#define FLAWS_AND_NOTES 2 /* lines to keep free for these */

/* --- the summary ------------------------------------------------------------------------------ */

static void line_scan(const struct leaks *l, const struct style *s, struct strbuf *out)
{
    static const char *const when[SCAN_KINDS] = {
        [SCAN_ASKED] = ", on request",
        [SCAN_EXIT] = ", when the program began to end and before destructors ran",
        [SCAN_END] = " of the run",
    };
    size_t start = summary_begin(out, s, "state");
    if (l->profile->merge) {
        say(out, "of each input at its %r",
            l->scan->kind == SCAN_EXIT ? "exit, before destructors ran" : "end");
        summary_end(out, s, start);
        return;
    }
    strbuf_puts(out, "at ");
    leak_scan_name(l->profile, l->scan, out);
    if (!profile_lacks(l->profile, UNKNOWN_TIME))
        say(out, " (%T)", l->scan->time_ns);
    strbuf_puts(out, l->scan->kind == SCAN_EXIT && l->profile->attached.detached
                         ? ", before tidemark detached"
                         : when[l->scan->kind]);
    if (l->scan->held_ns)
        say(out, "; the program was stopped for %T", l->scan->held_ns);
    summary_end(out, s, start);
}

static void line_age(const struct leaks *l, const struct style *s, struct strbuf *out)
{
    bool since = l->question->query.since, older = l->question->older_ns;
    if (!since && !older)
        return;
    summary_label(out, s, "only");
    strbuf_puts(out, since ? "blocks allocated after " : "blocks allocated ");
    if (since)
        summary_moment(out, &l->since);
    if (older)
        say(out, "%rat least %T before that", since ? " and " : "", l->question->older_ns);
    strbuf_putc(out, '\n');
}

/* Mentions an earlier scan that could classify blocks. */
static void add_earlier(const struct leaks *l, struct strbuf *out)
{
    const struct profile *p = l->profile;
    for (size_t i = p->scans.count; i-- > 0;) {
        const struct scan *s = &p->scans.items[i];
        if (s < l->scan && s->row_count && !s->unreachable &&
            p->live.items[s->first_row].reach != REACH_UNKNOWN) {
            strbuf_puts(out, "; --at ");
            leak_scan_name(p, s, out);
            strbuf_puts(out, " shows what was known then");
            return;
        }
    }
}

static void line_kind(const struct leaks *l, const struct style *s, const char *label,
                      enum reach kind, const char *meaning, struct strbuf *out)
{
    const struct leak_sum *sum = &l->sums[kind];
    if (!sum->places)
        return;
    size_t start = summary_begin(out, s, label);
    say(out, "%B in %N block(s) from %N stack(s)%r", sum->bytes, sum->blocks, sum->places, meaning);
    if (kind == REACH_UNKNOWN) {
        bool doubted = leak_scan_doubts(l->profile, l->scan);
        say(out, "%s",
            l->scan->unreachable ? l->scan->unreachable
            : doubted            ? "their owners were freed before the leak scan"
                                 : "allocated after the last leak scan");
        if (!doubted)
            add_earlier(l, out);
    }
    if (kind == REACH_REACHABLE && l->growing.places)
        say(out, "; %B of it grew through the whole run", l->growing.bytes);
    if (kind == REACH_REACHABLE && !(l->question->kinds & LEAKS_OF(kind)))
        strbuf_puts(out, "; --all lists them");
    summary_end(out, s, start);
}

static bool lost_nothing(const struct leaks *l)
{
    return !l->sums[REACH_LOST].places && !l->sums[REACH_INDIRECT].places &&
           !l->sums[REACH_UNKNOWN].places;
}

/* Reports count CPython's arenas as live memory, so they are mentioned. */
static void line_arenas(const struct leaks *l, const struct style *s, struct strbuf *out)
{
    struct value arenas = leaks_arenas(l);
    if (arenas.amount > 0)
        summary_line(
            out, s, "python",
            "%B in %N arena(s) for small objects are live as well; --python=objects of run "
            "records these objects",
            arenas.amount, arenas.count);
}

static void add_summary(const struct leaks *l, const struct style *s, struct strbuf *out)
{
    size_t start = out->size;
    summary_program(l->profile, s, out);
    line_scan(l, s, out);
    line_age(l, s, out);
    if (summary_not_recorded(l->profile, s, out) == RECORDED_NOTHING) {
        summary_notes(l->recording, l->profile, s, start, out);
        return;
    }
    if (lost_nothing(l))
        summary_line(out, s, "lost", "nothing was lost%r",
                     l->all.blocks ? ""
                     : value_is_zero(l->left_out.ignored_by[IGNORED_PRESET])
                         ? ", and nothing is left"
                         : ", and nothing else is left");
    line_kind(l, s, "lost", REACH_LOST, ": nothing points to them any more", out);
    line_kind(l, s, "indirect", REACH_INDIRECT, ": only lost blocks point to them", out);
    line_kind(l, s, "unknown", REACH_UNKNOWN, ", unclassified: ", out);
    line_kind(l, s, "reachable", REACH_REACHABLE, ": something still points to them", out);
    if (l->freed.places) {
        summary_label(out, s, "at exit");
        say(out, "%B in %N block(s)%r were freed as the program ended%r\n", l->freed.bytes,
            l->freed.blocks, l->scan->kind == SCAN_EXIT ? " of these" : " more",
            l->question->freed ? "" : "; --freed-at-exit lists them");
    }
    line_arenas(l, s, out);
    summary_attached(l->profile, s, out);
    struct leak_others others = leaks_of_others(l, 0);
    if (others.processes)
        summary_line(out, s, "others",
                     "%N other process(es) lost %B in %N block(s), not in the figures above; "
                     "--process %d shows the one that lost most",
                     others.processes, others.bytes, others.blocks, others.pid);
    const struct value *outside = &l->left_out.outside;
    size_t room = summary_room(out, start), later = FLAWS_AND_NOTES + !value_is_zero(*outside);
    summary_ignored(&l->left_out, &l->frames, METRIC_LIVE, s, room > later ? room - later : 1, out);
    if (!value_is_zero(*outside))
        summary_line(out, s, "outside",
                     "%B in %N block(s) not matching the filters, not in the figures above",
                     outside->amount, outside->count);
    if (l->may_match.blocks)
        summary_line(out, s, "may match",
                     "%B in %N block(s) of these: their stacks were cut off, and the missing "
                     "frames may match the filters; --fail counts them",
                     l->may_match.bytes, l->may_match.blocks);
    summary_flaws(l->recording, l->profile, &l->totals, s, out);
    summary_notes(l->recording, l->profile, s, start, out);
}

/* --- the entries ------------------------------------------------------------------------------ */

/* How many have it, of all processes together. One that executes a program counts for both. */
static void add_processes(const struct leaks *l, const struct leak *e, struct strbuf *out)
{
    const struct recording *r = l->frames.recording;
    if (e->processes)
        say(out, ", in %d of %N %r", e->processes, l->profile->together,
            summary_process_count(r) < r->profiles.count ? "programs"
            : l->profile->together == 1                  ? "process"
                                                         : "processes");
}

static void add_times(const struct leaks *l, const struct leak *e, bool residency,
                      struct strbuf *out)
{
    if (l->profile->merge) /* a merge does not keep when blocks were allocated */
        strbuf_puts(out, "sum over all inputs");
    else if (l->profile->imported.from)
        strbuf_puts(out, "allocated at a time not known");
    else if (e->blocks > 1 && e->last_ns != e->first_ns)
        say(out, "first at %T, last at %T%r", e->first_ns, e->last_ns,
            leak_grew(e) ? ": grew through the whole run" : "");
    else
        say(out, "allocated at %T", e->first_ns);
    say(out, "; thread %s", e->thread && *e->thread ? e->thread : "[unknown]");
    if (e->threads > 1)
        say(out, " and %d more", e->threads - 1);
    add_processes(l, e, out);
    if (residency && e->untouched)
        say(out, "; %B never touched", e->untouched);
}

static void add_list(const struct leaks *l, const struct leak_list *list, const char *kind,
                     const struct style *s, struct strbuf *out)
{
    for (size_t i = 0; i < list->leaks.count; i++) {
        const struct leak *e = &list->leaks.items[i];
        size_t start = out->size;
        say(out, "%r%d. %r: %B%r in %N block(s)", style_bold(s), i + 1,
            kind ? kind : leak_kind_name(e->kind), e->bytes + e->led_bytes, style_plain(s),
            e->blocks + e->led_blocks);
        if (e->led_blocks)
            say(out, ": %N block(s)", e->blocks);
        if (e->blocks && (e->blocks > 1 || e->led_blocks))
            say(out, " of %B%r", e->bytes / e->blocks, e->bytes % e->blocks ? " on average" : "");
        if (e->led_blocks)
            say(out, ", and %B that only %r to", e->led_bytes,
                e->blocks == 1 ? "this block leads" : "these blocks lead");
        wrap_since(out, start, 4, s->width);
        strbuf_putc(out, '\n');
        start = out->size;
        say(out, "    %r", style_faint(s));
        add_times(l, e, l->scan->residency && !kind, out);
        wrap_since(out, start, 4, s->width);
        say(out, "%r\n", style_plain(s));
        stack_text(&l->frames, e->tree, e->node, STACK_FRAMES, s, out);
        strbuf_putc(out, '\n');
    }
    if (list->left_out.places)
        say(out,
            "... %N more stack(s) with %B in %N block(s); --top 0 --min 0 shows all\n"
            "\n",
            list->left_out.places, list->left_out.bytes, list->left_out.blocks);
}

/* --- the suggested command -------------------------------------------------------------------- */

/* Is all its memory in mappings of its own? */
static bool has_only_mapped(const struct profile *p)
{
    bool mapped = false;
    for (size_t i = 0; i < p->sites.count && !p->peak_bytes; i++)
        mapped |= p->sites.items[i].domain == DOMAIN_MAPPED;
    return mapped;
}

static void add_next(const struct leaks *l, const char *file, const struct style *s,
                     struct strbuf *out)
{
    const struct leak *first = l->list.leaks.count ? &l->list.leaks.items[0] : NULL;
    const struct query *q = &l->question->query;
    strbuf_puts(out, style_faint(s));
    size_t start = out->size;
    if (first && (first->kind == REACH_LOST || first->kind == REACH_INDIRECT)) {
        const struct call_frame *f = &l->frames.frames.items[first->tree->key.items[first->node]];
        strbuf_puts(out, "next: find the code that should free what ");
        location_bare_name(out, frame_table_string(&l->frames, f->name), SIZE_MAX);
        strbuf_puts(out, " allocates; --ignore leaves out what is meant to stay");
    } else if (first && first->kind == REACH_UNKNOWN) {
        strbuf_puts(out, "next: this list includes blocks that are kept on purpose; --ignore REGEX "
                         "leaves them out, --older DURATION leaves out young blocks");
    } else {
        bool more = !first && l->all.blocks;
        strbuf_printf(out, "next: tidemark %s ", more ? "leaks" : "report");
        next_file(out, file);
        next_option(out, "--process", q->process);
        strbuf_puts(out, more                          ? " --all"
                         : has_only_mapped(l->profile) ? " --metric mapped"
                                                       : " --metric peak");
    }
    wrap_since(out, start, 6, s->width);
    strbuf_printf(out, "%s\n", style_plain(s));
}

/* --- the answer ------------------------------------------------------------------------------- */

/* The most informative function: a Python one if there is any, otherwise one with a known
 * source. */
static const struct call_frame *most_informative_frame(const struct leaks *l, const struct leak *e)
{
    const struct call_frame *innermost = &l->frames.frames.items[e->tree->key.items[e->node]];
    const struct call_frame *known = NULL;
    for (uint32_t n = e->node; n; n = e->tree->parent.items[n]) {
        const struct call_frame *f = &l->frames.frames.items[e->tree->key.items[n]];
        if (f->flags & CALL_PYTHON)
            return f;
        if (!known && f->file && !(f->flags & CALL_STD) && !frame_is_of_libc(&l->frames, f))
            known = f;
    }
    return known ? known : innermost;
}

static void add_first(const struct leaks *l, uint64_t lost, struct strbuf *out)
{
    const struct leak *e = l->list.leaks.count ? &l->list.leaks.items[0] : NULL;
    if (!e || e->kind != REACH_LOST)
        return;
    const struct call_frame *f = most_informative_frame(l, e);
    uint64_t bytes = e->bytes + e->led_bytes;
    strbuf_puts(out, ", ");
    if (bytes < lost)
        unit_bytes(out, (int64_t)bytes);
    strbuf_puts(out, bytes < lost ? " of it by " : "all by ");
    location_bare_name(out, frame_table_string(&l->frames, f->name), SIZE_MAX);
    strbuf_puts(out, f->file ? " " : "");
    location_put(out, location_file(&l->frames, f), f->line, NULL);
    add_processes(l, e, out);
}

/* One sentence: what was lost, and who lost most. */
static void add_answer(const struct leaks *l, const struct style *s, struct strbuf *out)
{
    const struct leak_sum *lost = &l->sums[REACH_LOST], *indirect = &l->sums[REACH_INDIRECT];
    uint64_t bytes = lost->bytes + indirect->bytes, blocks = lost->blocks + indirect->blocks;
    struct strbuf text = {0};
    if (not_recorded(l->profile, &(size_t){0}) == RECORDED_NOTHING)
        return;
    if (blocks) {
        say(&text, "%B in %N block(s) %r lost", bytes, blocks, blocks == 1 ? "was" : "were");
        add_first(l, bytes, &text);
        strbuf_putc(&text, '.');
    } else if (l->sums[REACH_UNKNOWN].blocks && leak_scan_doubts(l->profile, l->scan)) {
        say(&text, "Nothing is known to be lost; for %B in %N block(s) it is not known.",
            l->sums[REACH_UNKNOWN].bytes, l->sums[REACH_UNKNOWN].blocks);
    } else if (l->sums[REACH_UNKNOWN].blocks && !l->scan->unreachable &&
               l->sums[REACH_REACHABLE].blocks) {
        say(&text, "Nothing was lost of what was allocated %r the last leak scan.",
            l->profile->attached.is ? "between the attach and" : "before");
    } else if (l->sums[REACH_UNKNOWN].blocks) {
        strbuf_puts(&text, "Whether anything was lost is not known.");
    } else if (l->may_match.blocks) {
        say(&text,
            "Nothing was lost that is known to match; %B in %N block(s) might match: their stacks "
            "were cut off.",
            l->may_match.bytes, l->may_match.blocks);
    } else {
        say(&text, "Nothing was lost%r.",
            l->profile->attached.is ? " of what was allocated since the attach" : "");
    }
    wrap_text("", text.data, s->width, out);
    strbuf_putc(out, '\n');
    strbuf_release(&text);
}

void leaks_text(const struct leaks *l, const char *file, const struct style *s, struct strbuf *out)
{
    add_answer(l, s, out);
    summary_processes(l->recording, l->profile, s, out);
    add_summary(l, s, out);
    strbuf_putc(out, '\n');
    add_list(l, &l->list, NULL, s, out);
    add_list(l, &l->freed_list, "freed at exit", s, out);
    add_next(l, file, s, out);
}
