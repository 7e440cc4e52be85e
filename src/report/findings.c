#include "report/next.h"
#include "report/findings.h"

#include <inttypes.h>

#include "report/json_parts.h"
#include "report/summary.h"
#include "report/units.h"
#include "report/wrap.h"

/* Why nothing was found in the process that reports open on. */
static void clean_reason(const struct findings_all *all, struct strbuf *out)
{
    const struct findings *f = findings_chosen(all);
    const struct findings_basis *b = &f->basis;
    if (all->recording->profiles.count > 1 && !f->places.total.profile->together)
        strbuf_printf(out, "process %" PRIu32 ": ", f->places.total.profile->pid);
    strbuf_puts(out, "peak ");
    unit_bytes(out, (int64_t)b->peak_bytes);
    if (b->reach_known) {
        strbuf_puts(out, "; of ");
        unit_blocks(out, b->blocks_checked);
        strbuf_puts(out, " left at the end ");
        unit_count(out, b->lost_blocks);
        strbuf_puts(out, b->lost_blocks == 1 ? " was lost (" : " were lost (");
        unit_bytes(out, b->lost_bytes);
        strbuf_putc(out, ')');
    } else {
        strbuf_puts(out, "; whether blocks were lost is not known");
    }
    strbuf_puts(out, b->growth_known ? "; no function grew all through the run"
                                     : "; whether a function grew all through the run is not known "
                                       "(too few moments to compare)");
    strbuf_puts(out, "; temporary blocks take about ");
    unit_percent(out, b->temporary_share, 1);
    strbuf_puts(out, " % of the time; rounding takes ");
    unit_percent(out, b->overhead_share, 1);
    strbuf_puts(out, " % of the heap");
    if (b->residency_known) {
        strbuf_puts(out, "; ");
        unit_bytes(out, b->untouched_bytes);
        strbuf_puts(out, " were never touched");
    }
    if (all->looked > 1) {
        strbuf_puts(out, "; the other ");
        unit_counted(out, (int64_t)all->looked - 1, "process");
        strbuf_puts(out, " lost ");
        unit_bytes(out, wrapped_less(all->lost_bytes, b->lost_bytes));
        strbuf_puts(out, ", and have nothing worth your time either");
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
        strbuf_printf(out, ", in %zu of %" PRIu32 " processes of ", j->pids.count, j->alike);
    summary_program_name(p, out);
    strbuf_puts(out, j->pids.count == 1 ? ")" : "");
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
    strbuf_printf(out, "%s  [%s]", style_plain(s), finding_kind_name(j->own->kind));
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

/* Is anything known of the process that reports open on? */
static bool is_recorded(const struct findings_all *all)
{
    const struct profile *p = findings_chosen(all)->places.total.profile;
    return not_recorded(p, &(size_t){0}) != RECORDED_NOTHING;
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
        unit_bytes(out, (int64_t)all->planted_bytes);
        strbuf_puts(out, " in ");
        unit_blocks(out, (int64_t)all->planted_blocks);
        strbuf_puts(out, " were leaked on purpose (--plant-leak); they are left out\n");
    }
    if (all->cut_stacks) {
        summary_label(out, s, "left out");
        unit_counted(out, (int64_t)all->cut_stacks, "stack");
        strbuf_puts(out, " whose outer frames are missing ([cut]); they held ");
        unit_bytes(out, (int64_t)all->cut_peak_bytes);
        strbuf_puts(out, " at the peak\n");
    }
    if (all->left_out) {
        summary_label(out, s, "left out");
        unit_counted(out, (int64_t)all->left_out, "smaller process");
        strbuf_puts(out, "; --process PID looks at one of them\n");
    }
    strbuf_puts(out, out->size > start ? "\n" : "");
}

static void add_next(const struct findings_all *all, const char *file, const struct style *s,
                     struct strbuf *out)
{
    const struct joined_finding *j = &all->list.items[0];
    const char *asked = findings_chosen(all)->places.query.process;
    struct strbuf name = {0};
    strbuf_printf(out, "%snext: tidemark report ", style_faint(s));
    next_word(out, file);
    if (asked)
        unit_process(out, asked);
    else if (all->looked > 1)
        strbuf_printf(out, " --process %" PRIu32, j->of->places.total.profile->pid);
    finding_function(j->of, j->own, &name);
    strbuf_printf(out, " --metric %s --callers ", j->own->kind == FINDING_PEAK ? "peak" : "total");
    unit_text(out, name.data);
    strbuf_printf(out, "%s\n", style_plain(s));
    strbuf_release(&name);
}

void findings_text(const struct findings_all *all, const char *file, size_t most,
                   const struct style *s, struct strbuf *out)
{
    add_head(all, s, out);
    if (!all->list.count && !is_recorded(all)) {
        strbuf_puts(out, "nothing is known of its memory\n");
        return;
    }
    if (!all->list.count) {
        struct strbuf why = {0};
        strbuf_printf(out, "%snothing worth your time%s\n", style_bold(s), style_plain(s));
        clean_reason(all, &why);
        wrap_text("  ", why.data, s->width, out);
        strbuf_release(&why);
        return;
    }
    for (size_t i = 0; i < shown(all, most); i++) {
        strbuf_puts(out, i ? "\n" : "");
        add_finding(all, &all->list.items[i], i + 1, s, out);
    }
    strbuf_putc(out, '\n');
    summary_wrappers(&findings_chosen(all)->places.total, s, out);
    add_next(all, file, s, out);
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
        finding_place(j->of, j->own->call, &line);
        wrap_since(&line, 0, 5, STYLE_WIDTH);
        strbuf_printf(out, "%s\n", line.data);
        strbuf_release(&line);
    }
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

static void json_finding(struct json *j, const struct findings_all *all,
                         const struct joined_finding *f)
{
    const struct answer *a = &f->of->places.total;
    const struct call_frame *frame = places_frame(&f->of->places, f->own->call);
    struct json_stacks stacks = {.frames = &a->frames};
    json_object(j, NULL);
    json_string(j, "kind", finding_kind_name(f->own->kind));
    json_u64(j, "pid", a->profile->pid);
    json_array(j, "pids");
    for (size_t i = 0; i < f->pids.count; i++)
        json_u64(j, NULL, f->pids.items[i]);
    json_end(j);
    json_u64(j, "of_processes", f->alike);
    json_sentences(j, all, f);
    json_i64(j, "bytes", f->sum.bytes);
    json_i64(j, "count", f->sum.count);
    json_double(j, "worth", f->sum.worth);
    json_string(j, "function", frame_table_string(&a->frames, frame->name));
    json_string(j, "file", frame->file ? frame_table_string(&a->frames, frame->file) : NULL);
    if (frame->line)
        json_u64(j, "line", frame->line);
    else
        json_null(j, "line");
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
    for (size_t i = 0; i < shown(all, most); i++)
        json_finding(&j, all, &all->list.items[i]);
    json_end(&j);
    json_bool(&j, "clean", all->list.count == 0 && is_recorded(all));
    clean_reason(all, &text);
    json_string(&j, "basis", is_recorded(all) ? text.data : "not recorded");
    json_u64(&j, "planted_bytes", all->planted_bytes);
    json_u64(&j, "processes_left_out", all->left_out);
    json_ignored(&j, &a->tree);
    json_end(&j);
    strbuf_release(&text);
}
