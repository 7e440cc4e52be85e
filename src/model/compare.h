/*
 * compare: a run of a program alone and several at once: what each call path costs per unit of
 * work, in both.
 *
 * A run is a process that was started and all that it started in turn; all of them count. A unit of
 * work is the run itself, or a mark of a given label. CPU time and page faults of each process are
 * answered as a report would (model/answer.h), by function or otherwise, and rows of the same name
 * are one (and file and line, by line; all names of the stack, by stack).
 *
 * Ownership: borrows the recordings and the query; compare_release frees the rest.
 */
#ifndef TIDE_MODEL_COMPARE_H
#define TIDE_MODEL_COMPARE_H

#include "model/answer.h"

/* What is measured of each row; self, then with all that it called. */
enum compare_measure {
    COMPARE_CPU_NS,
    COMPARE_SAMPLES,
    COMPARE_FAULTS,
    COMPARE_FAULT_BYTES,
    COMPARE_MEASURES
};

/*
 * Per unit of work. What is counted (samples, faults) is few or many by chance: between the bounds
 * is what the ratio is if that is all that chance did, as counts of independent events have it, at
 * three standard deviations. In a table of some dozen rows none is outside of that by accident.
 */
struct compared {
    double alone, together;
    double low, high;             /* of the copies, the least and the most */
    double ratio_low, ratio_high; /* INFINITY: there is no upper bound */
};

struct compare_row {
    const char *name, *module, *file;
    uint32_t line;
    const char *thread; /* by stack */
    uint32_t answer;    /* by stack: in whose merged tree */
    uint32_t call;      /* its frames begin */
    struct compared self[COMPARE_MEASURES], total[COMPARE_MEASURES];
    int64_t *cells; /* sums of each run: [run][self, total][measure] */
};

/* One metric of one process. */
struct compare_answer {
    struct query query;
    char process[40];
    size_t run; /* whose */
    struct answer answer;
};

/* Of a run, with all that it waited for. */
struct compare_counted {
    uint64_t user_ns, system_ns, minor_faults, major_faults;
};

/* One run, whole: not per unit. */
struct compare_run {
    uint32_t pid;
    uint64_t units;
    uint64_t duration_ns;
    uint64_t cpu_ns, faults, fault_bytes; /* as sampled, whatever the focus */
    uint64_t lost; /* samples; of all copies they are counted with the first */
    struct compare_counted kernel;
    size_t processes;
    uint64_t first_ns, last_ns; /* of its processes, since 1970 */
};

struct compare {
    const struct query *query; /* its metric says what rows are ordered by */
    const char *per;           /* NULL: the run */
    size_t copies;
    double fault_period;
    VEC(struct compare_run) runs; /* alone, each copy, and what could not be told whose it is */
    VEC(struct compare_answer *) answers;
    struct strpool keys;
    VEC(struct compare_row)
    rows;            /* what certainly got worse first; those without a value of their own last */
    size_t left_out; /* by --top and --min, of those with one */
};

struct compare_input {
    const struct recording *alone, *together;
    const uint32_t *pids;                 /* of the copies */
    const struct compare_counted *kernel; /* alone, and of each copy */
    size_t copies;
    const char *per; /* a mark's label; NULL: the run */
};

/* -EINVAL: the question makes no sense; -ENODATA: a recording does not have it. */
int compare_query(struct compare *c, const struct compare_input *in, const struct query *q,
                  struct err *err);
void compare_release(struct compare *c);

/* All copies in one. */
struct compare_run compare_copies(const struct compare *c);

static inline bool compared_is_nothing(struct compared v)
{
    return v.alone == 0 && v.together == 0;
}

static inline double compared_change(struct compared v)
{
    return v.together - v.alone;
}

/* Is it more, or less, than chance makes of no change? */
static inline bool compared_is_certain(struct compared v)
{
    return v.ratio_low > 1 || v.ratio_high < 1;
}

/* What is certain of the change: that which the nearer bound of the ratio leaves. */
static inline double compared_certain_change(struct compared v)
{
    return v.ratio_low > 1    ? v.together * (1 - 1 / v.ratio_low)
           : v.ratio_high < 1 ? v.alone * (v.ratio_high - 1)
                              : 0;
}

#endif
