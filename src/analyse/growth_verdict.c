/*
 * What kind of growth it is. Leaks first: what is lost grows or it does not, whatever else the
 * process does. Then what the program itself holds, then what only the allocator does, then what
 * is not even memory.
 */
#include <math.h>

#include "analyse/growth.h"

#define KIB 1024.0
#define MIB (1024 * KIB)

/* Times half the 95 % interval. Seven lines are looked at, and every function: a flat one should
 * not pass for one that grows more than once in some ten thousand. */
#define SURE            2
#define PROCESS_GAIN    (256 * KIB) /* of sizes of the process: less may be the recorder's */
#define LOST_SHARE      0.1         /* of what grows, to be what it is about */
#define HELD_LEAST      (4 * MIB)   /* beyond live blocks, to be worth a name */
#define HELD_SHARE      0.25        /* of anonymous RSS */
#define ALLOCATOR_SHARE 0.5         /* of what grows, to be what it is about */
#define PINNED_SHARE    0.25        /* of what is kept: free space that live blocks keep */
#define RISE_SHARE      0.02        /* of a size: less is no rise */
#define RISE_LEAST      (64 * KIB)
#define FALL_SHARE      0.1 /* of a rise: a series that falls more does not settle */

const char *growth_verdict_name(enum growth_verdict v)
{
    static const char *const names[VERDICTS] = {[VERDICT_LEAK] = "leak",
                                                [VERDICT_GROWTH] = "growth",
                                                [VERDICT_FRAGMENTATION] = "fragmentation",
                                                [VERDICT_RETENTION] = "retention",
                                                [VERDICT_ADDRESS_SPACE] = "address-space",
                                                [VERDICT_WARM_UP] = "warm-up",
                                                [VERDICT_STABLE] = "stable"};
    return names[v];
}

double growth_last(const struct growth *g, enum growth_line line)
{
    return g->count ? g->series[line][g->count - 1] : 0;
}

bool growth_is_sure(const struct trend *t)
{
    return t->model == TREND_RAMP && fabs(t->slope) > SURE * (t->slope - t->low);
}

/* Each lost block is a fact, whatever their sizes are: all through the run is enough. */
static bool loses_throughout(const struct growth *g)
{
    const double *lost = g->series[GROWTH_LOST];
    size_t rises = 0;
    for (size_t i = 1; i < g->count; i++)
        rises += lost[i] > lost[i - 1];
    return rises && 2 * rises >= g->count - 1;
}

bool growth_grows(const struct growth *g, enum growth_line line)
{
    const struct trend *t = &g->trends[line];
    if (line == GROWTH_LOST && g->known && loses_throughout(g))
        return true;
    bool own = line == GROWTH_LIVE || line == GROWTH_LOST || line == GROWTH_MAPPED;
    return growth_is_sure(t) && t->slope > 0 &&
           (own || t->slope * (double)(t->used - 1) >= PROCESS_GAIN);
}

/* Between the lowest and the highest. */
static double swing(const struct growth *g, enum growth_line line)
{
    double low = g->series[line][0], high = low;
    for (size_t i = 1; i < g->count; i++) {
        low = fmin(low, g->series[line][i]);
        high = fmax(high, g->series[line][i]);
    }
    return high - low;
}

/* A size of the process follows the highest that the live heap ever was: where that goes up and
 * down, as much of a rise is its doing. */
bool growth_settles(const struct growth *g, enum growth_line line)
{
    const double *y = g->series[line];
    double last = growth_last(g, line), rise = last - y[0], highest = y[0], fall = 0;
    double least = line == GROWTH_LIVE ? RISE_LEAST : PROCESS_GAIN + swing(g, GROWTH_LIVE);
    if (g->trends[line].model == TREND_RAMP || rise < least || rise < RISE_SHARE * last)
        return false;
    for (size_t i = 0; i < g->count; i++) {
        highest = fmax(highest, y[i]);
        fall = fmax(fall, highest - y[i]);
    }
    return fall <= FALL_SHARE * rise;
}

bool growth_pins_matter(const struct growth *g)
{
    return growth_account_part(&g->account, PART_HELD) >= HELD_LEAST / 4;
}

/* Blocks that were never announced would count as free. */
static bool has_account(const struct growth *g)
{
    return g->account.last && !g->account.last->partial;
}

/* Blocks that were live at the last mark, and freed since: what they leave free was in use there.
 */
static double freed_since(const struct growth *g)
{
    return fmax(growth_last(g, GROWTH_LIVE) - (double)g->account.last->live_bytes, 0);
}

/* What the allocator has beyond live blocks: counted, or what nothing else explains. */
static double kept(const struct growth *g)
{
    const struct growth_account *a = &g->account;
    return has_account(g) ? (double)growth_account_part(a, PART_HELD) +
                                (double)growth_account_part(a, PART_FREE) - freed_since(g)
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

/* What a line gained, by its trend, while the account did: the first one may be of a later mark. */
static double gained_meanwhile(const struct growth *g, const struct trend *t)
{
    size_t marks = 0;
    for (size_t i = g->count; i-- > 0 && marks + 1 < t->used;)
        if (!g->account.first || g->stamp[i]->time_ns > g->account.first->time_ns)
            marks++;
    return t->slope * (double)marks;
}

/* Is it the allocator that makes a line grow? Without an account: nothing else is known to. */
static bool allocator_grows(const struct growth *g, enum growth_line line)
{
    const struct growth_account *a = &g->account;
    const struct trend *t = &g->trends[line];
    if (!growth_grows(g, line))
        return false;
    if (!has_account(g))
        return line == GROWTH_HELD && g->trends[GROWTH_MAPPED].slope < ALLOCATOR_SHARE * t->slope;
    return (double)growth_account_gain(a, PART_HELD) + (double)growth_account_gain(a, PART_FREE) -
               freed_since(g) >=
           ALLOCATOR_SHARE * gained_meanwhile(g, t);
}

/* Free space that live blocks keep is fragmentation; whole free pages are kept by the allocator's
 * own will. */
static enum growth_verdict kind_of_kept(double held, double free)
{
    return held >= PINNED_SHARE * (held + free) ? VERDICT_FRAGMENTATION : VERDICT_RETENTION;
}

static enum growth_verdict kind_of_gain(const struct growth *g)
{
    const struct growth_account *a = &g->account;
    return has_account(g) ? kind_of_kept((double)growth_account_gain(a, PART_HELD),
                                         (double)growth_account_gain(a, PART_FREE))
                          : VERDICT_FRAGMENTATION;
}

static enum growth_verdict kind_of_level(const struct growth *g)
{
    const struct growth_account *a = &g->account;
    return has_account(g) ? kind_of_kept((double)growth_account_part(a, PART_HELD),
                                         (double)growth_account_part(a, PART_FREE))
                          : VERDICT_RETENTION;
}

enum growth_verdict growth_judge(const struct growth *g)
{
    const struct trend *t = g->trends;
    if (!g->known)
        return VERDICT_NONE;
    bool held_grows = holds_much(g) && allocator_grows(g, GROWTH_HELD);
    double most = held_grows ? t[GROWTH_HELD].slope : 0;
    if (growth_grows(g, GROWTH_LOST) &&
        t[GROWTH_LOST].slope >=
            LOST_SHARE * fmax(most, growth_grows(g, GROWTH_LIVE) ? t[GROWTH_LIVE].slope : 0))
        return VERDICT_LEAK;
    if (held_grows && most > t[GROWTH_LIVE].slope)
        return kind_of_gain(g);
    if (growth_grows(g, GROWTH_LIVE))
        return VERDICT_GROWTH;
    if (growth_grows(g, GROWTH_ANON) && growth_grows(g, GROWTH_MAPPED))
        return VERDICT_GROWTH;
    if (growth_grows(g, GROWTH_VM) && !growth_grows(g, GROWTH_RSS))
        return VERDICT_ADDRESS_SPACE;
    if (has_account(g) && allocator_grows(g, GROWTH_ANON))
        return kind_of_gain(g);
    if (growth_grows(g, GROWTH_ANON))
        return VERDICT_NONE; /* stacks, shared copies: nothing that blocks or mappings explain */
    /* Only what was in use once can be kept. */
    if (holds_much(g) &&
        (has_account(g) || (double)g->peak_bytes - growth_last(g, GROWTH_LIVE) >= 0.5 * kept(g)))
        return kind_of_level(g);
    bool settles = growth_settles(g, GROWTH_LIVE) || growth_settles(g, GROWTH_ANON) ||
                   growth_settles(g, GROWTH_VM);
    return settles ? VERDICT_WARM_UP : VERDICT_STABLE;
}
