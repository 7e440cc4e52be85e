/* The answer of growth: what grows, by how much, since when, and who does it; and the account. */
#include <math.h>
#include <stdlib.h>

#include "base/say.h"
#include "answer/growth.h"
#include "answer/location.h"

#define NAMED      2  /* how many functions a sentence names */
#define NAME_WIDTH 32 /* columns of each */
/* Other functions are named or counted if they have at least this share of the largest. */
#define NAME_LEAST    0.1
#define PART_LEAST    0.05 /* a part below this share of the gain of RSS is not mentioned */
#define SECONDS_LEAST 1.0  /* a rate of lost bytes per second needs at least this time */
/* If less than this share of some blocks is resident, the account says that it is about the
 * rest. */
#define RESIDENT_LEAST 0.995

/* In words; "not explained" for GROWTH_PARTS. */
static const char *part_title(enum growth_part part)
{
    static const char *const titles[GROWTH_PARTS] = {[GAIN_LOST] = "lost",
                                                     [GAIN_REACHABLE] = "reachable",
                                                     [GAIN_ROUNDING] = "rounding of blocks",
                                                     [GAIN_MAPPED] = "mapped by the program",
                                                     [GAIN_SHARED] = "shared memory",
                                                     [GAIN_FILES] = "pages of files",
                                                     [GAIN_ARENAS] = "Python arenas",
                                                     [GAIN_FREE] = "free in the allocator",
                                                     [GAIN_STACKS] = "stacks of threads",
                                                     [GAIN_RECORDER] = "tidemark's own",
                                                     [GAIN_OTHER] = "not explained"};
    return titles[part < GROWTH_PARTS ? part : GAIN_OTHER];
}

void growth_moment(const struct growth *g, size_t k, struct strbuf *out)
{
    if (g->mark)
        say(out, "%s %N", g->mark, k + 1);
    else
        say(out, "%T", g->stamp[k]->time_ns);
}

/* For blocks of a pool, the pool's name is before the function that requested them. */
static void place_words(const struct places *p, enum domain domain, uint32_t call,
                        struct strbuf *out)
{
    const struct frame_table *frames = &p->total.frames;
    const struct call_frame *frame = places_frame(p, call);
    uint32_t caller = p->total.tree.parent.items[call];
    location_name(out, frame_table_string(frames, frame->name), NAME_WIDTH);
    if (domain == DOMAIN_POOL && caller) {
        frame = places_frame(p, caller);
        strbuf_puts(out, " from ");
        location_name(out, frame_table_string(frames, frame->name), NAME_WIDTH);
    }
    strbuf_puts(out, frame->file ? ", " : "");
    location_put(out, location_file(frames, frame), frame->line, NULL);
}

static int64_t weight(const struct growth_site *s, bool lost)
{
    return lost ? s->lost_bytes : s->bytes;
}

/* A function that several others call is a site for each of them; a sentence names it once. */
struct named {
    const struct growth_site *site; /* its largest site */
    int64_t weight;                 /* the bytes of all its sites */
};

static int by_weight(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return (x->weight < y->weight) - (x->weight > y->weight);
}

/* The functions of a domain, those that lost or gained most first; false: there are none. */
static bool name_functions(const struct growth *g, enum domain domain, bool lost,
                           struct strbuf *out)
{
    const struct places *places = growth_places(g, domain);
    VEC(struct named) all = {0};
    size_t count = 0;
    for (size_t i = 0; i < g->sites.count + g->other.count; i++) {
        const struct growth_site *s = growth_site_at(g, i);
        size_t at = 0;
        if (s->domain != domain || weight(s, lost) <= 0)
            continue;
        while (at < all.count && (domain == DOMAIN_POOL ||
                                  !places_same_function(places, all.items[at].site->call, s->call)))
            at++;
        if (at == all.count)
            *vec_push(&all) = (struct named){s, 0};
        all.items[at].weight += weight(s, lost);
        if (weight(s, lost) > weight(all.items[at].site, lost))
            all.items[at].site = s;
    }
    if (all.count)
        qsort(all.items, all.count, sizeof *all.items, by_weight);
    while (count < all.count &&
           (double)all.items[count].weight >= NAME_LEAST * (double)all.items[0].weight)
        count++;
    for (size_t i = 0; i < count && i < NAMED; i++) {
        strbuf_puts(out, i == 0 ? ": " : count > NAMED ? ", " : ", and ");
        place_words(places, domain, all.items[i].site->call, out);
    }
    if (count > NAMED)
        say(out, ", and %N other(s)", count - NAMED);
    vec_release(&all);
    return count > 0;
}

/* --- what rose, if nothing continues to grow --- */

static const char *const risen_names[GROWTH_LINES] = {
    [GROWTH_LIVE] = "The live heap",
    [GROWTH_RSS] = "RSS",
    [GROWTH_SHARED] = "Shared memory and files",
    [GROWTH_MAPPED] = "The memory that it maps itself",
    [GROWTH_POOLS] = "The memory in its pools",
    [GROWTH_ARENAS] = "The memory of small Python objects",
    [GROWTH_ANON] = "Anonymous memory",
    [GROWTH_LOST] = "What is lost",
    [GROWTH_VM] = "VM"};

/* The part that is most of what RSS gained from the first moment to the last; GROWTH_PARTS: there
 * is no such part. */
static enum growth_part most_of_gain(const struct growth *g)
{
    struct growth_rates all = growth_rates_between(g, 0, g->count - 1, false);
    const struct growth_account *a = &g->account;
    double span = growth_span(g, 0, g->count - 1);
    int most = 0;
    if (a->last && span > 0) /* not more than there is at the end */
        all.parts[GAIN_FREE] =
            fmin(all.parts[GAIN_FREE], ((double)growth_account_part(a, PART_FREE) +
                                        (double)growth_account_part(a, PART_HELD)) /
                                           span);
    for (int i = 0; i < GROWTH_PARTS; i++)
        if (all.parts[i] > all.parts[most])
            most = i;
    return all.parts[most] >= all.rss / 2 ? (enum growth_part)most : GROWTH_PARTS;
}

/* Did functions gain at least half of what the live heap rose by? They are compared from a later
 * moment on if the heap rose most at first. */
static bool functions_made_rise(const struct growth *g)
{
    double gained = 0, rise = growth_last(g, GROWTH_LIVE) - g->series[GROWTH_LIVE][0];
    for (size_t i = 0; i < g->sites.count + g->other.count; i++) {
        const struct growth_site *s = growth_site_at(g, i);
        gained += s->domain == DOMAIN_HEAP && s->bytes > 0 ? (double)s->bytes : 0;
    }
    return gained >= rise / 2;
}

/* Names functions only if they caused the rise that the first sentence describes. */
static bool name_functions_of_rise(const struct growth *g, struct strbuf *out)
{
    enum growth_line risen = growth_risen_line(g);
    enum growth_line line = risen < GROWTH_LINES ? risen : GROWTH_LIVE;
    if (line == GROWTH_RSS || line == GROWTH_ANON) {
        enum growth_part most = most_of_gain(g);
        line = most == GAIN_MAPPED || (most == GAIN_ARENAS && !g->arenas_are_live)  ? GROWTH_MAPPED
               : most == GAIN_LOST || most == GAIN_REACHABLE || most == GAIN_ARENAS ? GROWTH_LIVE
                                                                                    : GROWTH_LINES;
    }
    switch (line) {
    case GROWTH_LIVE:
        if (risen == GROWTH_LIVE && !functions_made_rise(g))
            return false;
        return name_functions(g, DOMAIN_HEAP, false, out) ||
               (risen == GROWTH_LINES && name_functions(g, DOMAIN_MAPPED, false, out));
    case GROWTH_ARENAS:
        return name_functions(g, g->arenas_are_live ? DOMAIN_HEAP : DOMAIN_MAPPED, false, out);
    case GROWTH_POOLS:
        return name_functions(g, DOMAIN_POOL, false, out);
    case GROWTH_MAPPED:
    case GROWTH_VM:
        return name_functions(g, DOMAIN_MAPPED, false, out);
    default:
        return false;
    }
}

/* false: it is only known that RSS grows, so no function is known to be the cause. */
static bool blocks_grow(const struct growth *g)
{
    return growth_grows(g, GROWTH_POOLS) || growth_grows(g, GROWTH_ARENAS) ||
           growth_grows(g, GROWTH_LIVE);
}

static bool name_functions_of_verdict(const struct growth *g, struct strbuf *out)
{
    switch (g->verdict) {
    case VERDICT_LEAK:
        return name_functions(g, DOMAIN_HEAP, true, out);
    case VERDICT_GROWTH:
        if (!blocks_grow(g))
            return false;
        return (growth_grows(g, GROWTH_POOLS) && name_functions(g, DOMAIN_POOL, false, out)) ||
               (growth_main_part(g) == GAIN_ARENAS && !g->arenas_are_live &&
                name_functions(g, DOMAIN_MAPPED, false, out)) ||
               name_functions(g, DOMAIN_HEAP, false, out) ||
               name_functions(g, DOMAIN_MAPPED, false, out);
    case VERDICT_MAPPED:
    case VERDICT_SHARED:
    case VERDICT_ADDRESS_SPACE:
        return name_functions(g, DOMAIN_MAPPED, false, out);
    case VERDICT_WARM_UP:
        return name_functions_of_rise(g, out);
    case VERDICT_FRAGMENTATION:
        if (!g->account.pins.count)
            return false;
        strbuf_puts(out, ": ");
        place_words(&g->places, DOMAIN_HEAP, g->account.pins.items[0].call, out);
        return true;
    default:
        return false;
    }
}

/* " since event 71", " from event 20 to event 60", " at event 20" */
static void when(const struct growth *g, const struct trend *t, struct strbuf *out)
{
    if (t->began && t->stopped && t->begin + 1 == t->end) {
        strbuf_puts(out, " at ");
        growth_moment(g, t->end, out);
        return;
    }
    if (t->began && t->begin + 1 < g->count) {
        strbuf_puts(out, t->stopped ? " from " : " since ");
        growth_moment(g, t->begin + 1, out);
    }
    if (t->stopped && t->end > t->begin) {
        strbuf_puts(out, t->began ? " to " : " up to ");
        growth_moment(g, t->end, out);
    }
}

static double rate_of_cause(const struct growth *g)
{
    return g->cause.end > g->cause.begin ? g->cause.rate : g->cause.slope;
}

/* "It maps 977 KiB per event more since event 71, and does not unmap it" */
static void more_words(const struct growth *g, const char *what, const char *more, const char *then,
                       struct strbuf *out)
{
    say(out, "%r %B per %s%r", what, rate_of_cause(g), growth_per(g), more);
    when(g, &g->cause, out);
    strbuf_puts(out, then);
}

/* Most of it may have been lost at once: a rate would promise that it goes on. */
static bool is_uneven(const struct trend *t)
{
    return t->model == TREND_STEPS && !t->steady;
}

static void leak_words(const struct growth *g, struct strbuf *out)
{
    const struct trend *t = &g->cause;
    const double *lost = g->series[GROWTH_LOST];
    bool part = t->end > t->begin;
    size_t begin = part ? t->begin : 0, end = part ? t->end : g->count - 1;
    if (t->stopped) {
        more_words(g, "It leaked", "", "", out);
        say(out, ", %B in all, and stopped", g->lost_bytes);
    } else if (g->mark && 2 * t->rises < end - begin) {
        say(out, "It leaked %B in %N of %N '%s' marks", lost[g->count - 1] - lost[0], t->rises,
            g->count, g->mark);
        when(g, &g->cause, out);
        if (t->rises > 1)
            say(out, ", %B per %s on average",
                (lost[end] - lost[begin]) / growth_span(g, begin, end), growth_per(g));
    } else if (!g->mark && (growth_span(g, begin, end) < SECONDS_LEAST || is_uneven(t))) {
        say(out, "It leaked %B in %T", lost[end] - lost[begin],
            g->stamp[end]->time_ns - g->stamp[begin]->time_ns);
    } else {
        say(out, "It leaks %B per %s", t->rate > 0 ? t->rate : t->slope, growth_per(g));
        when(g, &g->cause, out);
    }
    if (g->planted_bytes > 0)
        say(out, ", %B of them on purpose (--plant-leak)", g->planted_bytes);
}

static void growth_words(const struct growth *g, struct strbuf *out)
{
    enum growth_part most = growth_main_part(g);
    const char *reach =
        g->all_freed ? g->mark ? ", and frees it after the last one" : ", and frees it at its end"
        : g->scan    ? ", and something still points to it"
                     : ", not classified as lost or reachable";
    if (growth_grows(g, GROWTH_POOLS)) {
        more_words(g, "Its pools have", " more", "", out);
    } else if (most == GAIN_ARENAS && growth_grows(g, GROWTH_ARENAS)) {
        more_words(g, "Small Python objects take", " more", "", out);
    } else if (growth_grows(g, GROWTH_LIVE)) {
        more_words(g, "It keeps", " more", most == GAIN_ARENAS ? "" : reach, out);
    } else {
        more_words(g, "RSS grows by", "", ", most of it ", out);
        strbuf_puts(out, part_title(most));
    }
}

static void kept_words(const struct growth *g, struct strbuf *out)
{
    bool grows = g->cause.slope != 0 || g->cause.rate != 0;
    bool pinned = g->verdict == VERDICT_FRAGMENTATION;
    const char *what = growth_grows(g, GROWTH_LIVE) ? "Hardly anything" : "Nothing";
    double all = g->account.last ? (double)growth_account_part(&g->account, PART_FREE) +
                                       (double)growth_account_part(&g->account, PART_HELD)
                                 : growth_last(g, GROWTH_HELD);
    if (grows)
        say(out, "The allocator keeps %B per %s more than live blocks use%r, %B at the end",
            g->rates.parts[GAIN_FREE], growth_per(g),
            pinned ? ", on pages that few blocks keep" : "", all);
    else if (pinned)
        say(out, "%r grows, but live blocks keep %B free on their pages", what,
            growth_account_part(&g->account, PART_HELD));
    else
        say(out, "%r grows, but the allocator keeps %B that no block uses", what, all);
    if (!pinned && g->account.last && g->account.last->arenas > 1)
        say(out, ", in %N arena(s), one for each thread or two", g->account.last->arenas);
}

/* ", most of it free in the allocator": the largest part of what RSS gained from the first moment
 * to the last. */
static void most_of_rss(const struct growth *g, struct strbuf *out)
{
    enum growth_part most = most_of_gain(g);
    if (most < GROWTH_PARTS)
        say(out, ", most of it %s", part_title(most));
}

static void rise_words(const struct growth *g, struct strbuf *out)
{
    enum growth_line line = growth_risen_line(g);
    if (line == GROWTH_LINES) { /* below the noise of all the others */
        say(out, "Functions gained %B, not steadily, and the process as a whole did not",
            (double)g->gained_bytes);
        return;
    }
    const struct trend *t = &g->trends[line];
    const double *y = g->series[line];
    say(out, "%r rose by %B", risen_names[line], y[g->count - 1] - y[0]);
    if (t->model == TREND_PLATEAU && t->end > t->begin) {
        if (t->began && t->stopped && y[t->end] > y[t->begin]) {
            say(out, ", %B of it", y[t->end] - y[t->begin]);
            when(g, t, out);
        } else {
            strbuf_puts(out, " up to ");
            growth_moment(g, t->end, out);
        }
        strbuf_puts(out, ", and not since");
    } else if (t->model == TREND_STEPS && t->jumps) {
        say(out, ", in %N step(s) to new maxima, not steadily", t->rises);
    } else if (t->model == TREND_RAMP && t->slope > 0) {
        /* It rises steadily, and yet there is no verdict: it may be the recorder's own memory, for
         * example. */
        if (t->skipped && t->warm_up >= (y[g->count - 1] - y[0]) / 2) {
            say(out, ", %B of it up to ", t->warm_up);
            growth_moment(g, t->skipped, out);
        } else if (!g->mark)
            strbuf_puts(out, ", in too short a time to tell whether it goes on");
        else if (!t->sure)
            strbuf_puts(out, ", too unsteadily to tell whether it goes on");
        else if (line == GROWTH_RSS)
            most_of_rss(g, out);
    } else {
        strbuf_puts(out, ", not steadily");
    }
}

static void stable_words(const struct growth *g, struct strbuf *out)
{
    if (growth_grows(g, GROWTH_LIVE))
        say(out, "Hardly anything grows, %B per %s", g->trends[GROWTH_LIVE].slope, growth_per(g));
    else
        strbuf_puts(out, "Nothing grows");
    strbuf_puts(out, ": from ");
    growth_moment(g, 0, out);
    strbuf_puts(out, " to ");
    growth_moment(g, g->count - 1, out);
    say(out, " RSS goes from %B to %B", g->series[GROWTH_RSS][0], growth_last(g, GROWTH_RSS));
}

/* The first sentence has one figure for shared memory and pages of files. */
static const char *shared_title(const struct growth *g)
{
    double files = g->rates.parts[GAIN_FILES], memory = g->rates.parts[GAIN_SHARED];
    double least = PART_LEAST * (files + memory);
    return memory < least  ? "Pages of files take"
           : files < least ? "Shared memory takes"
                           : "Shared memory and pages of files take";
}

static void first_sentence(const struct growth *g, struct strbuf *out)
{
    switch (g->verdict) {
    case VERDICT_LEAK:
        leak_words(g, out);
        break;
    case VERDICT_GROWTH:
        growth_words(g, out);
        break;
    case VERDICT_MAPPED:
        if (growth_grows(g, GROWTH_MAPPED))
            more_words(g, "It maps", " more", ", and does not unmap it", out);
        else
            more_words(g, "It touches", " more", " of the memory that it has mapped", out);
        break;
    case VERDICT_SHARED:
        more_words(g, shared_title(g), " more", "", out);
        break;
    case VERDICT_FRAGMENTATION:
    case VERDICT_RETENTION:
        kept_words(g, out);
        break;
    case VERDICT_ADDRESS_SPACE:
        more_words(g, "It takes", " more address space", ", and no more memory", out);
        break;
    case VERDICT_WARM_UP:
        rise_words(g, out);
        break;
    default:
        stable_words(g, out);
        break;
    }
}

/* --- the account ------------------------------------------------------------------------------ */

/* The title of a part in the account. Live and lost blocks count as far as they are resident, and
 * reachable ones whichever function they belong to: where the first sentence has another figure of
 * them, the title says so. */
static void account_title(const struct growth *g, enum growth_part part, struct strbuf *out)
{
    const struct growth_rates *r = &g->rates;
    double share = part == GAIN_LOST ? r->lost_share : part == GAIN_REACHABLE ? r->live_share : 1;
    bool mapped = part == GAIN_MAPPED && g->verdict == VERDICT_MAPPED && g->by_function;
    strbuf_puts(out, part_title(part));
    if (share < RESIDENT_LEAST || mapped)
        strbuf_puts(out, " and resident");
    if (part == GAIN_FILES && r->code_share >= 0.5)
        strbuf_puts(out, ", most of them code");
    if (part == GAIN_REACHABLE && g->by_function)
        strbuf_puts(out, ", of all functions");
}

bool growth_account_words(const struct growth *g, bool with_time, struct strbuf *out)
{
    const struct growth_rates *r = &g->rates;
    size_t named = 0;
    if (!(r->rss > 0))
        return false;
    say(out, "RSS +%B per %s", r->rss, growth_per(g));
    if (with_time && (r->begin > 0 || r->end + 1 < g->count)) {
        strbuf_puts(out, " from ");
        growth_moment(g, r->begin, out);
        strbuf_puts(out, " to ");
        growth_moment(g, r->end, out);
    }
    for (int i = 0; i < GROWTH_PARTS; i++) {
        double part = r->parts[i];
        bool asked = i == GAIN_LOST && g->verdict == VERDICT_LEAK && part > 0;
        if (fabs(part) < PART_LEAST * r->rss && !asked)
            continue;
        if (named++)
            say(out, " %r %B ", part < 0 ? "-" : "+", fabs(part));
        else
            say(out, " = %B ", part);
        account_title(g, (enum growth_part)i, out);
        if (i == GAIN_FREE && g->account.last && g->account.last->arenas > 1)
            say(out, " (%N arena(s))", g->account.last->arenas);
    }
    if (r->error > 0 && isfinite(r->error))
        say(out, " (+-%B)", r->error);
    return true;
}

/* What the first sentence does not say about RSS. */
static void second_sentence(const struct growth *g, struct strbuf *out)
{
    struct growth_rest rest = growth_rest_of_rss(g);
    switch (rest.kind) {
    case REST_NOT_ASKED:
        return;
    case REST_FLAT:
        strbuf_puts(out, " RSS otherwise stays flat.");
        return;
    case REST_UNCLEAR:
        say(out, " RSS gained another %B, which is not clearly growth.", rest.bytes);
        return;
    case REST_OTHER_TIME:
        say(out, " RSS went from %B to %B", g->series[GROWTH_RSS][0], growth_last(g, GROWTH_RSS));
        most_of_rss(g, out);
        strbuf_putc(out, '.');
        return;
    case REST_SAME_TIME:
        strbuf_putc(out, ' ');
        if (growth_account_words(g, false, out))
            strbuf_putc(out, '.');
    }
}

void growth_answer(const struct growth *g, struct strbuf *out)
{
    if (!g->known) {
        strbuf_puts(out, "No verdict: ");
        growth_missing_words(g, out);
        strbuf_putc(out, '.');
        return;
    }
    first_sentence(g, out);
    name_functions_of_verdict(g, out);
    strbuf_putc(out, '.');
    second_sentence(g, out);
}
