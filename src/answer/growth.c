#include "answer/growth.h"

#include <math.h>

#include "base/say.h"
#include "answer/realloc_chains.h"
#include "answer/growth_account.h"
#include "answer/json_parts.h"
#include "answer/leaks.h"
#include "answer/location.h"
#include "answer/place_columns.h"
#include "base/units.h"

#define UNIT_WIDTH 14 /* columns of a title */
#define PAIR_WIDTH 15 /* columns for a function, and for its caller */

static const char *const line_names[GROWTH_SHOWN] = {"live", "rss", "vm"};
const char *const growth_line_titles[GROWTH_SHOWN] = {"live", "RSS", "VM"};

/* --- columns ---------------------------------------------------------------------------------- */

struct listed {
    struct placed_rows rows;
    const struct growth *growth;
    struct strbuf unit; /* "per event", a title */
};

static struct placed where(const void *answer, const void *row)
{
    const struct growth_site *site = row;
    return (struct placed){growth_places(((const struct listed *)answer)->growth, site->domain),
                           site->call, site->leaf};
}

static struct listed listed_of(const struct growth *g)
{
    struct listed l = {.rows = {where}, .growth = g};
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

/* --- the lines of the whole process ----------------------------------------------------------- */

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

#define WHY             1u /* with all that is known about each */
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

void growth_lines_text(const struct growth *g, bool why, const struct style *s, struct strbuf *out)
{
    struct line lines[GROWTH_SHOWN];
    struct listed l = listed_of(g);
    for (int i = 0; i < GROWTH_SHOWN; i++)
        lines[i] = (struct line){growth_line_titles[i], g->series[i][0],
                                 growth_last(g, (enum growth_line)i), &g->trends[i]};
    struct rows rows = {COLUMN_DEFS(line_columns), .items = lines, .item_size = sizeof *lines,
                        .count = GROWTH_SHOWN,     .answer = &l,   .is = why ? WHY : 0};
    rows_text(&rows, s, out);
    strbuf_putc(out, '\n');
    strbuf_release(&l.unit);
}

/* --- functions -------------------------------------------------------------------------------- */

static const struct growth *growth_of(struct spot s)
{
    return ((const struct listed *)s.answer)->growth;
}

static struct cell get_domain(struct spot s)
{
    static const char *const names[] = {
        [DOMAIN_HEAP] = "heap", [DOMAIN_MAPPED] = "mapped", [DOMAIN_POOL] = "pool"};
    return CELL_OF(names[((const struct growth_site *)s.row)->domain]);
}

/* Did it begin late, or stop? Then its rate is of that time. */
static bool is_part(const struct trend *t)
{
    return t->end > t->begin && (t->began || t->stopped) && t->rate > 0;
}

/* What it gained per mark, or in which form. */
static struct cell get_shown_rate(struct spot s)
{
    const struct growth_site *site = s.row;
    const struct trend *t = &site->trend;
    if (site->call == CALL_NONE)
        return CELL_OF("");
    if (site->grows || is_part(t))
        return CELL_OF(is_part(t) ? t->rate : t->slope);
    return CELL_OF(t->model == TREND_STEPS      ? "in steps"
                   : t->model == TREND_PLATEAU  ? "at first"
                   : t->model == TREND_SAWTOOTH ? "up and down"
                                                : "unsteady");
}

/* "#71", because a label may be long; or "12.5 s" */
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
    if (site->call == CALL_NONE || !growth_of(s)->scan)
        return CELL_OF("");
    return site->led_bytes > 0 && !site->lost_bytes
               ? CELL_OF("indirectly") /* counted with the lost block that leads to it */
               : CELL_OF(site->lost_bytes);
}

/* The trend that a column of a function, or of the whole process, is about. */
static const struct trend *trend_in(struct spot s)
{
    return (const struct trend *)((const char *)s.row + s.column->offset);
}

static struct cell get_model(struct spot s)
{
    return CELL_OF(trend_model_name(trend_in(s)->model));
}

/* When it began to grow, or stopped, in the form of --at; unknown: not within the marks. */
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

/* The function, with its caller if another row has the same function. */
static struct cell get_shown_function(struct spot s)
{
    const struct growth *g = growth_of(s);
    const struct growth_site *site = s.row;
    const struct places *p = growth_places(g, site->domain);
    uint32_t caller = site->call == CALL_NONE ? 0 : p->total.tree.parent.items[site->call];
    size_t same = 0;
    for (size_t i = 0; caller && i < g->sites.count + g->other.count; i++) {
        const struct growth_site *other = growth_site_at(g, i);
        same += other->domain == site->domain && places_same_function(p, site->call, other->call);
    }
    if (same < 2)
        return placed_function(s);
    const struct placed own = {p, site->call, site->leaf}, from = {p, caller, site->leaf};
    location_name(s.made, placed_name(&own), PAIR_WIDTH);
    strbuf_puts(s.made, " < ");
    location_name(s.made, placed_name(&from), PAIR_WIDTH);
    return CELL_OF(s.made->data);
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
    {NULL, NULL, COLUMN_NAME, .get = get_shown_function, .title_of = title_of_function},
    {NULL, "where", COLUMN_PATH, .get = placed_path},
    {"grows", NULL, COLUMN_WORD, SITE(grows), .json_if = COLUMN_NEVER},
    {"domain", NULL, COLUMN_WORD, .get = get_domain},
    PLACED_FUNCTION,
    {"bytes", NULL, COLUMN_BYTES, SITE(bytes)},
    {"count", NULL, COLUMN_COUNT, SITE(blocks)},
    {"lost_bytes", NULL, COLUMN_BYTES, .get = get_lost},
    {"freed_bytes", NULL, COLUMN_BYTES, SITE(freed_bytes)},
    {"bytes_per_mark", NULL, COLUMN_REAL, SITE(trend.slope)},
    {"low", NULL, COLUMN_REAL, SITE(trend.low)},
    {"high", NULL, COLUMN_REAL, SITE(trend.high)},
    {"model", NULL, COLUMN_WORD, .get = get_model, .offset = offsetof(struct growth_site, trend)},
    PHASES(offsetof(struct growth_site, trend)),
    PLACED_STACK,
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

void growth_sites_text(const struct growth *g, size_t most, const struct style *s,
                       struct strbuf *out)
{
    struct growth_site rest = {
        .call = CALL_NONE, .bytes = g->gained_bytes, .blocks = g->gained_blocks};
    size_t all = g->sites.count + g->other.count;
    struct listed l = listed_of(g);
    VEC(struct growth_site) shown = {0};
    for (size_t i = 0; i < at_most(all, most); i++) {
        const struct growth_site *site = growth_site_at(g, i);
        *vec_push(&shown) = *site;
        if (site->domain != DOMAIN_HEAP)
            continue; /* not heap blocks: those are added up */
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

struct leak_others growth_others(const struct growth *g)
{
    const struct leaks_question q = {.query = g->places.query, .kinds = LEAKS_NOT_FREED};
    const struct leaks own = {
        .recording = g->places.total.recording, .profile = g->places.total.profile, .question = &q};
    return own.profile->together ? (struct leak_others){0} : leaks_of_others(&own, 0);
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
    const struct listed l = {.rows = {where}, .growth = g};
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
    leak_others_json(&j, growth_others(g));
    chains_json(&j, &g->places, &g->chains, (struct chain_events){g->mark, g->count}, most);
    json_end(&j);
}

void growth_csv(const struct growth *g, size_t most, const struct report_sink *sink,
                struct strbuf *out)
{
    const struct listed l = {.rows = {where}, .growth = g};
    struct rows sites = rows_of(&l, g->sites.items, at_most(g->sites.count, most)),
                others = rows_of(&l, g->other.items, at_most(g->other.count, most));
    others.continued = true;
    rows_csv(&sites, sink, out);
    rows_csv(&others, sink, out);
}
