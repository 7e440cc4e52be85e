#include "report/next.h"
#include "report/findings.h"

#include "report/json_parts.h"
#include "report/summary.h"
#include "report/units.h"
#include "report/wrap.h"

/* Why nothing was found. */
static void clean_reason(const struct findings *f, struct strbuf *out)
{
    const struct findings_basis *b = &f->basis;
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
}

static void add_sentence(const struct findings *f, const struct finding *n, const char *first,
                         void (*words)(const struct findings *, const struct finding *,
                                       struct strbuf *),
                         const struct style *s, struct strbuf *out)
{
    struct strbuf text = {0};
    strbuf_puts(&text, "");
    words(f, n, &text);
    wrap_text(first, text.data, s->width, out);
    strbuf_release(&text);
}

static size_t shown(const struct findings *f, size_t most)
{
    return f->list.count < most ? f->list.count : most;
}

void findings_text(const struct findings *f, const char *file, size_t most, const struct style *s,
                   struct strbuf *out)
{
    const struct answer *a = &f->places.total;
    summary_processes(a->recording, a->profile, s, out);
    summary_program(a->profile, s, out);
    summary_ignored(&a->tree, &a->frames, METRIC_TOTAL, s, 3, out);
    if (f->planted_blocks) {
        summary_label(out, s, "planted");
        unit_bytes(out, (int64_t)f->planted_bytes);
        strbuf_puts(out, " in ");
        unit_blocks(out, (int64_t)f->planted_blocks);
        strbuf_puts(out, " were leaked on purpose (--plant-leak); they are left out\n");
    }
    if (f->cut_stacks) {
        summary_label(out, s, "left out");
        unit_counted(out, (int64_t)f->cut_stacks, "stack");
        strbuf_puts(out, " whose outer frames are missing ([cut]); they held ");
        unit_bytes(out, (int64_t)f->cut_peak_bytes);
        strbuf_puts(out, " at the peak\n");
    }
    strbuf_putc(out, '\n');
    if (!f->list.count) {
        struct strbuf why = {0};
        strbuf_printf(out, "%snothing worth your time%s\n", style_bold(s), style_plain(s));
        clean_reason(f, &why);
        wrap_text("  ", why.data, s->width, out);
        strbuf_release(&why);
        return;
    }
    for (size_t i = 0; i < shown(f, most); i++) {
        const struct finding *n = &f->list.items[i];
        strbuf_puts(out, i ? "\n" : "");
        size_t start = out->size;
        strbuf_printf(out, "%s%zu. ", style_bold(s), i + 1);
        finding_title(f, n, out);
        strbuf_printf(out, "%s  [%s]", style_plain(s), finding_kind_name(n->kind));
        wrap_since(out, start, 3, s->width);
        strbuf_printf(out, "\n   %s", style_faint(s));
        finding_path(f, n, s->width > 40 ? s->width - 3 : 40, out);
        strbuf_printf(out, "%s\n", style_plain(s));
        add_sentence(f, n, "   why: ", finding_why, s, out);
        add_sentence(f, n, "   do:  ", finding_do, s, out);
    }
    strbuf_putc(out, '\n');
    summary_wrappers(a, s, out);
    strbuf_printf(out, "%snext: tidemark report ", style_faint(s));
    next_word(out, file);
    unit_process(out, f->places.query.process);
    struct strbuf name = {0};
    finding_function(f, &f->list.items[0], &name);
    strbuf_printf(out, " --metric %s --callers ",
                  f->list.items[0].kind == FINDING_PEAK ? "peak" : "total");
    unit_text(out, name.data);
    strbuf_printf(out, "%s\n", style_plain(s));
    strbuf_release(&name);
}

void findings_brief(const struct findings *f, const char *file, size_t most, struct strbuf *out)
{
    for (size_t i = 0; i < shown(f, most); i++) {
        struct strbuf line = {0};
        strbuf_printf(&line, "  %zu. ", i + 1);
        finding_title(f, &f->list.items[i], &line);
        strbuf_puts(&line, ":");
        finding_place(f, f->list.items[i].call, &line);
        wrap_since(&line, 0, 5, STYLE_WIDTH);
        strbuf_printf(out, "%s\n", line.data);
        strbuf_release(&line);
    }
    if (f->list.count)
        strbuf_printf(out, "  %s: tidemark findings %s\n",
                      f->list.count > most ? "more, with reasons" : "why, and what to do", file);
}

void findings_json(const struct findings *f, size_t most, struct strbuf *out)
{
    const struct answer *a = &f->places.total;
    struct json_stacks stacks = {.frames = &a->frames};
    struct strbuf text = {0};
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.findings/1");
    json_program(&j, a->recording, a->profile);
    json_array(&j, "findings");
    for (size_t i = 0; i < shown(f, most); i++) {
        const struct finding *n = &f->list.items[i];
        const struct call_frame *frame = places_frame(&f->places, n->call);
        static const struct {
            const char *key;
            void (*words)(const struct findings *, const struct finding *, struct strbuf *);
        } sentences[] = {{"title", finding_title}, {"why", finding_why}, {"do", finding_do}};
        json_object(&j, NULL);
        json_string(&j, "kind", finding_kind_name(n->kind));
        for (size_t k = 0; k < sizeof sentences / sizeof *sentences; k++) {
            strbuf_clear(&text);
            strbuf_puts(&text, "");
            sentences[k].words(f, n, &text);
            json_string(&j, sentences[k].key, text.data);
        }
        json_i64(&j, "bytes", n->bytes);
        json_i64(&j, "count", n->count);
        json_double(&j, "worth", n->worth);
        json_string(&j, "function", frame_table_string(&a->frames, frame->name));
        json_string(&j, "file", frame->file ? frame_table_string(&a->frames, frame->file) : NULL);
        if (frame->line)
            json_u64(&j, "line", frame->line);
        else
            json_null(&j, "line");
        json_frames(&j, &stacks, a->tree.parent.items, a->tree.frame.items, n->call);
        json_end(&j);
    }
    json_end(&j);
    json_bool(&j, "clean", f->list.count == 0);
    strbuf_clear(&text);
    clean_reason(f, &text);
    json_string(&j, "basis", text.data);
    json_u64(&j, "planted_bytes", f->planted_bytes);
    json_ignored(&j, &a->tree);
    json_end(&j);
    strbuf_release(&text);
    json_stacks_release(&stacks);
}
