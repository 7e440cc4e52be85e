/*
 * growth: does the process grow from mark to mark, by how much, and what kind of growth is it.
 *
 * Sizes of the process at the marks of one label are series, each with its trend (analyse/trend.h).
 * A verdict is given from what was measured, and from nothing else: trends, what the last look at
 * the live blocks found lost, and the highest live total. Where that cannot tell, there is none,
 * and growth_missing says why. Functions that grow are found by the trends of their own series.
 *
 * Ownership: borrows recording and query, which must outlive it; growth_release frees the rest.
 */
#ifndef TIDE_ANALYSE_GROWTH_H
#define TIDE_ANALYSE_GROWTH_H

#include "analyse/chains.h"
#include "analyse/growth_account.h"
#include "analyse/places.h"
#include "analyse/trend.h"

enum growth_line {
    GROWTH_LIVE,
    GROWTH_RSS,
    GROWTH_VM,
    GROWTH_ANON,   /* RSS that is neither a file's nor shared */
    GROWTH_MAPPED, /* what the program itself has mapped */
    GROWTH_LOST,   /* allocated until then, and lost at the last look */
    GROWTH_HELD,   /* anonymous RSS beyond live blocks and their rounding */
    GROWTH_LINES
};
#define GROWTH_SHOWN (GROWTH_VM + 1) /* lines that users are told of one by one */

enum growth_verdict {
    VERDICT_NONE,
    VERDICT_LEAK,
    VERDICT_GROWTH,
    VERDICT_FRAGMENTATION,
    VERDICT_RETENTION,
    VERDICT_ADDRESS_SPACE,
    VERDICT_WARM_UP,
    VERDICT_STABLE,
    VERDICTS
};

#define GROWTH_STAMPS_LEAST 8 /* without marks, to say anything */

struct growth_question {
    struct query query; /* process and focus */
    const char *mark;   /* label; NULL: the one with most marks */
    const char *per;    /* key of a value; NULL: none */
};

/* A function that grows. */
struct growth_site {
    uint32_t place, call;  /* in places */
    uint32_t leaf;         /* where its stack begins */
    int64_t bytes, blocks; /* gained between the first and the last mark that count */
    int64_t lost_bytes;    /* allocated between them, and lost */
    int64_t freed_bytes;   /* of what was gained: freed after the last mark, before the end */
    struct trend trend;    /* of its live bytes, for each mark */
};

struct growth {
    struct places places;
    const char *mark;           /* NULL: there are none, the collector's stamps are used */
    size_t count;               /* of marks */
    const struct stamp **stamp; /* at each */
    size_t *intervals;          /* that lie before each */
    double *series[GROWTH_LINES];
    double *when; /* of stamps: the collector may lack the time for some; NULL: marks */
    bool known;   /* enough marks for trends */
    struct trend trends[GROWTH_LINES];
    size_t skipped; /* the longest warm-up of the lines that are shown */

    const char *per; /* the value's key; NULL: none */
    double *units;   /* its sum so far, at each mark */
    struct trend per_trends[GROWTH_SHOWN];

    const struct scan *scan; /* NULL: nobody looked what is lost */
    const char *no_scan;     /* why not, in words, or NULL */
    uint64_t peak_bytes;     /* highest live total until the last mark */
    double planted_bytes;    /* from one mark to the next; 0: none */
    struct growth_account account;
    enum growth_verdict verdict;
    VEC(struct growth_site) sites; /* what grows most first */
    VEC(struct growth_site) other; /* gained much, but are no ramp: in steps, or at first */
    int64_t gained_bytes;          /* by all functions, between the marks that count, */
    int64_t gained_blocks;         /* less what others gave back */
    int64_t freed_bytes; /* of what they gained: freed after the last mark; 0: hardly any */
    bool all_freed;      /* as good as all of it */
    struct chains chains;
};

/* -ENOENT: no such mark or value. Otherwise as answer_query. */
int growth_init(struct growth *g, const struct recording *r, const struct growth_question *q,
                struct err *err);
void growth_release(struct growth *g);

/* Is a ramp one, beyond what its interval leaves to chance? One in forty flat series seems to rise.
 */
bool growth_is_sure(const struct trend *t);
/* Does it grow, beyond doubt? */
bool growth_grows(const struct growth *g, enum growth_line line);
/* Does it rise to new maxima, in few jumps or before the marks that count, and stay there? */
bool growth_settles(const struct growth *g, enum growth_line line);
/* Do blocks keep so much that is free on their pages that it is worth a word? */
bool growth_pins_matter(const struct growth *g);
double growth_last(const struct growth *g, enum growth_line line);
const char *growth_verdict_name(enum growth_verdict v); /* NULL: VERDICT_NONE */

/* growth_verdict.c: from all the rest. */
enum growth_verdict growth_judge(const struct growth *g);

#endif
