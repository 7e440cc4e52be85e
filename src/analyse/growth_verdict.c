/*
 * Decides what kind of growth it is. Lost blocks come first unless they are far less than the rest;
 * then whatever explains most of what RSS gained; then what does not show in RSS. "Stable" is left
 * if nothing rose.
 *
 * Whether a series rose is decided by trend.c; how much each part of RSS gained by growth_rates.c;
 * which functions grow by growth_functions.c. The sentence is in answer/growth_answer.c.
 */
#include <math.h>

#include "analyse/fragmentation.h"
#include "analyse/growth.h"

#define KIB 1024.0
#define MIB (1024 * KIB)

/* If there are no marks, growth must last so many seconds (less is the program's start), and gain
 * this share of the size. */
#define TIME_LEAST 1.0
#define TIME_PART  0.1
/* If there are no marks, functions must gain so many bytes and this share of the peak. */
#define TIME_GAIN  (1 * MIB)
#define TIME_SHARE 0.25
/* Sizes of the process that rise in steps must gain so many bytes and this share of the size. */
#define STEPS_GAIN  (1 * MIB)
#define STEPS_SHARE 0.05
#define LOST_SHARE  0.1 /* lost blocks decide the verdict from this share of the growth on */
/* If blocks were lost between so many pairs of marks, it happens again and again. */
#define LOST_RISES 3
#define LOST_MUCH  (64 * KIB) /* lost bytes that count even if it happened less often */
/* If blocks were lost before this share of the marks, it happens at nearly every mark. Then RSS
 * must gain so many bytes for unknown reasons to decide the verdict instead. */
#define LOST_MARKS  0.9
#define NOISE_MOST  (1 * MIB)
#define LIVE_MUCH   (64 * KIB) /* live bytes that count in any process */
#define SHARE_LEAST 0.01       /* less than this share of RSS is not worth a verdict */
#define LIVE_SHARE  0.25 /* growing live blocks decide from this share of the gain of RSS on */
/* Arenas decide from this share of the other mappings on. They are not read at every mark. */
#define ARENAS_SHARE 0.5
/* If this share of the pages of files is code and constants, files do not decide. */
#define CODE_SHARE 0.5
/* Mapped memory counts as touched if this share of it became resident. */
#define RESIDENT_SHARE 0.5
#define MOST_SHARE     0.8 /* this share of the gain of all functions counts as nearly all of it */
/* Free memory that the process keeps matters from so many bytes on (fewer if it grows) and from
 * this share of anonymous RSS on. */
#define HELD_LEAST (4 * MIB)
#define HELD_GROWS (1 * MIB)
#define HELD_SHARE 0.25
/* A rise counts if it has so many bytes more than so many times the deepest fall of its series. */
#define RISE_LEAST   (16 * KIB)
#define FALLS_FACTOR 1.5

const char *growth_verdict_name(enum growth_verdict v)
{
    static const char *const names[VERDICTS] = {[VERDICT_LEAK] = "leak",
                                                [VERDICT_GROWTH] = "growth",
                                                [VERDICT_MAPPED] = "mapped",
                                                [VERDICT_SHARED] = "shared",
                                                [VERDICT_FRAGMENTATION] = "fragmentation",
                                                [VERDICT_RETENTION] = "retention",
                                                [VERDICT_ADDRESS_SPACE] = "address-space",
                                                [VERDICT_WARM_UP] = "warm-up",
                                                [VERDICT_STABLE] = "stable"};
    return names[v];
}

/* --- properties of a series ------------------------------------------------------------------- */

/* If allocations were sampled, the live bytes are an estimate. */
static bool is_exact(const struct growth *g, enum growth_line line)
{
    bool live = line == GROWTH_LIVE && !g->places.total.profile->sample_bytes;
    return live || line == GROWTH_LOST || line == GROWTH_MAPPED || line == GROWTH_POOLS ||
           line == GROWTH_ARENAS;
}

/* Functions have less noise than their sum. If most was gained by functions that do not grow, the
 * sum does not grow either. */
static bool functions_grow(const struct growth *g)
{
    double grown = 0, settled = 0;
    for (size_t i = 0; i < g->sites.count; i++)
        if (g->sites.items[i].domain == DOMAIN_HEAP)
            grown += (double)g->sites.items[i].bytes;
    for (size_t i = 0; i < g->other.count; i++)
        if (g->other.items[i].domain == DOMAIN_HEAP)
            settled += (double)g->other.items[i].bytes;
    return grown >= settled || settled < 0.5 * (double)g->gained_bytes;
}

/* Without marks, a program that reads its input also grows: only large growth counts. */
static bool grows_over_time(const struct growth *g, enum domain domain, double most)
{
    double grown = 0;
    for (size_t i = 0; i < g->sites.count; i++)
        if (g->sites.items[i].domain == domain)
            grown += (double)g->sites.items[i].risen_bytes;
    return grown >= TIME_GAIN && grown >= TIME_SHARE * most;
}

/* RSS and VM follow the highest live heap so far: if the heap only goes up and down, they rise once
 * by as much. */
static double noise_of_live(const struct growth *g, enum growth_line line)
{
    bool follows = line == GROWTH_RSS || line == GROWTH_ANON || line == GROWTH_VM;
    return follows ? g->trends[GROWTH_LIVE].fall : 0;
}

/* What the line gained, without the recorder's own gain. */
static double gain_since(const struct growth *g, enum growth_line line, size_t since)
{
    double gain = growth_last(g, line) - g->series[line][since];
    if (line == GROWTH_RSS)
        gain = growth_last(g, GROWTH_ANON) - g->series[GROWTH_ANON][since] +
               growth_last(g, GROWTH_SHARED) - g->series[GROWTH_SHARED][since];
    return gain - noise_of_live(g, line);
}

bool growth_grows(const struct growth *g, enum growth_line line)
{
    const struct trend *t = &g->trends[line];
    if (!g->known)
        return false;
    if (line == GROWTH_LIVE && !g->mark)
        return grows_over_time(g, DOMAIN_HEAP, (double)g->peak_bytes);
    if (line == GROWTH_MAPPED && !g->mark &&
        grows_over_time(g, DOMAIN_MAPPED, growth_last(g, GROWTH_MAPPED)))
        return true;
    if (line == GROWTH_ARENAS) {
        /* Arenas are mapped rarely, and filled page by page. */
        enum growth_line by = g->arenas_are_live ? GROWTH_ANON : GROWTH_MAPPED;
        double rose = growth_last(g, line) - g->series[line][0];
        if (rose >= RISE_LEAST && rose >= ARENAS_SHARE * (growth_last(g, by) - g->series[by][0]) &&
            growth_grows(g, by))
            return true;
    }
    if (t->slope <= 0 || t->stopped || (line == GROWTH_LIVE && !functions_grow(g)))
        return false;
    if (!g->mark &&
        (growth_span(g, t->skipped, g->count - 1) < TIME_LEAST ||
         growth_last(g, line) - g->series[line][t->skipped] < TIME_PART * growth_last(g, line)))
        return false;
    bool ramp = t->model == TREND_RAMP && t->sure;
    if (is_exact(g, line))
        return ramp || t->steady;
    double gain = gain_since(g, line, t->skipped);
    return gain >= GROWTH_PROCESS_GAIN && (ramp || (t->steady && gain >= STEPS_GAIN &&
                                                    gain >= STEPS_SHARE * growth_last(g, line)));
}

/* Is enough lost between the marks to be worth mentioning? Each lost block is a fact. But little
 * that is lost once, at the beginning, is no leak that anybody looks for. */
static bool leaks_in_time(const struct growth *g)
{
    const struct trend *t = &g->trends[GROWTH_LOST];
    double lost = growth_last(g, GROWTH_LOST) - (g->count ? g->series[GROWTH_LOST][0] : 0);
    if (!g->known || !g->scan || !t->rises)
        return false;
    bool much = lost >= LOST_MUCH || lost >= SHARE_LEAST * growth_last(g, GROWTH_RSS);
    return much || (t->rises >= LOST_RISES && !t->stopped);
}

bool growth_rose(const struct growth *g, enum growth_line line)
{
    const struct trend *t = &g->trends[line];
    if (!g->known)
        return false;
    double rise = growth_last(g, line) - g->series[line][0], rss = growth_last(g, GROWTH_RSS);
    double least = is_exact(g, line) ? RISE_LEAST : GROWTH_PROCESS_GAIN;
    if (line == GROWTH_RSS)
        rise -= growth_rates_between(g, 0, g->count - 1, false).parts[GAIN_RECORDER] *
                growth_span(g, 0, g->count - 1);
    rise -= noise_of_live(g, line);
    return rise >= FALLS_FACTOR * t->fall + least && rise >= SHARE_LEAST * rss;
}

enum growth_line growth_risen_line(const struct growth *g)
{
    static const enum growth_line order[] = {GROWTH_LIVE,   GROWTH_RSS,   GROWTH_SHARED,
                                             GROWTH_MAPPED, GROWTH_POOLS, GROWTH_ARENAS,
                                             GROWTH_ANON,   GROWTH_LOST,  GROWTH_VM};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (growth_rose(g, order[i]))
            return order[i];
    return GROWTH_LINES;
}

bool growth_pins_matter(const struct growth *g)
{
    return growth_account_part(&g->account, PART_HELD) >= HELD_LEAST / 4;
}

/* Is there a complete account? Blocks that were never recorded would count as free. */
static bool has_account(const struct growth *g)
{
    return g->account.last && !g->account.last->partial;
}

double growth_freed_since(const struct growth *g)
{
    const struct footprint *last = g->account.last;
    if (!last || !g->count || last->time_ns < g->stamp[g->count - 1]->time_ns)
        return 0;
    return fmax(growth_last(g, GROWTH_LIVE) - (double)last->live_bytes, 0);
}

/* What the allocator has beyond live blocks: as counted, or what nothing else explains. */
static double kept(const struct growth *g)
{
    const struct growth_account *a = &g->account;
    return has_account(g) ? (double)growth_account_part(a, PART_HELD) +
                                (double)growth_account_part(a, PART_FREE) - growth_freed_since(g)
                          : growth_last(g, GROWTH_HELD);
}

static double anonymous(const struct growth *g)
{
    static const enum footprint_part parts[] = {PART_LIVE, PART_ROUNDING, PART_HELD,
                                                PART_FREE, PART_MAPPED,   PART_STACKS,
                                                PART_DATA, PART_UNKNOWN,  PART_ARENAS};
    double sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        sum += (double)growth_account_part(&g->account, parts[i]);
    return has_account(g) ? sum : growth_last(g, GROWTH_ANON);
}

static bool holds_much(const struct growth *g)
{
    return kept(g) >= HELD_LEAST && kept(g) >= HELD_SHARE * anonymous(g);
}

/* Of what the allocator keeps, the part on pages with live blocks is `held`. */
static enum growth_verdict kind_of_kept(const struct growth *g, double held, double all)
{
    return has_account(g) && is_fragmentation(&g->account, held, all) ? VERDICT_FRAGMENTATION
                                                                      : VERDICT_RETENTION;
}

static enum growth_verdict kind_of_gain(const struct growth *g)
{
    double held = (double)growth_account_gain(&g->account, PART_HELD);
    return kind_of_kept(g, held, held + (double)growth_account_gain(&g->account, PART_FREE));
}

static enum growth_verdict kind_of_level(const struct growth *g)
{
    return kind_of_kept(g, (double)growth_account_part(&g->account, PART_HELD), kept(g));
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* The rates between the marks where a series grew, or between all that count, computed in the same
 * way as the series' own rate. */
static struct growth_rates rates_of(const struct growth *g, const struct trend *t)
{
    if (t->end > t->begin)
        return growth_rates_between(g, t->begin, t->end, t->fitted && t->model == TREND_RAMP);
    return growth_rates_between(g, t->skipped < g->count - 1 ? t->skipped : 0, g->count - 1,
                                t->fitted);
}

/* A part that gained counts only if its own series grows. */
static bool may_be(const struct growth *g, enum growth_part part)
{
    switch (part) {
    case GAIN_LOST:
        return leaks_in_time(g);
    case GAIN_REACHABLE:
        return growth_grows(g, GROWTH_LIVE);
    case GAIN_MAPPED:
        return growth_grows(g, GROWTH_MAPPED) || growth_grows(g, GROWTH_POOLS) ||
               growth_grows(g, GROWTH_ANON);
    case GAIN_SHARED:
        return growth_grows(g, GROWTH_SHARED);
    case GAIN_FILES:
        /* A program that starts, or does something new, reads code that it did not need before. Its
         * libraries limit how much that can be. */
        return growth_grows(g, GROWTH_SHARED) && g->rates.code_share < CODE_SHARE;
    case GAIN_ARENAS:
        return growth_grows(g, GROWTH_ARENAS);
    case GAIN_FREE:
    case GAIN_STACKS:
    case GAIN_OTHER:
        return growth_grows(g, GROWTH_ANON);
    default:
        return false; /* rounding, and the recorder's own */
    }
}

enum growth_part growth_main_part(const struct growth *g)
{
    enum growth_part most = GROWTH_PARTS;
    for (int i = 0; i < GROWTH_PARTS; i++)
        if (may_be(g, (enum growth_part)i) && g->rates.parts[i] > 0 &&
            (most == GROWTH_PARTS || g->rates.parts[i] > g->rates.parts[most]))
            most = (enum growth_part)i;
    return most;
}

/* What the allocator keeps depends on where blocks lie, and creeps up in every program for a while:
 * a small amount is no verdict. */
static bool keeps_little(const struct growth *g)
{
    return growth_main_part(g) == GAIN_FREE &&
           !(kept(g) >= HELD_GROWS && kept(g) >= HELD_SHARE * anonymous(g));
}

static bool process_grows(const struct growth *g)
{
    if (keeps_little(g) || growth_main_part(g) == GROWTH_PARTS)
        return false;
    return growth_grows(g, GROWTH_RSS) || growth_grows(g, GROWTH_ANON) ||
           growth_grows(g, GROWTH_SHARED);
}

/* What is mapped is exact at each mark, and shows below the noise of RSS. If it was touched as
 * well, it decides the verdict. VERDICT_STABLE: it was not. */
static enum growth_verdict kind_of_mapped(const struct growth *g)
{
    const struct trend *t = &g->trends[GROWTH_MAPPED];
    if (!growth_grows(g, GROWTH_MAPPED))
        return VERDICT_STABLE;
    size_t begin = t->end > t->begin ? t->begin : t->skipped;
    double least = RESIDENT_SHARE * gain_since(g, GROWTH_MAPPED, begin);
    double anon = growth_last(g, GROWTH_ANON) - g->series[GROWTH_ANON][begin];
    double shared = gain_since(g, GROWTH_SHARED, begin);
    const double *parts = g->rates.parts; /* the account of RSS, if there is one */
    if (shared >= least && shared > anon &&
        parts[GAIN_MAPPED] < RESIDENT_SHARE * (parts[GAIN_SHARED] + parts[GAIN_FILES]))
        return VERDICT_SHARED;
    return anon >= least ? VERDICT_MAPPED : VERDICT_STABLE;
}

/* RSS grows: which part grows most? */
static enum growth_verdict kind_of_growth(const struct growth *g)
{
    const struct growth_rates *r = &g->rates;
    double live = r->parts[GAIN_LOST] + r->parts[GAIN_REACHABLE];
    if (growth_grows(g, GROWTH_LIVE) && live >= LIVE_SHARE * r->rss && r->parts[GAIN_FREE] < live)
        return VERDICT_GROWTH;
    switch (growth_main_part(g)) {
    case GAIN_MAPPED:
        if (growth_grows(g, GROWTH_ARENAS) &&
            r->parts[GAIN_ARENAS] >= ARENAS_SHARE * r->parts[GAIN_MAPPED])
            return VERDICT_GROWTH;
        /* Pools get their memory from somewhere. */
        return growth_grows(g, GROWTH_POOLS) ? VERDICT_GROWTH : VERDICT_MAPPED;
    case GAIN_SHARED:
    case GAIN_FILES:
        return VERDICT_SHARED;
    case GAIN_FREE:
        return kind_of_gain(g);
    case GAIN_OTHER:
        if (growth_grows(g, GROWTH_POOLS) || growth_grows(g, GROWTH_ARENAS))
            return VERDICT_GROWTH;
        return kind_of_mapped(g) != VERDICT_STABLE ? kind_of_mapped(g) : VERDICT_GROWTH;
    default:
        return VERDICT_GROWTH;
    }
}

/* Blocks, mappings and files have series of their own. Of the rest of RSS only the sum is known,
 * which may gain up to NOISE_MOST without a cause that tidemark can name. */
static bool is_noise_of_rss(const struct growth *g, enum growth_part part)
{
    return (part == GAIN_FREE || part == GAIN_STACKS || part == GAIN_OTHER) &&
           g->rates.rss * growth_span(g, g->rates.begin, g->rates.end) < NOISE_MOST;
}

static bool loses_at_most_marks(const struct growth *g)
{
    const struct trend *t = &g->trends[GROWTH_LOST];
    return g->mark && !t->stopped && (double)t->rises >= LOST_MARKS * (double)(g->count - 1);
}

/* Without marks it is not known how often the program ran the code that loses blocks. A few lost
 * bytes do not decide the verdict if RSS gained much more. */
static bool is_lost_in_rss(const struct growth *g)
{
    double lost = growth_last(g, GROWTH_LOST) - g->series[GROWTH_LOST][0];
    double rss = growth_last(g, GROWTH_RSS) - g->series[GROWTH_RSS][0];
    return !g->mark && rss >= NOISE_MOST && lost < SHARE_LEAST * rss;
}

/* The sum of the parts whose own series grow. */
static double known_rate(const struct growth *g)
{
    double sum = 0;
    for (int i = 0; i < GROWTH_PARTS; i++)
        if (may_be(g, (enum growth_part)i) && g->rates.parts[i] > 0)
            sum += g->rates.parts[i];
    return sum;
}

static bool leak_matters(const struct growth *g)
{
    const struct trend *lost = &g->trends[GROWTH_LOST];
    double rate = lost->rate > 0 ? lost->rate : lost->slope, others = 0;
    enum growth_part most = growth_main_part(g);
    if (!leaks_in_time(g) || is_lost_in_rss(g))
        return false;
    if (process_grows(g)) /* if nothing else is known to grow, the verdict is about what is lost */
        others = most == GAIN_LOST || (loses_at_most_marks(g) && is_noise_of_rss(g, most))
                     ? 0
                     : known_rate(g);
    else if (growth_grows(g, GROWTH_LIVE))
        others = g->trends[GROWTH_LIVE].slope;
    return !(rate < LOST_SHARE * others);
}

/* Did a function gain more than it ever freed, below the noise of others? */
static bool function_rose(const struct growth *g)
{
    for (size_t i = 0; i < g->sites.count + g->other.count; i++) {
        const struct growth_site *s =
            i < g->sites.count ? &g->sites.items[i] : &g->other.items[i - g->sites.count];
        if ((double)s->bytes >= FALLS_FACTOR * s->trend.fall + RISE_LEAST &&
            (double)s->bytes >= SHARE_LEAST * growth_last(g, GROWTH_RSS))
            return true;
    }
    return false;
}

static bool anything_rose(const struct growth *g)
{
    return function_rose(g) || growth_risen_line(g) < GROWTH_LINES;
}

/* Growth below the noise of RSS: is there enough of it to be worth a verdict? */
static bool live_matters(const struct growth *g)
{
    const struct trend *t = &g->trends[GROWTH_LIVE];
    double gained = t->slope * growth_span(g, t->skipped, g->count - 1);
    return growth_grows(g, GROWTH_LIVE) &&
           (gained >= LIVE_MUCH || gained >= SHARE_LEAST * growth_last(g, GROWTH_RSS) || !g->mark);
}

static enum growth_verdict verdict_of(const struct growth *g)
{
    if (leak_matters(g))
        return VERDICT_LEAK;
    if (process_grows(g))
        return kind_of_growth(g);
    if (live_matters(g) || growth_grows(g, GROWTH_POOLS) || growth_grows(g, GROWTH_ARENAS))
        return VERDICT_GROWTH;
    if (kind_of_mapped(g) != VERDICT_STABLE)
        return kind_of_mapped(g);
    if ((growth_grows(g, GROWTH_VM) || growth_grows(g, GROWTH_MAPPED)) &&
        !growth_rose(g, GROWTH_RSS))
        return VERDICT_ADDRESS_SPACE;
    /* Only memory that was once in use can be kept. */
    if (holds_much(g) &&
        (has_account(g) || (double)g->peak_bytes - growth_last(g, GROWTH_LIVE) >= 0.5 * kept(g)))
        return kind_of_level(g);
    return anything_rose(g) ? VERDICT_WARM_UP : VERDICT_STABLE;
}

/* --- since when ------------------------------------------------------------------------------- */

static const struct trend *site_of(const struct growth *g, enum domain domain)
{
    for (size_t i = 0; i < g->sites.count; i++)
        if (g->sites.items[i].domain == domain)
            return &g->sites.items[i].trend;
    return NULL;
}

/* Is the first function nearly all that grows? */
static bool site_is_most(const struct growth *g)
{
    for (size_t i = 0; i < g->sites.count; i++)
        if (g->sites.items[i].domain == DOMAIN_HEAP)
            return (double)g->sites.items[i].bytes >= MOST_SHARE * (double)g->gained_bytes;
    return false;
}

/* A function's own series has less noise than those of the process. */
static const struct trend *cause_of(const struct growth *g)
{
    const struct trend *t = g->trends, *site = NULL;
    enum growth_line risen;
    switch (g->verdict) {
    case VERDICT_LEAK:
        return &t[GROWTH_LOST];
    case VERDICT_GROWTH:
        site = site_of(g, growth_grows(g, GROWTH_POOLS) ? DOMAIN_POOL : DOMAIN_HEAP);
        if (growth_grows(g, GROWTH_POOLS))
            return site ? site : &t[GROWTH_POOLS];
        if (growth_main_part(g) == GAIN_ARENAS && growth_grows(g, GROWTH_ARENAS))
            return &t[GROWTH_ARENAS];
        if (growth_grows(g, GROWTH_LIVE))
            return site && site_is_most(g) ? site : &t[GROWTH_LIVE];
        return &t[GROWTH_RSS];
    case VERDICT_MAPPED:
        site = site_of(g, DOMAIN_MAPPED);
        return site ? site : &t[GROWTH_ANON];
    case VERDICT_SHARED:
        site = site_of(g, DOMAIN_MAPPED);
        return site && kind_of_mapped(g) == VERDICT_SHARED ? site : &t[GROWTH_SHARED];
    case VERDICT_FRAGMENTATION:
    case VERDICT_RETENTION:
        return &t[GROWTH_ANON];
    case VERDICT_ADDRESS_SPACE:
        return &t[GROWTH_VM];
    default:
        risen = growth_risen_line(g); /* what the sentence is about */
        return &t[risen < GROWTH_LINES ? risen : GROWTH_RSS];
    }
}

/* If the series of the cause also contains other memory than the verdict is about, the rate is that
 * of the verdict's part in the account. */
static void use_rate_of_part(struct growth *g)
{
    const double *parts = g->rates.parts;
    bool kept = g->verdict == VERDICT_RETENTION || g->verdict == VERDICT_FRAGMENTATION;
    double part = g->by_function                 ? 0
                  : kept                         ? parts[GAIN_FREE]
                  : g->verdict == VERDICT_MAPPED ? parts[GAIN_MAPPED]
                  : g->verdict == VERDICT_SHARED ? parts[GAIN_SHARED] + parts[GAIN_FILES]
                                                 : 0;
    if (part > 0)
        g->cause.rate = g->cause.slope = part;
}

void growth_judge(struct growth *g)
{
    if (!g->known)
        return;
    g->rates = rates_of(g, &g->trends[GROWTH_RSS]);
    g->verdict = verdict_of(g);
    const struct trend *cause = cause_of(g);
    g->cause = *cause;
    g->by_function = true;
    for (int line = 0; line < GROWTH_LINES; line++)
        g->by_function &= cause != &g->trends[line];
    bool kept = g->verdict == VERDICT_RETENTION || g->verdict == VERDICT_FRAGMENTATION;
    bool grows = g->verdict != VERDICT_WARM_UP && g->verdict != VERDICT_STABLE;
    if (kept &&
        !process_grows(g)) { /* what is kept after a burst was gained once: it has no rate */
        size_t first = g->cause.skipped < g->count - 1 ? g->cause.skipped : 0;
        g->cause = (struct trend){0};
        g->rates = growth_rates_between(g, first, g->count - 1, false);
    } else if (grows || g->cause.end > g->cause.begin) {
        g->rates = rates_of(g, &g->cause);
        use_rate_of_part(g);
    }
}
