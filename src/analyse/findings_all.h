/*
 * findings_all: the findings of all processes of a recording as one short list.
 *
 * The process that reports open on comes first, then the others by how much memory they use. The
 * same finding in several processes of the same program (same executable, kind, function and
 * caller) is one entry with the sums of bytes and blocks; blocks that a forked process inherited
 * are its parent's, so nothing is counted twice. The worth of an entry is scaled by what the
 * process is in the whole recording, so that a shell's kilobytes come after the megabytes of what
 * it starts.
 *
 * The analysis of a process takes memory in proportion to all names of the recording. So it is
 * freed when the process is done, and made again for the processes that are in the list.
 *
 * Ownership: borrows recording and query, which must outlive it; findings_all_release frees the
 * rest.
 */
#ifndef TIDE_ANALYSE_FINDINGS_ALL_H
#define TIDE_ANALYSE_FINDINGS_ALL_H

#include "analyse/findings.h"

#define FINDINGS_PROCESSES_MAX 256 /* the largest; the others are counted in `left_out` */

/* The findings of one process. */
struct process_findings {
    char *process; /* the word that names it, PID#N */
    struct query query;
    struct findings findings;
};

struct joined_finding {
    const struct profile *profile; /* the process that has most of it, */
    size_t number;                 /* its place in the list of that, */
    const struct findings *of;     /* which is this one, */
    const struct finding *own;     /* and what was found there */
    struct finding sum;            /* the same with bytes, blocks and worth of all processes */
    VEC(uint32_t) pids;            /* that have it; the first is that of `profile` */
    uint32_t alike;                /* processes of that program, these included, */
    uint32_t not_looked;           /* and of alike, those that were not looked at */
    uint32_t workers; /* of alike, those that another one forked; 0: not all of `pids` are such */
    uint32_t unknown; /* of alike, those of which nobody knows what they lost */
};

struct findings_all {
    const struct recording *recording;
    VEC(struct process_findings *)
    of;                              /* the first is that of the chosen process; of others, those
                                        that the list needs */
    VEC(struct joined_finding) list; /* the most worthwhile first, at most FINDINGS_MAX */
    uint64_t largest_bytes;          /* of all processes: the most that one takes, */
    uint64_t longest_ns;             /* and the longest that one ran */
    size_t looked;                   /* processes */
    size_t left_out;                 /* processes that nobody looked at, for want of time */
    int64_t lost_bytes, lost_blocks; /* of all that were looked at */
    uint64_t planted_bytes, planted_blocks;
    uint64_t cut_stacks, cut_peak_bytes;
    int64_t cut_lost_bytes, cut_lost_blocks; /* no finding has it: nobody knows by whom */
};

/* With a process in the query: of that one alone. After `budget_ns` no further process is begun; 0:
 * there is no limit. Errors are those of findings_init for the chosen process. */
int findings_all_init(struct findings_all *all, const struct recording *r, const struct query *q,
                      uint64_t budget_ns, struct err *err);
void findings_all_release(struct findings_all *all);

/* Of the process that reports open on. */
const struct findings *findings_chosen(const struct findings_all *all);

#endif
