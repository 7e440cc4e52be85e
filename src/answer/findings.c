#include "answer/next.h"
#include "base/say.h"
#include "answer/findings.h"

#include <inttypes.h>

#include "analyse/own_lines.h"
#include "answer/json_parts.h"
#include "answer/summary.h"
#include "answer/units.h"
#include "answer/wrap.h"

/* Is anything known of the process that reports open on? */
static bool is_recorded(const struct findings_all *all)
{
    const struct profile *p = findings_chosen(all)->places.total.profile;
    return not_recorded(p, &(size_t){0}) != RECORDED_NOTHING;
}

static bool is_clean(const struct findings_all *all)
{
    return !all->list.count && !all->cut_lost_blocks && is_recorded(all);
}

/* Why nothing was found in the process that reports open on. */
static void clean_reason(const struct findings_all *all, struct strbuf *out)
{
    const struct findings *f = findings_chosen(all);
    const struct findings_basis *b = &f->basis;
    if (all->recording->profiles.count > 1 && !f->places.total.profile->together)
        strbuf_printf(out, "process %" PRIu32 ": ", f->places.total.profile->pid);
    say(out, "peak %B", b->peak_bytes);
    if (b->reach_known) {
        say(out, "; of %N block(s) left at the end %N%r%B)", b->blocks_checked, b->lost_blocks,
            b->lost_blocks == 1 ? " was lost (" : " were lost (", b->lost_bytes);
    } else {
        strbuf_puts(out, "; blocks are not classified as lost or reachable");
    }
    say(out, "%r; temporary blocks take about ",
        b->growth_known ? "; no function grew throughout the run"
                        : "; whether a function grew throughout the run is not known (too few "
                          "moments to compare)");
    unit_percent(out, b->temporary_share, 1);
    strbuf_puts(out, " % of the time; rounding takes ");
    unit_percent(out, b->overhead_share, 1);
    strbuf_puts(out, " % of the heap");
    if (b->residency_known) {
        say(out, "; %B were never touched", b->untouched_bytes);
    }
    if (all->looked > 1) {
        strbuf_puts(out, "; the other ");
        if (all->looked == 2)
            strbuf_puts(out, "process");
        else
            unit_counted(out, (int64_t)all->looked - 1, "process");
        say(out, " lost %B", wrapped_less(all->lost_bytes, b->lost_bytes));
        if (is_clean(all))
            strbuf_printf(out, ", and %s nothing worth your time either",
                          all->looked == 2 ? "has" : "have");
    }
}

/* Where there are several processes: which of them have it. */
static void add_processes(const struct findings_all *all, const struct joined_finding *j,
                          struct strbuf *out)
{
    const struct profile *p = j->of->places.total.profile;
    if (all->recording->profiles.count < 2 || p->together)
        return;
    if (j->pids.count == 1)
        strbuf_printf(out, ", in process %" PRIu32 " (", p->pid);
    else
        strbuf_printf(out, ", in %s%zu of %" PRIu32 " %s of ", j->not_looked ? "at least " : "",
                      j->pids.count, j->workers ? j->workers : j->alike,
                      j->workers ? "workers" : "processes");
    summary_program_name(p, out);
    strbuf_puts(out, j->pids.count == 1 ? ")" : "");
    if (j->own->kind == FINDING_LEAK && j->unknown)
        strbuf_printf(out, " (%" PRIu32 " could not be examined)", j->unknown);
}

static void add_title(const struct findings_all *all, const struct joined_finding *j,
                      struct strbuf *out)
{
    finding_title(j->of, &j->sum, out);
    add_processes(all, j, out);
}

/* The sentences are about one process: of several, one that has most of it. */
static void add_why(const struct joined_finding *j, struct strbuf *out)
{
    if (j->pids.count > 1)
        strbuf_printf(out, "in process %" PRIu32 ": ", j->of->places.total.profile->pid);
    finding_why(j->of, j->own, out);
}

static size_t shown(const struct findings_all *all, size_t most)
{
    return all->list.count < most ? all->list.count : most;
}

static void add_finding(const struct findings_all *all, const struct joined_finding *j,
                        size_t number, const struct style *s, struct strbuf *out)
{
    struct strbuf why = {0}, what = {0};
    size_t start = out->size;
    strbuf_printf(out, "%s%zu. ", style_bold(s), number);
    add_title(all, j, out);
    strbuf_printf(out, "%s  [%s]", style_plain(s), finding_kind_name(j->own));
    wrap_since(out, start, 3, s->width);
    strbuf_printf(out, "\n   %s", style_faint(s));
    finding_path(j->of, j->own, s->width > 40 ? s->width - 3 : 40, out);
    strbuf_printf(out, "%s\n", style_plain(s));
    strbuf_puts(&why, "");
    add_why(j, &why);
    wrap_text("   why: ", why.data, s->width, out);
    strbuf_puts(&what, "");
    finding_do(j->of, j->own, &what);
    wrap_text("   do:  ", what.data, s->width, out);
    strbuf_release(&why);
    strbuf_release(&what);
}

static void say_lost_of_cut(const struct findings_all *all, const char *before, struct strbuf *out)
{
    say(out, "%r%B in %N block(s)", before, all->cut_lost_bytes, all->cut_lost_blocks);
}

static void add_head(const struct findings_all *all, const struct style *s, struct strbuf *out)
{
    const struct answer *a = &findings_chosen(all)->places.total;
    size_t start = 0;
    if (all->looked > 1 || all->left_out) {
        summary_processes(a->recording, NULL, s, out);
        start = out->size;
    } else {
        summary_processes(a->recording, a->profile, s, out);
        summary_program(a->profile, s, out);
    }
    summary_not_recorded(a->profile, s, out);
    summary_ignored(&a->tree, &a->frames, METRIC_TOTAL, s, 3, out);
    if (all->planted_blocks) {
        summary_label(out, s, "planted");
        say(out, "%B in %N block(s) were leaked on purpose (--plant-leak); they are left out\n",
            all->planted_bytes, all->planted_blocks);
    }
    if (all->cut_stacks) {
        size_t line = out->size;
        summary_label(out, s, "left out");
        say(out, "%N stack(s) whose outer frames are missing ([cut]); they held %B at the peak",
            all->cut_stacks, all->cut_peak_bytes);
        if (all->cut_lost_blocks > 0)
            say_lost_of_cut(all, ", and lost ", out);
        wrap_since(out, line, 11, s->width);
        strbuf_putc(out, '\n');
    }
    if (all->left_out) {
        summary_label(out, s, "left out");
        say(out, "%N smaller process(es); --process PID examines one of them\n", all->left_out);
    }
    strbuf_puts(out, out->size > start ? "\n" : "");
}

void findings_next(const struct findings_all *all, const char *file, struct strbuf *out)
{
    static const char *const metrics[FINDING_KINDS] = {
        [FINDING_PEAK] = "peak", [FINDING_MAPPED] = "mapped", [FINDING_RETAINED] = "peak"};
    const struct joined_finding *j = all->list.count ? &all->list.items[0] : NULL;
    const char *asked = findings_chosen(all)->places.query.process;
    enum finding_kind kind = j ? j->own->kind : FINDING_LEAK; /* of stacks that are cut */
    bool leak = kind == FINDING_LEAK;
    strbuf_printf(out, "tidemark %s ",
                  leak                         ? "leaks"
                  : kind == FINDING_GROWTH     ? "growth"
                  : kind == FINDING_FRAGMENTED ? "growth"
                                               : "report");
    next_word(out, file);
    if (asked)
        unit_process(out, asked);
    else if (all->looked > 1 && !leak) /* leaks is about all of them */
        strbuf_printf(out, " --process %" PRIu32, j->of->places.total.profile->pid);
    if (leak || kind == FINDING_GROWTH || kind == FINDING_FRAGMENTED)
        return;
    struct strbuf name = {0};
    finding_function(j->of, j->own, &name);
    strbuf_printf(out, " --metric %s", metrics[kind] ? metrics[kind] : "total");
    if (kind == FINDING_MAPPED)
        strbuf_printf(out, " --at %s", j->of->mapped_at);
    say(out, " --callers %s", name.data);
    strbuf_release(&name);
}

static void add_next(const struct findings_all *all, const char *file, const struct style *s,
                     struct strbuf *out)
{
    strbuf_printf(out, "%snext: ", style_faint(s));
    findings_next(all, file, out);
    strbuf_printf(out, "%s\n", style_plain(s));
}

/* --- the answer ------------------------------------------------------------------------------- */

#define PART_LEAST 0.1 /* of what is resident: less is not told */

static void add_part(struct strbuf *out, uint64_t bytes, uint64_t all, const char *what, int *told)
{
    if ((double)bytes < PART_LEAST * (double)all)
        return;
    say(out, "%r%B %r", (*told)++ ? ", " : ": ", bytes, what);
}

/* What was resident, and what it was made of. */
static void add_account(const struct findings_all *all, struct strbuf *out)
{
    const struct findings *f = findings_chosen(all);
    const struct footprint *l = f->basis.look;
    int told = 0;
    if (!l || l->rss_bytes < f->basis.rss_bytes / 2) /* it was not looked at when there was most */
        return;
    say(out, "%B were resident at %T", l->rss_bytes, l->time_ns);
    uint64_t rss = l->rss_bytes;
    add_part(out, l->parts[PART_LIVE] + l->parts[PART_ROUNDING], rss, "in blocks of the heap",
             &told);
    add_part(out, l->parts[PART_MAPPED], rss, "mapped by the program", &told);
    add_part(out, l->parts[PART_ARENAS], rss, "Python's arenas", &told);
    add_part(out, l->parts[PART_SHARED], rss, "shared memory", &told);
    add_part(out, l->parts[PART_FILES], rss, "mapped files", &told);
    add_part(out, l->parts[PART_FREE] + l->parts[PART_HELD], rss, "free, kept by the allocator",
             &told);
    add_part(out, l->parts[PART_STACKS], rss, "stacks", &told);
    add_part(out, l->parts[PART_TEXT] + l->parts[PART_DATA], rss, "of program and libraries",
             &told);
    add_part(out, l->parts[PART_RECORDER], rss, "tidemark's own", &told);
    add_part(out, l->parts[PART_UNKNOWN], rss, "not explained", &told);
    strbuf_puts(out, ".");
}

/* One or two sentences: what is the matter most, and what memory is made of. */
static void add_answer(const struct findings_all *all, const struct style *s, struct strbuf *out)
{
    struct strbuf text = {0};
    strbuf_puts(&text, "");
    if (all->list.count) {
        const struct joined_finding *j = &all->list.items[0];
        add_title(all, j, &text);
        strbuf_puts(&text, ":");
        finding_place(j->of, j->own, &text);
        strbuf_puts(&text, ". ");
    } else if (is_clean(all)) {
        strbuf_puts(&text, "There is nothing worth your time. ");
    } else {
        say_lost_of_cut(all, "It lost ", &text);
        strbuf_puts(&text, ", by unknown code: the outer frames are missing. ");
    }
    add_account(all, &text);
    wrap_text("", text.data, s->width, out);
    strbuf_putc(out, '\n');
    strbuf_release(&text);
}

/* One in a line. */
static void add_line(const struct findings_all *all, const struct joined_finding *j, size_t number,
                     size_t width, struct strbuf *out)
{
    size_t start = out->size;
    strbuf_printf(out, "%zu. ", number);
    add_title(all, j, out);
    strbuf_puts(out, ":");
    finding_place(j->of, j->own, out);
    wrap_since(out, start, 3, width);
    strbuf_putc(out, '\n');
}

void findings_text(const struct findings_all *all, const char *file, size_t most,
                   const struct style *s, struct strbuf *out)
{
    if (!all->list.count && !is_recorded(all)) {
        add_head(all, s, out);
        strbuf_puts(out, "its memory was not recorded\n");
        return;
    }
    add_answer(all, s, out);
    add_head(all, s, out);
    if (!all->list.count) {
        struct strbuf why = {0};
        clean_reason(all, &why);
        wrap_text("  ", why.data, s->width, out);
        strbuf_release(&why);
        if (!is_clean(all))
            add_next(all, file, s, out);
        return;
    }
    size_t full = most ? most : FINDINGS_FULL, listed = shown(all, most ? most : FINDINGS_MAX);
    for (size_t i = 0; i < listed; i++) {
        strbuf_puts(out, i && i <= full ? "\n" : "");
        if (i < full)
            add_finding(all, &all->list.items[i], i + 1, s, out);
        else
            add_line(all, &all->list.items[i], i + 1, s->width, out);
    }
    if (listed > full)
        strbuf_printf(out, "   --top %zu says why\n", listed);
    strbuf_putc(out, '\n');
    summary_wrappers(&findings_chosen(all)->places.total, s, out);
    add_next(all, file, s, out);
}

#define OWN_BYTES 1048576 /* of the line that holds most: */
#define OWN_SHARE 0.1     /* less tells nothing */

/* The line of the user's that holds most of the peak, where the findings do not say so. */
static void add_own_line(const struct findings_all *all, size_t most, struct strbuf *out)
{
    const struct places *p = &findings_chosen(all)->places;
    struct own_line line = own_lines_most(p);
    struct strbuf text = {0};
    bool python = findings_chosen(all)->places.total.profile->python_version;
    for (size_t i = 0; i < shown(all, most); i++)
        if (!python || all->list.items[i].own->kind == FINDING_PEAK)
            return;
    if (line.call == CALL_NONE || line.bytes < OWN_BYTES ||
        (double)line.bytes < OWN_SHARE * (double)line.of_bytes)
        return;
    strbuf_puts(&text, "  at the peak ");
    place_function(p, line.call, &text);
    place_words(p, line.call, &text);
    say(&text, " holds %B of %B", line.bytes, line.of_bytes);
    wrap_since(&text, 0, 4, STYLE_WIDTH);
    strbuf_printf(out, "%s\n", text.data);
    strbuf_release(&text);
}

void findings_brief(const struct findings_all *all, const char *file, size_t most,
                    struct strbuf *out)
{
    for (size_t i = 0; i < shown(all, most); i++) {
        const struct joined_finding *j = &all->list.items[i];
        struct strbuf line = {0};
        strbuf_printf(&line, "  %zu. ", i + 1);
        add_title(all, j, &line);
        strbuf_puts(&line, ":");
        finding_place(j->of, j->own, &line);
        wrap_since(&line, 0, 5, STYLE_WIDTH);
        strbuf_printf(out, "%s\n", line.data);
        strbuf_release(&line);
    }
    add_own_line(all, most, out);
    if (all->list.count)
        strbuf_printf(out, "  %s: tidemark findings %s\n",
                      all->list.count > most ? "more, with reasons" : "why, and what to do", file);
}

static void json_sentences(struct json *j, const struct findings_all *all,
                           const struct joined_finding *f)
{
    struct strbuf text = {0};
    add_title(all, f, &text);
    json_string(j, "title", text.data);
    strbuf_clear(&text);
    strbuf_puts(&text, "");
    add_why(f, &text);
    json_string(j, "why", text.data);
    strbuf_clear(&text);
    strbuf_puts(&text, "");
    finding_do(f->of, f->own, &text);
    json_string(j, "do", text.data);
    strbuf_release(&text);
}

/* The moment that its bytes are of; those of one moment are different bytes. */
static const char *moment_of(enum finding_kind kind)
{
    switch (kind) {
    case FINDING_LEAK:
    case FINDING_GROWTH:
        return "end";
    case FINDING_PEAK:
        return "peak";
    case FINDING_MAPPED:
    case FINDING_RETAINED:
    case FINDING_FRAGMENTED:
        return "resident";
    default:
        return NULL;
    }
}

/* The line of its user's, where that is another one. */
static void json_own(struct json *j, const struct places *p, uint32_t call)
{
    uint32_t own = places_own(p, call);
    const struct call_frame *frame = places_frame(p, own);
    if (own == call) {
        json_null(j, "for");
        return;
    }
    json_object(j, "for");
    json_string(j, "function", frame_table_string(&p->total.frames, frame->name));
    json_string(j, "file", frame->file ? frame_table_string(&p->total.frames, frame->file) : NULL);
    json_u64(j, "line", frame->line);
    json_end(j);
}

static void json_finding(struct json *j, const struct findings_all *all,
                         const struct joined_finding *f)
{
    const struct places *places = finding_places(f->of, f->own);
    const struct answer *a = &places->total;
    const struct call_frame *frame = places_frame(places, f->own->call);
    struct json_stacks stacks = {.frames = &a->frames};
    json_object(j, NULL);
    json_string(j, "kind", finding_kind_name(f->own));
    json_u64(j, "pid", a->profile->pid);
    json_array(j, "pids");
    for (size_t i = 0; i < f->pids.count; i++)
        json_u64(j, NULL, f->pids.items[i]);
    json_end(j);
    json_u64(j, "of_processes", f->alike);
    json_sentences(j, all, f);
    json_i64(j, "bytes", f->sum.bytes);
    json_i64(j, "count", f->sum.count);
    json_string(j, "moment", moment_of(f->own->kind));
    if (f->own->moment_ns)
        json_u64(j, "moment_ns", f->own->moment_ns);
    json_i64(j, "of_bytes", f->sum.of_bytes);
    if (f->own->kind == FINDING_LEAK) {
        json_i64(j, "indirect_bytes", f->sum.led_bytes);
        json_i64(j, "indirect_count", f->sum.led_count);
    }
    json_double(j, "worth", f->sum.worth);
    json_string(j, "function", frame_table_string(&a->frames, frame->name));
    json_string(j, "file", frame->file ? frame_table_string(&a->frames, frame->file) : NULL);
    if (frame->line)
        json_u64(j, "line", frame->line);
    else
        json_null(j, "line");
    json_own(j, places, f->own->call);
    json_frames(j, &stacks, a->tree.parent.items, a->tree.frame.items, f->own->leaf);
    json_end(j);
    json_stacks_release(&stacks);
}

void findings_json(const struct findings_all *all, size_t most, struct strbuf *out)
{
    const struct answer *a = &findings_chosen(all)->places.total;
    struct strbuf text = {0};
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.findings/1");
    json_program(&j, a->recording, a->profile);
    json_array(&j, "findings");
    for (size_t i = 0; i < shown(all, most ? most : FINDINGS_MAX); i++)
        json_finding(&j, all, &all->list.items[i]);
    json_end(&j);
    json_bool(&j, "clean", is_clean(all));
    clean_reason(all, &text);
    json_string(&j, "basis", is_recorded(all) ? text.data : "not recorded");
    json_u64(&j, "planted_bytes", all->planted_bytes);
    json_u64(&j, "processes_left_out", all->left_out);
    json_ignored(&j, &a->tree);
    json_end(&j);
    strbuf_release(&text);
}
