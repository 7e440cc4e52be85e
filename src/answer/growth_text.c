/* Growth as text: the answer, the functions, and with --why the evidence. */
#include "base/say.h"
#include "answer/realloc_chains.h"
#include "answer/growth.h"
#include "answer/growth_account.h"
#include "answer/next_command.h"
#include "answer/summary.h"
#include "answer/wrap.h"

#define LARGE_BYTES (UINT64_C(1) << 20) /* the peak of a process that is mentioned */

static void add_per(const struct growth *g, const struct style *s, struct strbuf *out)
{
    summary_label(out, s, "per value");
    say(out, "bytes per unit of '%s', %.10g units in total\n", g->per, g->units[g->count - 1]);
    for (int line = 0; line < GROWTH_SHOWN; line++) {
        const struct trend *r = &g->per_trends[line];
        strbuf_printf(out, "  %-5s %.6g bytes (95 %% interval %.6g to %.6g), %s\n",
                      growth_line_titles[line], r->slope, r->low, r->high,
                      trend_model_name(r->model));
    }
    strbuf_putc(out, '\n');
}

static void add_moments(const struct growth *g, const struct style *s, struct strbuf *out)
{
    if (g->mark)
        summary_line(out, s, "marks", "%N of '%s'", g->count, g->mark);
    else
        summary_line(out, s, "stamps", "%N, taken by the collector: the program made no marks",
                     g->count);
}

/* Suggests a command whose report shows what the verdict is about, over the time in which it
 * grew. */
static void add_next(const struct growth *g, const char *file, const struct style *s,
                     struct strbuf *out)
{
    const struct answer *a = &g->places.total;
    if (not_recorded(a->profile, &(size_t){0}) == RECORDED_NOTHING)
        return; /* a longer run would not show more */
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
    next_file(out, file);
    next_option(out, "--process", g->places.query.process);
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
        growth_lines_text(g, true, s, out);
    growth_account_text(g, most, s, out);
    chains_text(&g->places, &g->chains, (struct chain_events){g->mark, g->count}, most, s, out);
}

/* How many large processes the verdict is not about. They may grow as well. */
static size_t large_others(const struct recording *r, const struct profile *own)
{
    size_t count = 0;
    for (size_t i = 0; i < r->profiles.count && !own->together; i++) {
        const struct profile *p = &r->profiles.items[i];
        count += p != own && !p->execed && p->peak_bytes >= LARGE_BYTES;
    }
    return count;
}

static void add_about(const struct growth *g, const struct style *s, struct strbuf *out)
{
    const struct answer *a = &g->places.total;
    summary_choice(a->recording, a->profile, s, out);
    struct leak_others others = growth_others(g);
    if (others.processes) {
        summary_label(out, s, "others");
        say(out, "%N other process(es) lost %B in %N block(s); see tidemark leaks\n",
            others.processes, others.bytes, others.blocks);
    }
    size_t large = large_others(a->recording, a->profile);
    if (large) {
        summary_label(out, s, "others");
        say(out,
            "%N other process(es) with a peak of 1 MiB or more %r not judged here; see tidemark "
            "findings\n",
            large, large == 1 ? "is" : "are");
    }
    summary_label(out, s, "command");
    summary_command(a->profile, s->width > 30 ? s->width - 12 : 20, out);
    strbuf_putc(out, '\n');
    summary_sampled(a->profile, s, out);
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
        growth_sites_text(g, most, s, out);
    else if (g->known && !why)
        growth_lines_text(g, false, s, out);
    if (g->per && g->known)
        add_per(g, s, out);
    if (why)
        add_why(g, most, s, out);
    summary_arenas(g->places.total.profile, out);
    add_about(g, s, out);
    if (!why && g->chains.list.count) {
        summary_label(out, s, "arrays");
        say(out, "%N source line(s)%r step by step; --why lists them\n", g->chains.list.count,
            g->chains.list.count == 1 ? " grows an array" : " grow arrays");
    }
    if (!why)
        strbuf_printf(out, "%s--why shows the evidence%s\n", style_faint(s), style_plain(s));
    add_next(g, file, s, out);
}
