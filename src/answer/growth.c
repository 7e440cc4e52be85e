#include "answer/next.h"
#include "base/say.h"
#include "answer/growth.h"

#include <math.h>

#include "analyse/leaks.h"
#include "answer/chains.h"
#include "answer/growth_account.h"
#include "answer/json_parts.h"
#include "answer/summary.h"
#include "answer/table.h"
#include "answer/units.h"
#include "answer/wrap.h"

#define UNIT_WIDTH 14 /* columns of a title */

static const char *const line_names[GROWTH_SHOWN] = {"live", "rss", "vm"};
static const char *const line_titles[GROWTH_SHOWN] = {"live", "RSS", "VM"};

static const char *function_of(const struct growth *g, const struct growth_site *site)
{
    const struct places *p = growth_places(g, site->domain);
    return frame_table_string(&p->total.frames, places_frame(p, site->call)->name);
}

/* --- text ------------------------------------------------------------------------------------- */

static void bytes_cell(struct table *t, double value)
{
    unit_bytes(table_cell(t), (int64_t)fmin(fmax(round(value), -9e18), 9e18));
}

/* "per event" as the title of a column; the caller releases it. */
static struct strbuf unit_title(const struct growth *g)
{
    struct strbuf title = {0};
    growth_unit(g, &title);
    if (unit_columns(title.data) > UNIT_WIDTH) {
        strbuf_release(&title);
        strbuf_puts(&title, "per mark");
    }
    return title;
}

/* The three lines; with all that is known of each if `why`. */
static void add_lines(const struct growth *g, bool why, const struct style *s, struct strbuf *out)
{
    struct strbuf unit = unit_title(g);
    struct table t;
    table_init(&t);
    table_column(&t, "", CELL_LEFT);
    table_column(&t, "first", CELL_RIGHT);
    table_column(&t, "last", CELL_RIGHT);
    table_column(&t, unit.data, CELL_RIGHT);
    if (why) {
        table_column(&t, "at least", CELL_RIGHT);
        table_column(&t, "at most", CELL_RIGHT);
        table_column(&t, "seen from", CELL_RIGHT);
        table_column(&t, "skipped", CELL_RIGHT);
    }
    table_column(&t, "model", CELL_LEFT);
    for (int line = 0; line < GROWTH_SHOWN; line++) {
        const struct trend *r = &g->trends[line];
        strbuf_puts(table_cell(&t), line_titles[line]);
        bytes_cell(&t, g->series[line][0]);
        bytes_cell(&t, growth_last(g, (enum growth_line)line));
        bytes_cell(&t, r->slope);
        if (why) {
            bytes_cell(&t, r->low);
            bytes_cell(&t, r->high);
            bytes_cell(&t, ceil(r->detectable));
            unit_count(table_cell(&t), (int64_t)r->skipped);
        }
        strbuf_puts(table_cell(&t), trend_model_name(r->model));
    }
    table_print(&t, s, out);
    table_release(&t);
    strbuf_release(&unit);
    strbuf_putc(out, '\n');
}

static void add_per(const struct growth *g, const struct style *s, struct strbuf *out)
{
    summary_label(out, s, "per value");
    say(out, "bytes per unit of '%s', %.10g units in total\n", g->per, g->units[g->count - 1]);
    for (int line = 0; line < GROWTH_SHOWN; line++) {
        const struct trend *r = &g->per_trends[line];
        strbuf_printf(out, "  %-5s %.6g bytes (95 %% interval %.6g to %.6g), %s\n",
                      line_titles[line], r->slope, r->low, r->high, trend_model_name(r->model));
    }
    strbuf_putc(out, '\n');
}

static const char *form_of(const struct growth_site *site)
{
    return site->trend.model == TREND_STEPS      ? "in steps"
           : site->trend.model == TREND_PLATEAU  ? "at first"
           : site->trend.model == TREND_SAWTOOTH ? "up and down"
                                                 : "unsteady";
}

/* "#71", as a label may be long; "12.5 s" */
static void moment_cell(const struct growth *g, size_t k, struct strbuf *cell)
{
    if (g->mark)
        strbuf_printf(cell, "#%zu", k + 1);
    else
        growth_moment(g, k, cell);
}

/* What it gained for each mark, or in which form; where it began late or stopped, that too. */
static void add_rate(const struct growth *g, const struct growth_site *site, struct table *t)
{
    const struct trend *r = &site->trend;
    bool part = r->end > r->begin && (r->began || r->stopped) && r->rate > 0;
    if (site->grows || part)
        bytes_cell(t, part ? r->rate : r->slope);
    else
        strbuf_puts(table_cell(t), form_of(site));
    struct strbuf *since = table_cell(t), *until = table_cell(t);
    if (part && r->began && r->begin + 1 < g->count)
        moment_cell(g, r->begin + 1, since);
    if (part && r->stopped)
        moment_cell(g, r->end, until);
}

static void add_site(const struct growth *g, const struct growth_site *site, struct table *t)
{
    const struct places *p = growth_places(g, site->domain);
    const struct call_frame *frame = places_frame(p, site->call);
    unit_bytes(table_cell(t), site->bytes);
    unit_count(table_cell(t), site->blocks);
    add_rate(g, site, t);
    struct strbuf *lost = table_cell(t);
    if (site->domain != DOMAIN_HEAP)
        strbuf_puts(lost, site->domain == DOMAIN_POOL ? "pool" : "mapped");
    else if (g->scan && site->led_bytes > 0 && !site->lost_bytes)
        strbuf_puts(lost, "indirectly"); /* counted with what it hangs on */
    else if (g->scan)
        unit_bytes(lost, site->lost_bytes);
    unit_text(table_cell(t), function_of(g, site));
    struct strbuf *place = table_cell(t);
    if (frame->file) {
        unit_text(place, frame_table_string(&p->total.frames, frame->file));
        if (frame->line)
            strbuf_printf(place, ":%u", frame->line);
    }
}

/* What makes the rows add up to what all functions gained. */
static void add_rest(int64_t bytes, int64_t blocks, struct table *t)
{
    if (!bytes && !blocks)
        return;
    unit_bytes(table_cell(t), bytes);
    unit_count(table_cell(t), blocks);
    for (int i = 0; i < 4; i++)
        table_cell(t);
    strbuf_puts(table_cell(t), "(all others)");
    table_cell(t);
}

static void add_sites(const struct growth *g, size_t most, const struct style *s,
                      struct strbuf *out)
{
    uint64_t bytes = (uint64_t)g->gained_bytes, blocks = (uint64_t)g->gained_blocks;
    size_t all = g->sites.count + g->other.count;
    struct strbuf unit = unit_title(g);
    struct table t;
    table_init(&t);
    table_column(&t, "gained", CELL_RIGHT);
    table_column(&t, "blocks", CELL_RIGHT);
    table_column(&t, unit.data, CELL_RIGHT);
    table_column(&t, "since", CELL_RIGHT);
    table_column(&t, "until", CELL_RIGHT);
    table_column(&t, "lost", CELL_RIGHT);
    table_column(&t, g->sites.count ? "function that grows" : "function that gained", CELL_NAME);
    table_column(&t, "place", CELL_PATH);
    for (size_t i = 0; i < all && i < most; i++) {
        const struct growth_site *site =
            i < g->sites.count ? &g->sites.items[i] : &g->other.items[i - g->sites.count];
        add_site(g, site, &t);
        if (site->domain != DOMAIN_HEAP)
            continue; /* not among the blocks of the heap, which are added up */
        bytes -= (uint64_t)site->bytes;
        blocks -= (uint64_t)site->blocks;
    }
    add_rest((int64_t)bytes, (int64_t)blocks, &t);
    table_print(&t, s, out);
    table_release(&t);
    strbuf_release(&unit);
    if (all > most)
        strbuf_printf(out, "... %zu more; --top 0 shows all\n", all - most);
    strbuf_putc(out, '\n');
}

static void add_moments(const struct growth *g, const struct style *s, struct strbuf *out)
{
    size_t start = out->size;
    summary_label(out, s, g->mark ? "marks" : "stamps");
    unit_count(out, (int64_t)g->count);
    if (g->mark) {
        say(out, " of '%s'", g->mark);
    } else {
        strbuf_puts(out, " of the collector's own: the program made no marks");
    }
    wrap_since(out, start, SUMMARY_LABEL, s->width);
    strbuf_putc(out, '\n');
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
static void add_others(const struct growth *g, const struct style *s, struct strbuf *out)
{
    const struct leaks_question q = {.query = g->places.query, .kinds = LEAKS_NOT_FREED};
    const struct leaks own = {
        .recording = g->places.total.recording, .profile = g->places.total.profile, .question = &q};
    if (own.profile->together)
        return;
    struct leak_others o = leaks_of_others(&own);
    if (!o.processes)
        return;
    summary_label(out, s, "others");
    say(out, "%N other process(es) lost %B; see tidemark leaks\n", o.processes, o.bytes);
}

static void add_about(const struct growth *g, const struct style *s, struct strbuf *out)
{
    const struct answer *a = &g->places.total;
    summary_choice(a->recording, a->profile, s, out);
    add_others(g, s, out);
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
        say(out, "%N line(s)%r step by step; --why lists them\n", g->chains.list.count,
            g->chains.list.count == 1 ? " grows an array" : " grow arrays");
    }
    if (!why)
        strbuf_printf(out, "%swhy: --why shows the evidence%s\n", style_faint(s), style_plain(s));
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

/* A moment as --at takes it. */
static void json_moment(struct json *j, const char *key, const struct growth *g, bool is, size_t k)
{
    struct strbuf text = {0};
    if (is && k < g->count && g->mark)
        strbuf_printf(&text, "%s#%zu", g->mark, k + 1);
    else if (is && k < g->count)
        strbuf_printf(&text, "%.3fs", (double)g->stamp[k]->time_ns / 1e9);
    json_string(j, key, text.data);
    strbuf_release(&text);
}

/* When it began to grow, and stopped; null: not within the marks. */
static void json_phase(struct json *j, const struct growth *g, const struct trend *t)
{
    bool grew = t->end > t->begin;
    json_moment(j, "began", g, grew && t->began, t->begin + 1);
    json_moment(j, "stopped", g, grew && t->stopped, t->end);
    json_double(j, "rate", grew ? t->rate : t->slope);
}

static void json_site(struct json *j, const struct growth *g, const struct growth_site *site,
                      struct json_stacks *stacks)
{
    static const char *const domains[] = {
        [DOMAIN_HEAP] = "heap", [DOMAIN_MAPPED] = "mapped", [DOMAIN_POOL] = "pool"};
    const struct places *p = growth_places(g, site->domain);
    const struct answer *a = &p->total;
    const struct call_frame *frame = places_frame(p, site->call);
    json_object(j, NULL);
    json_string(j, "domain", domains[site->domain]);
    json_string(j, "function", function_of(g, site));
    json_string(j, "file", frame->file ? frame_table_string(&a->frames, frame->file) : NULL);
    if (frame->line)
        json_u64(j, "line", frame->line);
    else
        json_null(j, "line");
    json_i64(j, "bytes", site->bytes);
    json_i64(j, "count", site->blocks);
    if (g->scan)
        json_i64(j, "lost_bytes", site->lost_bytes);
    else
        json_null(j, "lost_bytes");
    json_i64(j, "freed_bytes", site->freed_bytes);
    json_double(j, "bytes_per_mark", site->trend.slope);
    json_double(j, "low", site->trend.low);
    json_double(j, "high", site->trend.high);
    json_string(j, "model", trend_model_name(site->trend.model));
    json_phase(j, g, &site->trend);
    json_frames(j, stacks, a->tree.parent.items, a->tree.frame.items, site->leaf);
    json_end(j);
}

static void json_list(struct json *j, const struct growth *g, const char *key,
                      const struct growth_site *list, size_t count)
{
    json_array(j, key);
    for (size_t i = 0; i < count; i++) {
        struct json_stacks stacks = {.frames = &growth_places(g, list[i].domain)->total.frames};
        json_site(j, g, &list[i], &stacks);
        json_stacks_release(&stacks);
    }
    json_end(j);
}

static void json_sites(struct json *j, const struct growth *g, size_t most)
{
    json_i64(j, "gained_bytes", g->gained_bytes);
    json_list(j, g, "sites", g->sites.items, g->sites.count < most ? g->sites.count : most);
    json_list(j, g, "other_sites", g->other.items, g->other.count < most ? g->other.count : most);
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
    json_phase(&j, g, &g->cause);
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
    json_sites(&j, g, most);
    growth_account_json(&j, g, most);
    chains_json(&j, &g->places, &g->chains, (struct chain_events){g->mark, g->count}, most);
    json_end(&j);
}
