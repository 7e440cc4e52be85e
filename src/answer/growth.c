#include "answer/growth.h"

#include <math.h>

#include "base/say.h"
#include "answer/chains.h"
#include "answer/columns.h"
#include "answer/growth_account.h"
#include "answer/json_parts.h"
#include "answer/leaks.h"
#include "answer/location.h"
#include "answer/next.h"
#include "answer/stack_text.h"
#include "answer/summary.h"
#include "answer/units.h"
#include "answer/wrap.h"

#define UNIT_WIDTH 14 /* columns of a title */

static const char *const line_names[GROWTH_SHOWN] = {"live", "rss", "vm"};
static const char *const line_titles[GROWTH_SHOWN] = {"live", "RSS", "VM"};

/* --- columns ---------------------------------------------------------------------------------- */

struct listed {
    const struct growth *growth;
    struct strbuf unit; /* "per event", a title */
};

static struct listed listed_of(const struct growth *g)
{
    struct listed l = {.growth = g};
    say(&l.unit, "per %s", growth_per(g));
    if (unit_columns(l.unit.data) > UNIT_WIDTH) {
        strbuf_clear(&l.unit);
        strbuf_puts(&l.unit, "per mark");
    }
    return l;
}

static const char *title_of_unit(const void *answer)
{
    return ((const struct listed *)answer)->unit.data;
}

/* --- the lines of the whole process --- */

struct line {
    const char *title;
    double first, last;
    const struct trend *trend;
};

static struct cell get_detectable(struct spot s)
{
    return CELL_OF(ceil(((const struct line *)s.row)->trend->detectable));
}

static struct cell get_line_model(struct spot s)
{
    return CELL_OF(trend_model_name(((const struct line *)s.row)->trend->model));
}

#define WHY             1u /* with all that is known of each */
#define LINE(member)    FIELD(struct line, member)
#define OF_LINE(member) FIELD_OF(struct line, trend, struct trend, member)

static const struct column_def line_columns[] = {
    {NULL, "", COLUMN_WORD, LINE(title)},
    {NULL, "first", COLUMN_BYTES, LINE(first)},
    {NULL, "last", COLUMN_BYTES, LINE(last)},
    {NULL, NULL, COLUMN_BYTES, OF_LINE(slope), .title_of = title_of_unit},
    {NULL, "at least", COLUMN_BYTES, OF_LINE(low), .text_if = WHY},
    {NULL, "at most", COLUMN_BYTES, OF_LINE(high), .text_if = WHY},
    {NULL, "seen from", COLUMN_BYTES, .get = get_detectable, .text_if = WHY},
    {NULL, "skipped", COLUMN_COUNT, OF_LINE(skipped), .text_if = WHY},
    {NULL, "model", COLUMN_WORD, .get = get_line_model},
};

static void add_lines(const struct growth *g, bool why, const struct style *s, struct strbuf *out)
{
    struct line lines[GROWTH_SHOWN];
    struct listed l = listed_of(g);
    for (int i = 0; i < GROWTH_SHOWN; i++)
        lines[i] = (struct line){line_titles[i], g->series[i][0],
                                 growth_last(g, (enum growth_line)i), &g->trends[i]};
    struct rows rows = {COLUMN_DEFS(line_columns), .items = lines, .item_size = sizeof *lines,
                        .count = GROWTH_SHOWN,     .answer = &l,   .is = why ? WHY : 0};
    rows_text(&rows, s, out);
    strbuf_putc(out, '\n');
    strbuf_release(&l.unit);
}

/* --- functions --- */

#define REST CALL_NONE /* in place of a call: what makes the rows add up to what all gained */

static const struct growth *growth_of(struct spot s)
{
    return ((const struct listed *)s.answer)->growth;
}

static const struct places *places_of(struct spot s)
{
    return growth_places(growth_of(s), ((const struct growth_site *)s.row)->domain);
}

static const struct call_frame *frame_of(struct spot s)
{
    return places_frame(places_of(s), ((const struct growth_site *)s.row)->call);
}

static struct cell get_domain(struct spot s)
{
    static const char *const names[] = {
        [DOMAIN_HEAP] = "heap", [DOMAIN_MAPPED] = "mapped", [DOMAIN_POOL] = "pool"};
    return CELL_OF(names[((const struct growth_site *)s.row)->domain]);
}

static struct cell get_function(struct spot s)
{
    return CELL_OF(((const struct growth_site *)s.row)->call == REST
                       ? "(all others)"
                       : frame_table_string(&places_of(s)->total.frames, frame_of(s)->name));
}

static struct cell get_file(struct spot s)
{
    return CELL_OF(location_file(&places_of(s)->total.frames, frame_of(s)));
}

static struct cell get_line(struct spot s)
{
    return CELL_OF(frame_of(s)->line);
}

static struct cell get_place(struct spot s)
{
    if (((const struct growth_site *)s.row)->call != REST)
        location_path(s.made, &places_of(s)->total.frames, frame_of(s));
    return CELL_OF(s.made->data);
}

/* Did it begin late, or stop? Then its rate is of that time. */
static bool is_part(const struct trend *t)
{
    return t->end > t->begin && (t->began || t->stopped) && t->rate > 0;
}

/* What it gained for each mark, or in which form. */
static struct cell get_shown_rate(struct spot s)
{
    const struct growth_site *site = s.row;
    const struct trend *t = &site->trend;
    if (site->call == REST)
        return CELL_OF("");
    if (site->grows || is_part(t))
        return CELL_OF(is_part(t) ? t->rate : t->slope);
    return CELL_OF(t->model == TREND_STEPS      ? "in steps"
                   : t->model == TREND_PLATEAU  ? "at first"
                   : t->model == TREND_SAWTOOTH ? "up and down"
                                                : "unsteady");
}

/* "#71", as a label may be long; "12.5 s" */
static struct cell get_shown_moment(struct spot s)
{
    const struct growth *g = growth_of(s);
    const struct trend *t = &((const struct growth_site *)s.row)->trend;
    size_t k = s.column->number ? t->end : t->begin + 1;
    strbuf_puts(s.made, "");
    if (!is_part(t) || !(s.column->number ? t->stopped : t->began && k < g->count))
        return CELL_OF(s.made->data);
    if (g->mark)
        say(s.made, "#%d", k + 1);
    else
        growth_moment(g, k, s.made);
    return CELL_OF(s.made->data);
}

static struct cell get_lost(struct spot s)
{
    return growth_of(s)->scan ? CELL_OF(((const struct growth_site *)s.row)->lost_bytes)
                              : CELL_NOT_KNOWN;
}

static struct cell get_shown_lost(struct spot s)
{
    const struct growth_site *site = s.row;
    if (site->domain != DOMAIN_HEAP)
        return CELL_OF(site->domain == DOMAIN_POOL ? "pool" : "mapped");
    if (site->call == REST || !growth_of(s)->scan)
        return CELL_OF("");
    return site->led_bytes > 0 && !site->lost_bytes
               ? CELL_OF("indirectly") /* counted with what it hangs on */
               : CELL_OF(site->lost_bytes);
}

/* The trend that a column of a site, or of the whole, is about. */
static const struct trend *trend_in(struct spot s)
{
    return (const struct trend *)((const char *)s.row + s.column->offset);
}

static struct cell get_model(struct spot s)
{
    return CELL_OF(trend_model_name(trend_in(s)->model));
}

/* When it began to grow, or stopped, as --at takes it; not known: not within the marks. */
static struct cell get_moment(struct spot s)
{
    const struct growth *g = growth_of(s);
    const struct trend *t = trend_in(s);
    size_t k = s.column->number ? t->end : t->begin + 1;
    if (t->end <= t->begin || !(s.column->number ? t->stopped : t->began) || k >= g->count)
        return CELL_NOT_KNOWN;
    if (g->mark)
        strbuf_printf(s.made, "%s#%zu", g->mark, k + 1);
    else
        strbuf_printf(s.made, "%.3fs", (double)g->stamp[k]->time_ns / 1e9);
    return CELL_OF(s.made->data);
}

static struct cell get_rate(struct spot s)
{
    const struct trend *t = trend_in(s);
    return CELL_OF(t->end > t->begin ? t->rate : t->slope);
}

static struct cell get_stack(struct spot s)
{
    const struct answer *a = &places_of(s)->total;
    stack_names(&a->frames, a->tree.parent.items, a->tree.frame.items,
                ((const struct growth_site *)s.row)->leaf, s.made);
    return CELL_OF(s.made->data);
}

static void put_stack(struct spot s, const char *key, struct json *j)
{
    const struct answer *a = &places_of(s)->total;
    struct json_stacks stacks = {.frames = &a->frames};
    (void)key;
    json_frames(j, &stacks, a->tree.parent.items, a->tree.frame.items,
                ((const struct growth_site *)s.row)->leaf);
    json_stacks_release(&stacks);
}

static const char *title_of_function(const void *answer)
{
    return ((const struct listed *)answer)->growth->sites.count ? "function that grows"
                                                                : "function that gained";
}

#define SITE(member) FIELD(struct growth_site, member)
#define PHASES(at)                                                                                 \
    {"began", NULL, COLUMN_WORD, .get = get_moment, .offset = (at)},                               \
        {"stopped", NULL, COLUMN_WORD, .get = get_moment, .offset = (at), .number = 1},            \
    {                                                                                              \
        "rate", NULL, COLUMN_REAL, .get = get_rate, .offset = (at)                                 \
    }

static const struct column_def phase_columns[] = {PHASES(0)};

static const struct column_def site_columns[] = {
    {NULL, "gained", COLUMN_BYTES, SITE(bytes)},
    {NULL, "blocks", COLUMN_COUNT, SITE(blocks)},
    {NULL, NULL, COLUMN_BYTES, .get = get_shown_rate, .title_of = title_of_unit},
    {NULL, "since", COLUMN_COUNT, .get = get_shown_moment},
    {NULL, "until", COLUMN_COUNT, .get = get_shown_moment, .number = 1},
    {NULL, "lost", COLUMN_BYTES, .get = get_shown_lost},
    {NULL, NULL, COLUMN_NAME, .get = get_function, .title_of = title_of_function},
    {NULL, "place", COLUMN_PATH, .get = get_place},
    {"grows", NULL, COLUMN_WORD, SITE(grows), .json_if = COLUMN_NEVER},
    {"domain", NULL, COLUMN_WORD, .get = get_domain},
    {"function", NULL, COLUMN_NAME, .get = get_function},
    {"file", NULL, COLUMN_PATH, .get = get_file},
    {"line", NULL, COLUMN_COUNT, .get = get_line, .zero_is_unknown = true},
    {"bytes", NULL, COLUMN_BYTES, SITE(bytes)},
    {"count", NULL, COLUMN_COUNT, SITE(blocks)},
    {"lost_bytes", NULL, COLUMN_BYTES, .get = get_lost},
    {"freed_bytes", NULL, COLUMN_BYTES, SITE(freed_bytes)},
    {"bytes_per_mark", NULL, COLUMN_REAL, SITE(trend.slope)},
    {"low", NULL, COLUMN_REAL, SITE(trend.low)},
    {"high", NULL, COLUMN_REAL, SITE(trend.high)},
    {"model", NULL, COLUMN_WORD, .get = get_model, .offset = offsetof(struct growth_site, trend)},
    PHASES(offsetof(struct growth_site, trend)),
    {"stack", NULL, COLUMN_WORDS, .get = get_stack, .json = put_stack},
};

static size_t at_most(size_t count, size_t most)
{
    return count < most ? count : most;
}

static struct rows rows_of(const struct listed *l, const struct growth_site *sites, size_t count)
{
    return (struct rows){COLUMN_DEFS(site_columns), .items = sites, .item_size = sizeof *sites,
                         .count = count, .answer = l};
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_sites(const struct growth *g, size_t most, const struct style *s,
                      struct strbuf *out)
{
    struct growth_site rest = {.call = REST, .bytes = g->gained_bytes, .blocks = g->gained_blocks};
    size_t all = g->sites.count + g->other.count;
    struct listed l = listed_of(g);
    VEC(struct growth_site) shown = {0};
    for (size_t i = 0; i < at_most(all, most); i++) {
        const struct growth_site *site = growth_site_at(g, i);
        *vec_push(&shown) = *site;
        if (site->domain != DOMAIN_HEAP)
            continue; /* not among the blocks of the heap, which are added up */
        rest.bytes = wrapped_less(rest.bytes, site->bytes);
        rest.blocks = wrapped_less(rest.blocks, site->blocks);
    }
    struct rows rows = rows_of(&l, shown.items, shown.count);
    rows.totals = rest.bytes || rest.blocks ? &rest : NULL;
    rows_text(&rows, s, out);
    if (all > most)
        say(out, "... %d more; --top 0 shows all\n", all - most);
    strbuf_putc(out, '\n');
    vec_release(&shown);
    strbuf_release(&l.unit);
}

static void add_per(const struct growth *g, const struct style *s, struct strbuf *out)
{
    summary_label(out, s, "per value");
    say(out, "bytes for each unit of '%s', %.10g units in all\n", g->per, g->units[g->count - 1]);
    for (int line = 0; line < GROWTH_SHOWN; line++) {
        const struct trend *r = &g->per_trends[line];
        strbuf_printf(out, "  %-5s %.6g bytes (95 %% interval %.6g to %.6g), %s\n",
                      line_titles[line], r->slope, r->low, r->high, trend_model_name(r->model));
    }
    strbuf_putc(out, '\n');
}

static void add_moments(const struct growth *g, const struct style *s, struct strbuf *out)
{
    if (g->mark)
        summary_line(out, s, "marks", "%N of '%s'", g->count, g->mark);
    else
        summary_line(out, s, "stamps", "%N of the collector's own: the program made no marks",
                     g->count);
}

/* A command whose report has what the verdict is about, over the time that it grew. */
static void add_next(const struct growth *g, const char *file, const struct style *s,
                     struct strbuf *out)
{
    const struct answer *a = &g->places.total;
    strbuf_printf(out, "%snext: tidemark ", style_faint(s));
    if (!g->known && !g->mark) {
        strbuf_puts(out, "run --mark-on FUNCTION ");
        summary_command(a->profile, s->width > 80 ? s->width - 36 : 40, out);
        strbuf_printf(out, "%s\n", style_plain(s));
        return;
    }
    enum domain domain = g->sites.count   ? g->sites.items[0].domain
                         : g->other.count ? g->other.items[0].domain
                                          : DOMAIN_HEAP;
    if (g->verdict == VERDICT_MAPPED || g->verdict == VERDICT_SHARED ||
        g->verdict == VERDICT_ADDRESS_SPACE)
        domain = g->mapped.count ? DOMAIN_MAPPED : DOMAIN_COUNT;
    bool functions = g->sites.count + g->other.count > 0;
    bool maps = g->verdict == VERDICT_RETENTION || g->verdict == VERDICT_FRAGMENTATION ||
                domain == DOMAIN_COUNT || !functions;
    strbuf_puts(out, g->verdict == VERDICT_LEAK ? "leaks " : maps ? "maps " : "report ");
    next_word(out, file);
    unit_process(out, g->places.query.process);
    if (g->verdict != VERDICT_LEAK && !maps) {
        strbuf_puts(out, domain == DOMAIN_MAPPED ? " --metric mapped"
                         : domain == DOMAIN_POOL ? " --metric pool"
                                                 : "");
        if (g->mark && g->count > 1) {
            size_t first = domain == DOMAIN_HEAP ? g->first : g->rates.begin;
            say(out, " --since '%s#%d' --at '%s#-1'", g->mark, first + 1, g->mark);
        }
    }
    strbuf_printf(out, "%s\n", style_plain(s));
}

static void add_why(const struct growth *g, size_t most, const struct style *s, struct strbuf *out)
{
    struct sentences evidence = {0};
    growth_evidence(g, &evidence);
    for (size_t i = 0; i < evidence.list.count; i++)
        wrap_text("  - ", evidence.list.items[i], s->width, out);
    sentences_release(&evidence);
    strbuf_putc(out, '\n');
    if (g->known)
        add_lines(g, true, s, out);
    growth_account_text(g, most, s, out);
    chains_text(&g->places, &g->chains, (struct chain_events){g->mark, g->count}, most, s, out);
}

/* Growth is about one process; what others lost is for leaks. */
static struct leak_others others_of(const struct growth *g)
{
    const struct leaks_question q = {.query = g->places.query, .kinds = LEAKS_NOT_FREED};
    const struct leaks own = {
        .recording = g->places.total.recording, .profile = g->places.total.profile, .question = &q};
    return own.profile->together ? (struct leak_others){0} : leaks_of_others(&own);
}

static void add_about(const struct growth *g, const struct style *s, struct strbuf *out)
{
    const struct answer *a = &g->places.total;
    summary_choice(a->recording, a->profile, s, out);
    struct leak_others others = others_of(g);
    if (others.processes) {
        summary_label(out, s, "others");
        say(out, "%N other process(es) lost %B; see tidemark leaks\n", others.processes,
            others.bytes);
    }
    summary_label(out, s, "command");
    summary_command(a->profile, s->width > 30 ? s->width - 12 : 20, out);
    strbuf_putc(out, '\n');
    summary_ignored(&a->tree, &a->frames, METRIC_TOTAL, s, 3, out);
    add_moments(g, s, out);
}

void growth_text(const struct growth *g, const char *file, size_t most, bool why,
                 const struct style *s, struct strbuf *out)
{
    const char *verdict = growth_verdict_name(g->verdict);
    struct strbuf answer = {0};
    if (verdict)
        strbuf_printf(&answer, "%s: ", verdict);
    growth_answer(g, &answer);
    strbuf_puts(out, style_bold(s));
    wrap_text("", answer.data, s->width, out);
    strbuf_printf(out, "%s\n", style_plain(s));
    strbuf_release(&answer);
    if (g->sites.count + g->other.count)
        add_sites(g, most, s, out);
    else if (g->known && !why)
        add_lines(g, false, s, out);
    if (g->per && g->known)
        add_per(g, s, out);
    if (why)
        add_why(g, most, s, out);
    summary_arenas(g->places.total.profile, out);
    add_about(g, s, out);
    if (!why && g->chains.list.count) {
        summary_label(out, s, "arrays");
        say(out, "%N line(s)%r step by step; --why tells which\n", g->chains.list.count,
            g->chains.list.count == 1 ? " grows an array" : " grow arrays");
    }
    if (!why)
        strbuf_printf(out, "%swhy: --why shows what this rests on%s\n", style_faint(s),
                      style_plain(s));
    add_next(g, file, s, out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_trend(struct json *j, const char *key, const char *unit, const struct trend *t)
{
    json_object(j, key);
    json_double(j, unit, t->slope);
    json_double(j, "low", t->low);
    json_double(j, "high", t->high);
    json_double(j, "detectable", t->detectable);
    json_u64(j, "skipped", t->skipped);
    json_string(j, "model", trend_model_name(t->model));
    json_end(j);
}

static void json_sites(struct json *j, const struct listed *l, size_t most)
{
    const struct growth *g = l->growth;
    struct rows sites = rows_of(l, g->sites.items, at_most(g->sites.count, most)),
                others = rows_of(l, g->other.items, at_most(g->other.count, most));
    json_i64(j, "gained_bytes", g->gained_bytes);
    rows_json(&sites, "sites", NULL, j);
    rows_json(&others, "other_sites", NULL, j);
}

void growth_json(const struct growth *g, size_t most, struct strbuf *out)
{
    struct sentences evidence = {0};
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.growth/1");
    json_program(&j, g->places.total.recording, g->places.total.profile);
    json_string(&j, "mark", g->mark);
    json_string(&j, "unit", g->mark ? "mark" : "second");
    json_u64(&j, "n", g->count);
    json_u64(&j, "skipped", g->skipped);
    json_object(&j, "slopes");
    for (int line = 0; line < GROWTH_SHOWN && g->known; line++)
        json_trend(&j, line_names[line], "bytes_per_mark", &g->trends[line]);
    json_end(&j);
    if (g->scan && g->known)
        json_trend(&j, "lost", "bytes_per_mark", &g->trends[GROWTH_LOST]);
    else
        json_null(&j, "lost");
    if (g->per) {
        json_object(&j, "per");
        json_string(&j, "key", g->per);
        json_double(&j, "units", g->count ? g->units[g->count - 1] : 0);
        json_object(&j, "slopes");
        for (int line = 0; line < GROWTH_SHOWN && g->known; line++)
            json_trend(&j, line_names[line], "bytes_per_unit", &g->per_trends[line]);
        json_end(&j);
        json_end(&j);
    }
    json_string(&j, "verdict", growth_verdict_name(g->verdict));
    struct strbuf answer = {0};
    growth_answer(g, &answer);
    json_string(&j, "answer", answer.data);
    strbuf_release(&answer);
    const struct listed l = {.growth = g};
    const struct rows phase = {COLUMN_DEFS(phase_columns), .answer = &l};
    row_json(&phase, &g->cause, &j);
    if (g->planted_bytes > 0)
        json_double(&j, "planted_bytes", g->planted_bytes);
    else
        json_null(&j, "planted_bytes");
    growth_evidence(g, &evidence);
    json_array(&j, "evidence");
    for (size_t i = 0; i < evidence.list.count; i++)
        json_string(&j, NULL, evidence.list.items[i]);
    json_end(&j);
    sentences_release(&evidence);
    json_sites(&j, &l, most);
    growth_account_json(&j, g, most);
    leak_others_json(&j, others_of(g));
    chains_json(&j, &g->places, &g->chains, (struct chain_events){g->mark, g->count}, most);
    json_end(&j);
}

void growth_csv(const struct growth *g, size_t most, struct strbuf *out)
{
    const struct listed l = {.growth = g};
    struct rows sites = rows_of(&l, g->sites.items, at_most(g->sites.count, most)),
                others = rows_of(&l, g->other.items, at_most(g->other.count, most));
    others.continued = true;
    rows_csv(&sites, NULL, out);
    rows_csv(&others, NULL, out);
}
