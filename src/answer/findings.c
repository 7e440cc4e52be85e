#include "answer/findings.h"

#include <string.h>

#include "analyse/own_lines.h"
#include "base/say.h"
#include "answer/json_parts.h"
#include "answer/location.h"
#include "answer/next_command.h"
#include "answer/place_columns.h"
#include "answer/summary.h"
#include "answer/wrap.h"
#include "model/not_recorded.h"
#include "model/process_choice.h"

/* Was the process that reports show by default recorded? */
static bool is_recorded(const struct findings_all *all)
{
    const struct profile *p = findings_chosen(all)->places.total.profile;
    return not_recorded(p, &(size_t){0}) != RECORDED_NOTHING;
}

/* Was it imported from another tool? Then most is unknown. */
static bool is_imported(const struct findings_all *all)
{
    return findings_chosen(all)->places.total.profile->imported.from;
}

static const char *unseen(const struct findings_all *all)
{
    return not_recorded_elsewhere(answer_program(all->recording));
}

static bool is_clean(const struct findings_all *all)
{
    return !all->list.count && !all->cut_lost_blocks && is_recorded(all) && !is_imported(all);
}

/* Why nothing was found in the process that reports show by default. */
static void clean_reason(const struct findings_all *all, struct strbuf *out)
{
    const struct findings *f = findings_chosen(all);
    const struct findings_basis *b = &f->basis;
    if (all->recording->profiles.count > 1 && !f->places.total.profile->together)
        say(out, "process %d: ", f->places.total.profile->pid);
    if (is_imported(all)) {
        say(out, "imported from %s: whether blocks were lost, and what grew, is not known",
            f->places.total.profile->imported.from);
        return;
    }
    say(out, "peak %B", b->peak_bytes);
    if (b->reach_known)
        say(out, "; of %N block(s) left at the end %N %r lost (%B)", b->blocks_checked,
            b->lost_blocks, b->lost_blocks == 1 ? "was" : "were", b->lost_bytes);
    else
        strbuf_puts(out, "; blocks are not classified as lost or reachable");
    if (b->doubted_blocks)
        say(out, ", and for %N it is not known", b->doubted_blocks);
    if (b->grown_bytes)
        say(out,
            "; functions that grew gained %B, none of them much ('tidemark growth' lists them)",
            b->grown_bytes);
    else
        say(out, "; %r",
            b->growth_known ? "no function grew throughout the run"
                            : "whether a function grew throughout the run is not known (too few "
                              "moments to compare)");
    say(out, "; temporary blocks take about %P %% of the time; rounding takes %P %% of the heap",
        b->temporary_share * 100, b->overhead_share * 100);
    if (b->residency_known)
        say(out, "; %B were never touched", b->untouched_bytes);
    if (unseen(all))
        say(out, "; %s", unseen(all));
    if (all->analysed < 2)
        return;
    if (all->analysed == 2)
        strbuf_puts(out, "; the other process");
    else
        say(out, "; the other %N processes", all->analysed - 1);
    int64_t lost = wrapped_less(all->lost_bytes, b->lost_bytes);
    say(out, " lost %B", lost);
    if (is_clean(all) && lost)
        strbuf_puts(out, ", too little in any process for a finding");
    else if (is_clean(all))
        say(out, ", and %r nothing worth your time either", all->analysed == 2 ? "has" : "have");
}

/* If there are several processes: which of them have the finding. */
static void add_processes(const struct findings_all *all, const struct joined_finding *j,
                          struct strbuf *out)
{
    const struct profile *p = j->of->places.total.profile;
    if (all->recording->profiles.count < 2 || p->together)
        return;
    if (j->pids.count == 1)
        say(out, ", in process %d (", p->pid);
    else
        say(out, ", in %r%d of %d %r of ", j->not_analysed ? "at least " : "", j->pids.count,
            j->workers ? j->workers : j->alike, j->workers ? "workers" : "processes");
    summary_program_name(p, out);
    strbuf_puts(out, j->pids.count == 1 ? ")" : "");
    if (j->own->kind == FINDING_LEAK && j->unknown)
        say(out, " (%d could not be examined)", j->unknown);
}

static void add_title(const struct findings_all *all, const struct joined_finding *j,
                      struct strbuf *out)
{
    finding_title(j->of, &j->sum, out);
    add_processes(all, j, out);
}

/* The sentences are about one process: if several have it, the one that has most. */
static void add_why(const struct joined_finding *j, struct strbuf *out)
{
    if (j->pids.count > 1)
        say(out, "in process %d: ", j->of->places.total.profile->pid);
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
    if (all->analysed > 1 || all->left_out) {
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
        size_t line = summary_begin(out, s, "left out");
        say(out, "%N stack(s) whose outer frames are missing ([cut]); they held %B at the peak",
            all->cut_stacks, all->cut_peak_bytes);
        if (all->cut_lost_blocks > 0)
            say_lost_of_cut(all, ", and lost ", out);
        summary_end(out, s, line);
    }
    if (all->left_out) {
        summary_label(out, s, "left out");
        say(out, "%N smaller process(es); --process PID examines one of them\n", all->left_out);
    }
    strbuf_puts(out, out->size > start ? "\n" : "");
}

void findings_next(const struct findings_all *all, const char *file, struct strbuf *out)
{
    static const char *const metrics[FINDING_KINDS] = {[FINDING_PEAK] = "peak",
                                                       [FINDING_MAPPED] = "mapped",
                                                       [FINDING_RETAINED] = "peak",
                                                       [FINDING_OVERSIZED] = "untouched",
                                                       [FINDING_UNTOUCHED] = "untouched"};
    const struct joined_finding *j = all->list.count ? &all->list.items[0] : NULL;
    const char *asked = findings_chosen(all)->places.query.process;
    enum finding_kind kind = j ? j->own->kind : FINDING_LEAK; /* for stacks that are cut off */
    bool leak = kind == FINDING_LEAK;
    strbuf_printf(out, "tidemark %s ",
                  leak                         ? "leaks"
                  : kind == FINDING_GROWTH     ? "growth"
                  : kind == FINDING_FRAGMENTED ? "growth"
                                               : "report");
    next_file(out, file);
    if (asked)
        next_option(out, "--process", asked);
    else if (all->analysed > 1 && !leak) /* `leaks` covers all processes anyway */
        say(out, " --process %d", j->of->places.total.profile->pid);
    if (leak || kind == FINDING_GROWTH || kind == FINDING_FRAGMENTED)
        return;
    struct strbuf name = {0};
    finding_function(j->of, j->own, &name);
    const char *metric =
        kind == FINDING_GPU ? metric_name(finding_gpu_metric(j->of)) : metrics[kind];
    strbuf_printf(out, " --metric %s", metric ? metric : "total");
    if (kind == FINDING_MAPPED)
        strbuf_printf(out, " --at %s", j->of->mapped_at);
    else if (kind == FINDING_GPU)
        strbuf_puts(out, " --at peak");
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

#define PART_LEAST 0.1 /* of resident memory: a smaller part is not mentioned */

/* Says what was resident, and what it consisted of. */
static void add_account(const struct findings_all *all, struct strbuf *out)
{
    static const struct {
        const char *what;
        enum footprint_part part, other; /* if both are the same, there is only one */
    } parts[] = {{"in blocks of the heap", PART_LIVE, PART_ROUNDING},
                 {"mapped by the program", PART_MAPPED, PART_MAPPED},
                 {"Python's arenas", PART_ARENAS, PART_ARENAS},
                 {"shared memory", PART_SHARED, PART_SHARED},
                 {"mapped files", PART_FILES, PART_FILES},
                 {"free but kept by the allocator", PART_FREE, PART_HELD},
                 {"stacks", PART_STACKS, PART_STACKS},
                 {"of program and libraries", PART_TEXT, PART_DATA},
                 {"tidemark's own", PART_RECORDER, PART_RECORDER},
                 {"not explained", PART_UNKNOWN, PART_UNKNOWN}};
    const struct findings *f = findings_chosen(all);
    const struct footprint *l = f->basis.footprint;
    const char *before = ": ";
    /* There is no footprint from near the highest resident memory. */
    if (!l || l->rss_bytes < f->basis.rss_bytes / 2)
        return;
    say(out, "%B were resident at %T", l->rss_bytes, l->time_ns);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t bytes = l->parts[parts[i].part];
        bytes += parts[i].other != parts[i].part ? l->parts[parts[i].other] : 0;
        if ((double)bytes < PART_LEAST * (double)l->rss_bytes)
            continue;
        say(out, "%r%B %r", before, bytes,
            l->partial && parts[i].part == PART_FREE ? "free, or in blocks that were not recorded"
                                                     : parts[i].what);
        before = ", ";
    }
    strbuf_puts(out, ".");
}

/* One or two sentences: the most important finding, and what memory consists of. */
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
    } else if (is_imported(all)) {
        strbuf_puts(&text, "Nothing was found in the figures that are known. ");
    } else if (is_clean(all)) {
        say(&text, "There is nothing worth your time%r. ",
            unseen(all) ? " in what was recorded" : "");
    } else {
        say_lost_of_cut(all, "It lost ", &text);
        strbuf_puts(&text, ", by unknown code: the outer frames are missing. ");
    }
    add_account(all, &text);
    wrap_text("", text.data, s->width, out);
    strbuf_putc(out, '\n');
    strbuf_release(&text);
}

/* One line for each: "1. work loses 12 KiB in 3 blocks: work.c:12". */
static void add_line(const struct findings_all *all, size_t i, const char *indent, size_t width,
                     struct strbuf *out)
{
    const struct joined_finding *j = &all->list.items[i];
    size_t start = out->size;
    say(out, "%r%d. ", indent, i + 1);
    add_title(all, j, out);
    strbuf_puts(out, ":");
    finding_place(j->of, j->own, out);
    wrap_since(out, start, strlen(indent) + 3, width);
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
        if (!is_clean(all) && !is_imported(all))
            add_next(all, file, s, out);
        return;
    }
    size_t full = most ? most : FINDINGS_FULL, listed = shown(all, most ? most : FINDINGS_MAX);
    for (size_t i = 0; i < listed; i++) {
        strbuf_puts(out, i && i <= full ? "\n" : "");
        if (i < full)
            add_finding(all, &all->list.items[i], i + 1, s, out);
        else
            add_line(all, i, "", s->width, out);
    }
    if (listed > full)
        strbuf_printf(out, "   --top %zu says why\n", listed);
    strbuf_putc(out, '\n');
    summary_wrappers(&findings_chosen(all)->places.total, s, out);
    add_next(all, file, s, out);
}

#define OWN_BYTES 1048576 /* the user's line that holds most must have so many bytes, */
#define OWN_SHARE 0.1     /* and this share of the peak */

/* Names the user's line that holds most of the peak, if the findings do not. */
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
    say(&text, " holds %B of %B:", line.bytes, line.of_bytes);
    place_words(p, line.call, &text);
    wrap_since(&text, 0, 4, STYLE_WIDTH);
    strbuf_printf(out, "%s\n", text.data);
    strbuf_release(&text);
}

void findings_brief(const struct findings_all *all, const char *file, size_t most,
                    struct strbuf *out)
{
    for (size_t i = 0; i < shown(all, most); i++)
        add_line(all, i, "  ", STYLE_WIDTH, out);
    add_own_line(all, most, out);
    if (!all->list.count)
        return;
    strbuf_printf(out, "  %s: tidemark findings ",
                  all->list.count > most ? "more, with reasons" : "why, and what to do");
    next_file(out, file);
    strbuf_putc(out, '\n');
}

/* --- columns ---------------------------------------------------------------------------------- */

struct listed {
    struct placed_rows rows;
    const struct findings_all *all;
};

static struct placed where(const void *answer, const void *row)
{
    const struct joined_finding *j = row;
    (void)answer;
    return (struct placed){finding_places(j->of, j->own), j->own->call, j->own->leaf};
}

static struct cell get_kind(struct spot s)
{
    return CELL_OF(finding_kind_name(((const struct joined_finding *)s.row)->own));
}

static struct cell get_pid(struct spot s)
{
    return CELL_OF(((const struct joined_finding *)s.row)->of->places.total.profile->pid);
}

static struct cell get_pids(struct spot s)
{
    const struct joined_finding *j = s.row;
    for (size_t i = 0; i < j->pids.count; i++)
        say(s.made, "%r%d", i ? ";" : "", j->pids.items[i]);
    return CELL_OF(s.made->data);
}

static void put_pids(struct spot s, const char *key, struct json *j)
{
    const struct joined_finding *f = s.row;
    json_array(j, key);
    for (size_t i = 0; i < f->pids.count; i++)
        json_u64(j, NULL, f->pids.items[i]);
    json_end(j);
}

static struct cell get_title(struct spot s)
{
    add_title(((const struct listed *)s.answer)->all, s.row, s.made);
    return CELL_OF(s.made->data);
}

static struct cell get_why(struct spot s)
{
    strbuf_puts(s.made, "");
    add_why(s.row, s.made);
    return CELL_OF(s.made->data);
}

static struct cell get_do(struct spot s)
{
    const struct joined_finding *j = s.row;
    strbuf_puts(s.made, "");
    finding_do(j->of, j->own, s.made);
    return CELL_OF(s.made->data);
}

/* The moment to which its bytes refer. Bytes of findings with the same moment are distinct. */
static struct cell get_moment(struct spot s)
{
    static const char *const moments[FINDING_KINDS] = {
        [FINDING_LEAK] = "end",          [FINDING_GROWTH] = "end",
        [FINDING_PEAK] = "peak",         [FINDING_MAPPED] = "resident",
        [FINDING_RETAINED] = "resident", [FINDING_FRAGMENTED] = "resident",
        [FINDING_GPU] = "gpu peak"};
    return CELL_OF(moments[((const struct joined_finding *)s.row)->own->kind]);
}

static struct cell get_moment_ns(struct spot s)
{
    return CELL_OF(((const struct joined_finding *)s.row)->own->moment_ns);
}

static bool is_leak(const void *row)
{
    return ((const struct joined_finding *)row)->own->kind == FINDING_LEAK;
}

/* The user's own line, if it is another one. */
static void put_own(struct spot s, const char *key, struct json *j)
{
    struct placed at = where(s.answer, s.row);
    const struct frame_table *frames = &at.places->total.frames;
    uint32_t own = places_own(at.places, at.call);
    const struct call_frame *frame = places_frame(at.places, own);
    if (own == at.call) {
        json_null(j, key);
        return;
    }
    json_object(j, key);
    json_string(j, "function", frame_table_string(frames, frame->name));
    json_string(j, "file", location_file(frames, frame));
    json_u64(j, "line", frame->line);
    json_end(j);
}

/* The same in CSV: "function file:line"; nothing if it is the same line. */
static struct cell get_own(struct spot s)
{
    struct placed at = where(s.answer, s.row);
    uint32_t own = places_own(at.places, at.call);
    strbuf_puts(s.made, "");
    if (own == at.call)
        return CELL_OF(s.made->data);
    strbuf_puts(s.made, placed_name(&(struct placed){at.places, own, own}));
    place_words(at.places, own, s.made);
    return CELL_OF(s.made->data);
}

#define SUM(member) FIELD(struct joined_finding, sum.member)

static const struct column_def columns[] = {
    {"kind", NULL, COLUMN_WORD, .get = get_kind},
    {"pid", NULL, COLUMN_COUNT, .get = get_pid},
    {"pids", NULL, COLUMN_WORDS, .get = get_pids, .json = put_pids},
    {"of_processes", NULL, COLUMN_COUNT, FIELD(struct joined_finding, alike)},
    {"title", NULL, COLUMN_WORDS, .get = get_title},
    {"why", NULL, COLUMN_WORDS, .get = get_why},
    {"do", NULL, COLUMN_WORDS, .get = get_do},
    {"bytes", NULL, COLUMN_BYTES, SUM(bytes)},
    {"count", NULL, COLUMN_COUNT, SUM(count)},
    {"moment", NULL, COLUMN_WORD, .get = get_moment},
    {"moment_ns", NULL, COLUMN_TIME, .get = get_moment_ns, .zero_is_unknown = true,
     .optional = true},
    {"of_bytes", NULL, COLUMN_BYTES, SUM(of_bytes)},
    {"indirect_bytes", NULL, COLUMN_BYTES, SUM(led_bytes), .known = is_leak, .optional = true},
    {"indirect_count", NULL, COLUMN_COUNT, SUM(led_count), .known = is_leak, .optional = true},
    {"worth", NULL, COLUMN_REAL, SUM(worth)},
    PLACED_FUNCTION,
    {"for", NULL, COLUMN_WORDS, .get = get_own, .json = put_own},
    PLACED_STACK,
};

static struct rows rows_of(const struct listed *l, size_t most)
{
    struct rows rows = {COLUMN_DEFS(columns), ITEMS(l->all->list), .answer = l};
    rows.count = shown(l->all, most ? most : FINDINGS_MAX);
    return rows;
}

void findings_json(const struct findings_all *all, size_t most, struct strbuf *out)
{
    const struct answer *a = &findings_chosen(all)->places.total;
    const struct listed l = {{where}, all};
    struct rows rows = rows_of(&l, most);
    struct strbuf text = {0};
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.findings/1");
    json_program(&j, a->recording, a->profile);
    rows_json(&rows, "findings", NULL, &j);
    if (is_imported(all) && !all->list.count)
        json_null(&j, "clean");
    else
        json_bool(&j, "clean", is_clean(all));
    clean_reason(all, &text);
    json_string(&j, "basis", is_recorded(all) ? text.data : "not recorded");
    json_string(&j, "not_recorded", unseen(all));
    json_u64(&j, "planted_bytes", all->planted_bytes);
    json_u64(&j, "processes_left_out", all->left_out);
    json_ignored(&j, &a->tree);
    json_end(&j);
    strbuf_release(&text);
}

void findings_csv(const struct findings_all *all, size_t most, const struct report_sink *sink,
                  struct strbuf *out)
{
    const struct listed l = {{where}, all};
    struct rows rows = rows_of(&l, most);
    rows_csv(&rows, sink, out);
}
