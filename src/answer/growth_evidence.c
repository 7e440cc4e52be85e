/* The sentences of growth --why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/growth.h"
#include "base/say.h"
#include "model/not_recorded.h"
#include "answer/growth_account.h"

static const char *const titles[GROWTH_LINES] = {
    [GROWTH_LIVE] = "the live heap",
    [GROWTH_RSS] = "RSS",
    [GROWTH_VM] = "VM",
    [GROWTH_ANON] = "anonymous RSS",
    [GROWTH_MAPPED] = "memory that the program itself mapped",
    [GROWTH_LOST] = "what is lost",
    [GROWTH_HELD] = "memory held beyond live blocks",
    [GROWTH_SHARED] = "shared memory and pages of files",
    [GROWTH_POOLS] = "the memory in its pools",
    [GROWTH_ARENAS] = "arenas of Python"};

static const char *mark_word(const struct growth *g)
{
    return g->mark ? "mark" : "stamp";
}

static void put(struct sentences *s, struct strbuf *text)
{
    strbuf_puts(text, "");
    *vec_push(&s->list) = strbuf_detach(text);
    *text = (struct strbuf){0};
}

/* The model that fits a line, with its numbers. */
static void line_words(const struct growth *g, enum growth_line line, struct strbuf *out)
{
    const struct trend *t = &g->trends[line];
    const double *y = g->series[line];
    bool up = t->slope > 0, late = t->began && t->begin + 1 < g->count;
    strbuf_puts(out, titles[line]);
    switch (t->model) {
    case TREND_RAMP:
        say(out, "%r %r by %B per %s", t->sure ? "" : " perhaps", up ? "grows" : "shrinks",
            fabs(t->slope), growth_per(g));
        if (late) {
            strbuf_puts(out, " since ");
            growth_moment(g, t->begin + 1, out);
        }
        say(out, " (95 %% interval %B to %B)%r", up ? t->low : -t->high, up ? t->high : -t->low,
            t->sure ? "" : ", too little to be sure of");
        break;
    case TREND_STEPS:
        say(out, " changes in %N step(s), by %B in total, and not steadily", t->jumps,
            y[g->count - 1] - y[t->skipped]);
        break;
    case TREND_PLATEAU:
        say(out, " %r %B", t->warm_up > 0 ? "gained" : "lost", fabs(y[t->end] - y[t->begin]));
        if (late && t->begin + 1 < t->end) {
            strbuf_puts(out, " from ");
            growth_moment(g, t->begin + 1, out);
            strbuf_puts(out, " to ");
        } else {
            strbuf_puts(out, late ? " at " : " up to ");
        }
        growth_moment(g, t->end, out);
        strbuf_puts(out, ", and is flat since");
        break;
    case TREND_SAWTOOTH:
        say(out, " rises and falls again, by up to %B", t->fall);
        break;
    default:
        strbuf_puts(out, " is flat");
        break;
    }
    if (line == GROWTH_LIVE && g->places.total.profile->sample_bytes)
        strbuf_puts(out, ", by estimates of sampled allocations");
    else if (t->model != TREND_RAMP)
        say(out, "; steady growth of %B per %s would show", fmax(ceil(t->detectable), 1),
            growth_per(g));
    if (t->model != TREND_PLATEAU && !t->began && t->skipped && t->warm_up != 0)
        say(out, "; warm-up, not counted: %B in the first %N %r(s)", t->warm_up, t->skipped,
            mark_word(g));
}

static void lost_words(const struct growth *g, struct strbuf *out)
{
    size_t first = g->first, last = g->count - 1;
    const double *lost = g->series[GROWTH_LOST], *live = g->series[GROWTH_LIVE];
    if (!g->scan) {
        say(out, "live blocks are not classified as lost or reachable%r%s%r",
            g->no_scan ? ": " : "", g->no_scan ? g->no_scan : "",
            growth_grows(g, GROWTH_LIVE) ? "; so a leak looks the same as intended growth" : "");
        return;
    }
    say(out,
        "of the blocks allocated between the first %r that counts and the last, %B are lost: %r",
        mark_word(g), lost[last] - lost[first],
        lost[last] > lost[first] ? "nothing points to them"
                                 : "something points to all that is left");
    if (live[last] > live[first])
        say(out, "; live bytes gained %B", live[last] - live[first]);
}

static void freed_words(const struct growth *g, struct strbuf *out)
{
    say(out,
        "the functions below freed %B of their gain after the last %r: they grew from one to the "
        "next, but not until the end",
        g->freed_bytes, mark_word(g));
}

static void held_words(const struct growth *g, struct strbuf *out)
{
    double held = growth_last(g, GROWTH_HELD);
    say(out,
        "at the last %r anonymous RSS is %B and live blocks are %B; %r%B%r; live bytes were at "
        "most %B",
        mark_word(g), growth_last(g, GROWTH_ANON), growth_last(g, GROWTH_LIVE),
        held < 0 ? "" : "beyond them and their rounding ", fabs(held),
        held < 0 ? " or more of them are not resident" : " are held", g->peak_bytes);
}

static void planted_words(const struct growth *g, struct strbuf *out)
{
    const struct trend *t = &g->trends[GROWTH_LIVE];
    say(out, "recorded with --plant-leak: %B were leaked on purpose from one mark to the next, %r",
        g->planted_bytes,
        t->low > g->planted_bytes ? "and live bytes grow by more: the rest is the program's own"
        : t->high < g->planted_bytes
            ? "and live bytes grow by less: the program gives back memory meanwhile"
            : "which is inside the interval of live bytes: the measurement is right");
}

void growth_missing_words(const struct growth *g, struct strbuf *out)
{
    size_t note;
    const struct profile *p = g->places.total.profile;
    if (not_recorded(p, &note) == RECORDED_NOTHING) {
        strbuf_puts(out, p->notes.items[note]);
        return;
    }
    say(out, "with %N %r(s)%r%s%r", g->count, mark_word(g), g->mark ? " '" : "",
        g->mark ? g->mark : "", g->mark ? "'" : "");
    say(out,
        " growth cannot be distinguished from chance: %d are needed; %r, or record it again with "
        "'tidemark "
        "run --mark-on FUNCTION', a function that is entered once for each piece of work, %d times "
        "or more",
        g->mark ? TREND_LEAST : GROWTH_STAMPS_LEAST,
        g->mark ? "let it run for longer" : "a longer run has more", TREND_LEAST);
}

/* If nothing grows, a rate of RSS that may be chance is not mentioned. */
static bool account_says_something(const struct growth *g)
{
    bool grows = g->verdict != VERDICT_STABLE && g->verdict != VERDICT_WARM_UP &&
                 (g->cause.rate != 0 || g->cause.slope != 0);
    return grows || g->rates.rss > g->rates.error;
}

void growth_evidence(const struct growth *g, struct sentences *out)
{
    struct strbuf text = {0};
    if (g->verdict == VERDICT_NONE) {
        growth_missing_words(g, &text);
        put(out, &text);
    }
    if (!g->mark) {
        strbuf_puts(&text,
                    g->known
                        ? "there are no marks, so the collector's stamps are compared; the program "
                          "may not do the same work between two of them; tide_mark(\"LABEL\") or "
                          "run --mark-on FUNCTION make marks"
                        : "the program makes no marks; tide_mark(\"LABEL\") in its code, 'tidemark "
                          "ctl PID mark LABEL' from outside, or --mark-on make them");
        put(out, &text);
    }
    if (!g->known)
        return;
    for (int line = 0; line < GROWTH_SHOWN; line++) {
        line_words(g, (enum growth_line)line, &text);
        put(out, &text);
    }
    lost_words(g, &text);
    put(out, &text);
    if (g->freed_bytes > 0) {
        freed_words(g, &text);
        put(out, &text);
    }
    if (g->account.last)
        growth_kept_words(g, &text);
    else
        held_words(g, &text);
    put(out, &text);
    if ((g->verdict == VERDICT_FRAGMENTATION || growth_pins_matter(g)) &&
        growth_pinned_words(g, &text))
        put(out, &text);
    if (g->verdict == VERDICT_LEAK || g->verdict == VERDICT_FRAGMENTATION) {
        line_words(g, g->verdict == VERDICT_LEAK ? GROWTH_LOST : GROWTH_HELD, &text);
        put(out, &text);
    }
    if (g->trends[GROWTH_MAPPED].model != TREND_FLAT) {
        line_words(g, GROWTH_MAPPED, &text);
        put(out, &text);
    }
    for (int line = GROWTH_SHARED; line < GROWTH_LINES; line++)
        if (growth_grows(g, (enum growth_line)line) || growth_rose(g, (enum growth_line)line)) {
            line_words(g, (enum growth_line)line, &text);
            put(out, &text);
        }
    if (account_says_something(g) && growth_account_words(g, true, &text))
        put(out, &text);
    else
        strbuf_release(&text);
    if (g->planted_bytes > 0) {
        planted_words(g, &text);
        put(out, &text);
    }
}

void sentences_release(struct sentences *s)
{
    for (size_t i = 0; i < s->list.count; i++)
        free(s->list.items[i]);
    vec_release(&s->list);
}
