/*
 * findings_all: the findings of all processes of a recording as one short list.
 *
 * The process that reports show by default comes first, then the others by how much memory they
 * use. The same finding in several processes of the same program (same executable, kind, function
 * and caller) is one entry with the sums of bytes and blocks. Blocks that a forked process
 * inherited belong to its parent, so nothing is counted twice. The worth of an entry is scaled by
 * the process's weight in the whole recording, so that a shell's kilobytes come after the megabytes
 * of what it starts.
 *
 * The analysis of a process takes memory in proportion to all names of the recording. So it is
 * freed when the process is done, and computed again for the processes that are in the list.
 *
 * Ownership: borrows recording and query, which must outlive it; findings_all_release frees the
 * rest.
 */
#ifndef TIDE_ANALYSE_FINDINGS_ALL_H
#define TIDE_ANALYSE_FINDINGS_ALL_H

#include "analyse/findings.h"

#define FINDINGS_PROCESSES_MAX 256 /* the largest ones; the others are counted in `left_out` */

/* The findings of one process. */
struct process_findings {
    char *process; /* the word that identifies it, PID#N */
    struct query query;
    struct findings findings;
};

struct joined_finding {
    const struct profile *profile; /* the process that has most of it */
    size_t number;                 /* index in that process's list */
    const struct findings *of;     /* the findings of that process */
    const struct finding *own;     /* the finding there */
    struct finding sum;            /* the same with bytes, blocks and worth of all processes */
    VEC(uint32_t) pids;            /* the processes that have it; the first is that of `profile` */
    uint32_t alike;                /* number of processes of that program, including these */
    uint32_t not_analysed;         /* how many of `alike` were not analysed */
    uint32_t workers; /* how many of `alike` another one forked; 0: not all of `pids` are such */
    uint32_t unknown; /* for how many of `alike` it is not known what they lost */
};

struct findings_all {
    const struct recording *recording;
    VEC(struct process_findings *)
    of; /* the first is that of the chosen process; the others are those that the list needs */
    VEC(struct joined_finding) list; /* the most worthwhile first, at most FINDINGS_MAX */
    uint64_t largest_bytes;          /* the size of the largest process */
    uint64_t longest_ns;             /* the run time of the longest-running process */
    size_t analysed;                 /* number of processes that were analysed */
    size_t left_out; /* number of processes that were not analysed, for lack of time */
    int64_t lost_bytes, lost_blocks; /* of all that were analysed */
    uint64_t planted_bytes, planted_blocks;
    uint64_t cut_stacks, cut_peak_bytes;
    /* No finding contains it: it is not known who lost it. */
    int64_t cut_lost_bytes, cut_lost_blocks;
};

/* If the query names a process, only that one is analysed. After `budget_ns` of processor time no
 * further process is begun; 0: no limit. Errors are those of findings_init for the chosen
 * process. */
int findings_all_init(struct findings_all *all, const struct recording *r, const struct query *q,
                      uint64_t budget_ns, struct err *err);
void findings_all_release(struct findings_all *all);

/* The findings of the process that reports show by default. */
const struct findings *findings_chosen(const struct findings_all *all);

#endif
