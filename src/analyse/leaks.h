/*
 * leaks: the blocks of a scan that were still live, one entry for each stack and kind, and what was
 * freed at exit.
 *
 * The kind is what pointed to the blocks (enum reach): lost, indirect, unclassified, reachable. The
 * same stack may have entries of several kinds. The focus of the query decides which stacks count
 * and how they look, as in reports; --since and --older leave out blocks by their age. Totals are
 * of all kinds and all entries that are left, whatever is listed.
 *
 * When a block was allocated is known by its interval, so --since is exact at marks, and --older keeps only
 * blocks that are surely that old.
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
    struct query query; /* process, at, since, focus, top, min_percent */
    unsigned kinds;
    uint64_t older_ns;
    bool
        by_size; /* largest first; otherwise lost, indirect, unclassified, reachable, and by size */
    bool freed;  /* list what was freed at exit, too */
    bool whole;  /* a lost block and what it leads to are one entry, where that is known */
};

#define LEAK_PARTS 8 /* of the time from the start to the scan */

struct leak {
    enum reach kind;
    uint32_t node; /* in `tree`: innermost frame, up to the root */
    const struct merged *tree;
    const char *thread; /* that allocated most of it; NULL: not known */
    uint32_t threads;   /* how many names of threads there are */
    uint32_t processes; /* of all as one (model/combined_profile.h): that have it */
    uint64_t blocks, bytes, usable, untouched;
    uint64_t led_blocks, led_bytes; /* of lost ones: indirect blocks that are their share */
    uint64_t first_ns, last_ns;
    uint64_t allocated_in[LEAK_PARTS]; /* blocks by the part of the run */
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
    struct totals totals; /* of the whole process until the scan */
    struct focus focus;   /* the question's */
    struct frame_table frames;
    struct leak_group groups[REACHES], freed_group;
    struct leak_sum sums[REACHES], all;
    struct leak_sum freed;     /* at exit */
    struct leak_sum growing;   /* of the reachable: grew through the whole run */
    struct leak_sum may_match; /* not within the focus as far as can be seen, but their stacks were
                                  cut off: what is missing may be. Not reachable ones; no places */
    struct call_tree left_out; /* only what it left out, and why: of the trees of all kinds */
    struct leak_list list, freed_list;
};

/* -EINVAL: the question makes no sense; -ENOENT, -ENODATA: this recording does not have it. */
int leaks_find(struct leaks *l, const struct recording *r, const struct leaks_question *q,
               struct err *err);
void leaks_release(struct leaks *l);

/* What the other processes lost, directly or not, by the same question; none where the question
 * names a process. */
struct leak_others {
    uint64_t bytes, blocks;
    size_t processes; /* that lost something, */
    uint32_t pid;     /* and the one that lost most */
};

struct leak_others leaks_of_others(const struct leaks *l);

/* Were blocks of this stack allocated all the time until the scan, and kept? */
bool leak_grew(const struct leak *leak);

/* "lost", "indirect", "unclassified", "reachable". */
const char *leak_kind_name(enum reach kind);
/* A list of these with commas. -EINVAL and a sentence with the words there are. */
int leak_kinds_parse(const char *text, unsigned *kinds, struct err *err);

/* What was lost, directly or not, before any focus: whether it is worth to look closer. */
struct leak_sum leaks_lost(const struct profile *p);

#endif
