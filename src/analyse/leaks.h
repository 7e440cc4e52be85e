/*
 * leaks: the blocks that were still live at a scan, one entry for each stack and kind, and what was
 * freed at exit.
 *
 * The kind is what pointed to the blocks (enum reach): lost, indirect, unclassified, reachable. The
 * same stack may have entries of several kinds. The filter of the query decides which stacks count
 * and how they look, as in reports; --since and --older leave out blocks by their age. Totals cover
 * all kinds and all remaining entries, whether they are listed or not.
 *
 * The time of an allocation is known by its interval. So --since is exact at marks, and --older
 * keeps only blocks that are certainly that old.
 *
 * What is lost was decided by the collector (collect/leakscan/reachability.c); here it is only
 * grouped and ordered. answer/leaks_text.c has the text; `findings` reports leaks by
 * detect_leaks.c.
 *
 * Ownership: borrows recording and question, which must outlive it; leaks_release frees the rest.
 */
#ifndef TIDE_ANALYSE_LEAKS_H
#define TIDE_ANALYSE_LEAKS_H

#include "analyse/leak_scan.h"
#include "model/answer.h"

/* Kinds that are listed: a set of 1 << enum reach. */
#define LEAKS_OF(reach) (1u << (reach))
#define LEAKS_ALL       (LEAKS_OF(REACHES) - 1)
#define LEAKS_NOT_FREED (LEAKS_ALL & ~LEAKS_OF(REACH_REACHABLE))

struct leaks_question {
    struct query query; /* process, at, since, filter, top, min_percent */
    unsigned kinds;
    uint64_t older_ns;
    /* Largest first; otherwise lost, indirect, unclassified, reachable, and by size. */
    bool by_size;
    bool freed; /* also list what was freed at exit */
    bool whole; /* join a lost block and what it leads to into one entry, if that is known */
};

#define LEAK_PARTS 8 /* parts of the time from the start to the scan */

struct leak {
    enum reach kind;
    uint32_t node; /* in `tree`: the innermost frame; the path leads to the root */
    const struct merged *tree;
    const char *thread; /* the one that allocated most of it; NULL: not known */
    uint32_t threads;   /* number of different thread names */
    /* In a combined profile (model/combined_profile.h): how many processes have it. */
    uint32_t processes;
    uint64_t blocks, bytes, usable, untouched;
    /* Lost blocks: the indirect blocks that are counted with them. */
    uint64_t led_blocks, led_bytes;
    uint64_t first_ns, last_ns;
    uint64_t allocated_in[LEAK_PARTS]; /* blocks by part of the run */
};

struct leak_sum {
    uint64_t blocks, bytes, places;
};

struct leak_list {
    VEC(struct leak) leaks;
    struct leak_sum left_out; /* by --top and --min */
};

struct leak_group {
    struct call_tree tree;
    struct merged merged;
};

struct leaks {
    const struct recording *recording;
    const struct profile *profile;
    const struct leaks_question *question;
    const struct scan *scan;
    struct moment since;
    struct totals totals;       /* of the whole process until the scan */
    struct stack_filter filter; /* the question's */
    struct frame_table frames;
    struct leak_group groups[REACHES], freed_group;
    struct leak_sum sums[REACHES], all;
    struct leak_sum freed;   /* at exit */
    struct leak_sum growing; /* the part of the reachable blocks that grew through the whole run */
    /* Blocks whose stacks were cut off: their visible frames are not within the filter, but the
     * missing ones may be. Without reachable blocks and without places. */
    struct leak_sum may_match;
    struct call_tree left_out; /* only what the trees of all kinds left out, and why */
    struct leak_list list, freed_list;
};

/* -EINVAL: the question makes no sense; -ENOENT, -ENODATA: this recording does not have the
 * answer. */
int leaks_find(struct leaks *l, const struct recording *r, const struct leaks_question *q,
               struct err *err);
void leaks_release(struct leaks *l);

/* What the other processes lost, directly or indirectly, for the same question; nothing if the
 * question names a process. */
struct leak_others {
    uint64_t bytes, blocks;
    size_t processes; /* number of processes that lost something */
    uint32_t pid;     /* the one that lost most */
    size_t left_out;  /* processes that lost something before any filter, and were not examined */
};

/* After `budget_ns` of processor time no further process is begun, those that lost most come first;
 * 0: no limit. */
struct leak_others leaks_of_others(const struct leaks *l, uint64_t budget_ns);

/* Were blocks of this stack allocated, and kept, during the whole time until the scan? */
bool leak_grew(const struct leak *leak);

/* "lost", "indirect", "unclassified", "reachable". */
const char *leak_kind_name(enum reach kind);
/* Parses a list of these, separated by commas. -EINVAL and a sentence that lists the known
 * words. */
int leak_kinds_parse(const char *text, unsigned *kinds, struct err *err);

/* What was lost, directly or indirectly, before any filter: is it worth examining? */
struct leak_sum leaks_lost(const struct profile *p);

#endif
