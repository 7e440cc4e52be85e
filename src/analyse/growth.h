/*
 * growth: does the process grow, by how much, by what, by whom, since when, and until when? Only
 * this module decides that: `growth` prints the answer, and findings ask for it.
 *
 * The sizes of the process at the marks of one label are series, each with its trend
 * (analyse/trend.h). Without marks, the series are the collector's stamps over time, and every rate
 * is per second. The growth of RSS is divided among its parts, which add up (growth_rates.c). The
 * largest part decides the verdict; lost blocks decide it even where they are not the largest. No
 * verdict contradicts the series: "stable" means that none of them rose beyond its noise. The
 * functions that grow are those whose own series have a trend: blocks of the heap, mappings, or
 * blocks of pools.
 *
 *   growth.c            the series, from marks or from the collector's readings over time
 *   trend.h             whether one series grows, how much per step, since when, how certainly
 *   growth_rates.c      how the gain of RSS is divided among its parts
 *   growth_verdict.c    what kind of growth it is: leak, fragmentation, mappings, ..., or stable
 *   growth_rest.c       whether RSS also gained something besides what the verdict is about
 *   growth_functions.c  which functions grow, and in which order they are listed
 *   growth_account.h    what RSS consisted of at the first and the last moment
 *   detect_growth.c     which of these functions are worth a finding (`tidemark findings`)
 *
 * Ownership: borrows recording and query, which must outlive it; growth_release frees the rest.
 */
#ifndef TIDE_ANALYSE_GROWTH_H
#define TIDE_ANALYSE_GROWTH_H

#include "analyse/realloc_chains.h"
#include "analyse/growth_account.h"
#include "analyse/places.h"
#include "analyse/trend.h"
#include "analyse/work_end.h"

enum growth_line {
    GROWTH_LIVE,
    GROWTH_RSS,
    GROWTH_VM,
    GROWTH_ANON,   /* the part of RSS that is neither files nor shared */
    GROWTH_MAPPED, /* what the program itself has mapped, touched or not */
    GROWTH_LOST,   /* allocated until then, and lost at the last scan */
    GROWTH_HELD,   /* anonymous RSS beyond live blocks and their rounding */
    GROWTH_SHARED, /* the part of RSS that is files or shared, without the recorder's */
    GROWTH_POOLS,  /* live blocks of the program's own allocators (tide_alloc) */
    GROWTH_ARENAS, /* what CPython has for small objects: resident if known, otherwise mapped */
    GROWTH_LINES
};
#define GROWTH_SHOWN (GROWTH_VM + 1) /* the lines that users see one by one */

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

/* The parts into which the gain of RSS is divided. */
enum growth_part {
    GAIN_LOST,
    GAIN_REACHABLE, /* live heap blocks that are not lost, or not known to be */
    GAIN_ROUNDING,  /* what the allocator adds to each block */
    GAIN_MAPPED,    /* anonymous, mapped by the program */
    GAIN_SHARED,
    GAIN_FILES,
    GAIN_ARENAS, /* CPython's arenas for small objects */
    GAIN_FREE,   /* what the allocator keeps without live blocks, in glibc's arenas for example */
    GAIN_STACKS,
    GAIN_RECORDER,
    GAIN_OTHER, /* the rest: all parts add up to the gain of RSS */
    GROWTH_PARTS
};

/* Bytes per mark, or per second, between two of them. */
struct growth_rates {
    size_t begin, end;
    /* Rates are slopes of lines through all marks between these two; otherwise differences. */
    bool fitted;
    double rss, error; /* error: half of the 95 % interval */
    double parts[GROWTH_PARTS];
    /* The shares of live and of lost blocks that are resident: the rest is not part of RSS. */
    double live_share, lost_share;
    /* The share of GAIN_FILES that is code and constants of the program and its libraries; 0: not
     * known. */
    double code_share;
};

/* What RSS gained besides what the verdict is about. */
enum growth_rest_kind {
    REST_NOT_ASKED,  /* the verdict says it already */
    REST_FLAT,       /* nothing */
    REST_UNCLEAR,    /* some bytes, which may be noise */
    REST_OTHER_TIME, /* more, at whatever time, steadily or not */
    REST_SAME_TIME,  /* more, in the time of the verdict: the account says what */
};

struct growth_rest {
    enum growth_rest_kind kind;
    double bytes; /* not per mark or second, but in all */
};

#define GROWTH_STAMPS_LEAST 8 /* how many stamps are needed without marks */
/* Sizes of the process must gain so many bytes: less may be the recorder's. */
#define GROWTH_PROCESS_GAIN 262144.0

struct growth_question {
    struct query query; /* process and filter */
    const char *mark;   /* a label; NULL: the one with most marks */
    const char *per;    /* the key of a value; NULL: none */
};

/* A function that gained. */
struct growth_site {
    enum domain domain;    /* heap, mapped or pool; growth_places has its names */
    uint32_t place, call;  /* in places */
    uint32_t leaf;         /* the innermost call of its stack */
    int64_t bytes, blocks; /* gained between the first and the last mark that count */
    int64_t held_blocks;   /* blocks at the last mark, including those from before the first */
    /* Allocated between these marks, and lost; with what only these blocks lead to. */
    int64_t lost_bytes;
    int64_t led_bytes; /* allocated between these marks, and lost as a part of another block */
    /* The part of what was gained that was freed after the last mark, before the end. */
    int64_t freed_bytes;
    /* Without marks: the rise since its growth began, measured over allocations. */
    int64_t risen_bytes;
    bool grows;         /* it grows up to the last mark */
    bool fills_arenas;  /* a part of what it gained is CPython's arenas */
    struct trend trend; /* of its live bytes; begin and end are indexes of marks */
};

struct growth {
    struct places places;        /* of the heap */
    bool borrowed;               /* `places` belongs to the caller */
    struct places mapped, pools; /* empty if nothing of that kind gained */
    struct work_end end;
    const char *mark;           /* NULL: there are no marks, and the collector's stamps are used */
    size_t count;               /* number of marks or stamps */
    const struct stamp **stamp; /* at each */
    size_t *intervals;          /* number of intervals before each */
    double *arena_space;        /* at each: the part of the live bytes that is CPython's arenas */
    /* At each: the part of these that was not resident, if arenas_counted. */
    uint64_t *absent_bytes;
    double *series[GROWTH_LINES];
    double *when;         /* times of stamps, in seconds; NULL: marks */
    bool known;           /* there are enough marks for trends */
    bool arenas_are_live; /* CPython's arenas are part of the live bytes, and known at every mark */
    bool arenas_counted;  /* how much of the arenas was resident is known at every mark, too */
    struct trend trends[GROWTH_LINES];
    size_t skipped; /* the longest warm-up of the lines that are shown */
    size_t first;   /* index of the mark from which functions are compared */
    /* Number of intervals before that mark, and before the last mark or the end of work. */
    size_t since, until;

    const char *per; /* the key of the value; NULL: none */
    double *units;   /* at each mark: the sum of the value so far */
    struct trend per_trends[GROWTH_SHOWN];

    const struct scan *scan; /* NULL: it is not known what is lost */
    const char *no_scan;     /* why not, in words, or NULL */
    uint64_t lost_bytes;     /* that pass the filter, whenever allocated */
    uint64_t peak_bytes;     /* highest live total until the last mark */
    double planted_bytes;    /* from one mark to the next; 0: none */
    struct growth_account account;
    enum growth_verdict verdict;
    /* What the verdict is about: since when, until when, and how fast. The rates are of that
     * time. */
    struct trend cause;
    bool by_function; /* the cause is the series of one function, not of the process */
    struct growth_rates rates;
    VEC(struct growth_site) sites; /* those that grow; those that lost most come first */
    /* Those that gained much, but not steadily: in steps, or only at first. */
    VEC(struct growth_site) other;
    int64_t gained_bytes;  /* gained by all functions, between the marks that count */
    int64_t gained_blocks; /* the same in blocks; both without what others freed */
    /* The part of their gain that was freed after the last mark; 0: hardly any. */
    int64_t freed_bytes;
    bool all_freed; /* nearly all of it was freed */
    struct chains chains;
};

/* -ENOENT: there is no such mark or value. Otherwise as answer_query. */
int growth_init(struct growth *g, const struct recording *r, const struct growth_question *q,
                struct err *err);
/* The same for functions that are already known, and the label with the most marks; `places` must
 * outlive it. */
void growth_of_places(struct growth *g, const struct places *places);
void growth_release(struct growth *g);

/* The places that the functions of a domain refer to. */
const struct places *growth_places(const struct growth *g, enum domain domain);
/* Does it grow up to the last mark, beyond doubt? */
bool growth_grows(const struct growth *g, enum growth_line line);
/* The part of RSS that gained most, among those that grow; GROWTH_PARTS: none. */
enum growth_part growth_main_part(const struct growth *g);
/* Did it rise by more than it also falls, in whatever form? */
bool growth_rose(const struct growth *g, enum growth_line line);
/* The first line that rose, in the order in which a sentence names them; GROWTH_LINES: none did. */
enum growth_line growth_risen_line(const struct growth *g);
/* Do blocks keep enough free space on their pages to be mentioned? */
bool growth_pins_matter(const struct growth *g);
double growth_last(const struct growth *g, enum growth_line line);
/* Bytes of blocks that were live at the last mark, but freed when the later footprint was taken:
 * the space that they left was in use at the mark. */
double growth_freed_since(const struct growth *g);
/* The number of marks, or seconds, between two moments. */
double growth_span(const struct growth *g, size_t begin, size_t end);
const char *growth_verdict_name(enum growth_verdict v); /* NULL: VERDICT_NONE */
const char *growth_part_name(enum growth_part part);    /* the key in JSON */

/* Is it a row of lost blocks that passes the filter? */
bool growth_row_is_lost(const struct growth *g, const struct live_row *row);

/* In growth_verdict.c: sets verdict, cause and rates from the series and the account. */
void growth_judge(struct growth *g);
/* In growth_functions.c: the series of functions. */
void growth_find_functions(struct growth *g, const struct recording *r);
/* growth_rest.c */
struct growth_rest growth_rest_of_rss(const struct growth *g);
/* growth_rates.c */
struct growth_rates growth_rates_between(const struct growth *g, size_t begin, size_t end,
                                         bool fitted);

#endif
