/*
 * growth: does the process grow, by how much, by what, by whom, since when, and until when.
 *
 * Only this module decides that: `growth` prints the answer, and findings ask for it.
 *
 * The sizes of the process at the marks of one label are series, each with its trend
 * (analyse/trend.h). Without marks, the series are the collector's stamps over time, and every rate
 * is per second. The growth of RSS is divided among its parts, which add up (growth_rates.c). The
 * largest part decides the verdict; lost blocks decide it even where they are not the largest. No
 * verdict contradicts the series: "stable" means that none of them rose beyond its noise. The
 * functions that grow are those whose own series have a trend: blocks of the heap, mappings, or
 * blocks of pools.
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
    GROWTH_MAPPED, /* what the program itself has mapped, touched or not */
    GROWTH_LOST,   /* allocated until then, and lost at the last look */
    GROWTH_HELD,   /* anonymous RSS beyond live blocks and their rounding */
    GROWTH_SHARED, /* RSS that is a file's or shared, but for the recorder's */
    GROWTH_POOLS,  /* live blocks of the program's own allocators (tide_alloc) */
    GROWTH_ARENAS, /* what CPython has for small objects: resident, or else mapped */
    GROWTH_LINES
};
#define GROWTH_SHOWN (GROWTH_VM + 1) /* lines that users are told of one by one */

enum growth_verdict {
    VERDICT_NONE, /* too few marks or stamps; there is no other reason */
    VERDICT_LEAK,
    VERDICT_GROWTH,
    VERDICT_MAPPED,
    VERDICT_SHARED, /* shared memory, or pages of files */
    VERDICT_FRAGMENTATION,
    VERDICT_RETENTION,
    VERDICT_ADDRESS_SPACE,
    VERDICT_WARM_UP,
    VERDICT_STABLE,
    VERDICTS
};

/* What RSS is made of, as far as it gained. */
enum growth_part {
    GAIN_LOST,
    GAIN_REACHABLE, /* live heap blocks that are not lost, or of which it is not known */
    GAIN_ROUNDING,  /* what the allocator adds to each block */
    GAIN_MAPPED,    /* anonymous, mapped by the program */
    GAIN_SHARED,
    GAIN_FILES,
    GAIN_ARENAS, /* of CPython, for small objects */
    GAIN_FREE,   /* what the allocator keeps and no live block uses: glibc's arenas, for one */
    GAIN_STACKS,
    GAIN_RECORDER,
    GAIN_OTHER, /* the rest: all parts add up to the gain of RSS */
    GROWTH_PARTS
};

/* Bytes per mark, or per second, between two of them. */
struct growth_rates {
    size_t begin, end;
    double rss, error; /* half of its 95 % interval */
    double parts[GROWTH_PARTS];
};

#define GROWTH_STAMPS_LEAST 8        /* without marks, to say anything */
#define GROWTH_PROCESS_GAIN 262144.0 /* of sizes of the process: less may be the recorder's */

struct growth_question {
    struct query query; /* process and focus */
    const char *mark;   /* label; NULL: the one with most marks */
    const char *per;    /* key of a value; NULL: none */
};

/* A function that gained. */
struct growth_site {
    enum domain domain;    /* heap, mapped or pool: growth_places has its names */
    uint32_t place, call;  /* in places */
    uint32_t leaf;         /* where its stack begins */
    int64_t bytes, blocks; /* gained between the first and the last mark that count */
    int64_t held_blocks;   /* at the last mark, those of before included */
    int64_t lost_bytes;    /* allocated between them, and lost; with what only these lead to */
    int64_t led_bytes;     /* allocated between them, and lost as a part of another's */
    int64_t freed_bytes;   /* of what was gained: freed after the last mark, before the end */
    int64_t risen_bytes;   /* without marks: since its growth began, by the clock of allocations */
    bool grows;            /* up to the last mark */
    struct trend trend;    /* of its live bytes; begin and end are numbers of marks, from 0 */
};

struct growth {
    struct places places;        /* of the heap; */
    bool borrowed;               /* they are somebody else's */
    struct places mapped, pools; /* these are empty where nothing of that kind gained */
    const char *mark;            /* NULL: there are none, the collector's stamps are used */
    size_t count;                /* of marks */
    const struct stamp **stamp;  /* at each */
    size_t *intervals;           /* that lie before each */
    double *arena_space;         /* what of the live bytes are CPython's arenas, at each, */
    uint64_t *absent_bytes;      /* and what of these was not resident, if arenas_counted */
    double *series[GROWTH_LINES];
    double *when;         /* of stamps, in seconds; NULL: marks */
    bool known;           /* enough marks for trends */
    bool arenas_are_live; /* CPython's arenas are part of the live bytes, and known at every mark */
    bool arenas_counted;  /* and how much of them was resident is known at every mark, too */
    struct trend trends[GROWTH_LINES];
    size_t skipped;      /* the longest warm-up of the lines that are shown */
    size_t first;        /* mark from which functions are compared */
    size_t since, until; /* intervals before that, and before the last mark or the end of work */

    const char *per; /* the value's key; NULL: none */
    double *units;   /* its sum so far, at each mark */
    struct trend per_trends[GROWTH_SHOWN];

    const struct scan *scan; /* NULL: nobody looked what is lost */
    const char *no_scan;     /* why not, in words, or NULL */
    uint64_t lost_bytes;     /* in focus, whenever they were allocated */
    uint64_t peak_bytes;     /* highest live total until the last mark */
    double planted_bytes;    /* from one mark to the next; 0: none */
    struct growth_account account;
    enum growth_verdict verdict;
    /* What the verdict is about: since when, until when, and how fast; rates are of that time. */
    struct trend cause;
    struct growth_rates rates;
    VEC(struct growth_site) sites; /* what grows, what is lost most of first */
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
/* The same for functions that are known already, which must outlive it; by the busiest label. */
void growth_of_places(struct growth *g, const struct places *places);
void growth_release(struct growth *g);

/* Where the functions of a domain have their names. */
const struct places *growth_places(const struct growth *g, enum domain domain);
/* Does it grow up to the last mark, beyond doubt? */
bool growth_grows(const struct growth *g, enum growth_line line);
/* The part of RSS that gained most, of those that grow; GROWTH_PARTS: none. */
enum growth_part growth_main_part(const struct growth *g);
/* Did it rise beyond what it also falls, in whatever form? */
bool growth_rose(const struct growth *g, enum growth_line line);
/* Do blocks keep so much that is free on their pages that it is worth a word? */
bool growth_pins_matter(const struct growth *g);
double growth_last(const struct growth *g, enum growth_line line);
/* Blocks that were live at the last mark, and freed when pages were looked at after it: what they
 * leave free was in use at the mark. */
double growth_freed_since(const struct growth *g);
/* Marks, or seconds, between two moments. */
double growth_span(const struct growth *g, size_t begin, size_t end);
const char *growth_verdict_name(enum growth_verdict v); /* NULL: VERDICT_NONE */
const char *growth_part_name(enum growth_part part);    /* the key in JSON */

/* Is it one of lost blocks, in focus? */
bool growth_row_is_lost(const struct growth *g, const struct live_row *row);

/* growth_verdict.c: from series and account; sets verdict, cause and rates. */
void growth_judge(struct growth *g);
/* growth_sites.c: series of functions. */
void growth_find_sites(struct growth *g, const struct recording *r);
/* growth_rates.c */
struct growth_rates growth_rates_between(const struct growth *g, size_t begin, size_t end);

#endif
