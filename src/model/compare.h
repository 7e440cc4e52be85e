/*
 * compare: one run of a program alone, and several at once: what each call path costs per unit of
 * work in both cases.
 *
 * A run is a process and everything that it started. A unit of work is the run itself, or a mark of
 * a given label. CPU time and page faults of each process are computed as for a report
 * (model/answer.h), by function or otherwise. Rows with the same name are joined (by line: the same
 * file and line too; by stack: all names of the stack).
 *
 * Ownership: borrows the recordings and the query; compare_release frees the rest.
 */
#ifndef TIDE_MODEL_COMPARE_H
#define TIDE_MODEL_COMPARE_H

#include "model/answer.h"

/* What is measured for each row: of the function itself, and including everything that it
 * called. */
enum compare_measure {
    COMPARE_CPU_NS,
    COMPARE_SAMPLES,
    COMPARE_FAULTS,
    COMPARE_FAULT_BYTES,
    COMPARE_MEASURES
};

/*
 * Values per unit of work. Counts (samples, faults) vary by chance. If they are counts of
 * independent events, the true ratio is between the bounds with three standard deviations: in a
 * table of some dozen rows, none lies outside by accident.
 */
struct compared {
    double alone, together;
    double low, high;             /* the lowest and the highest of the copies */
    double ratio_low, ratio_high; /* INFINITY: there is no upper bound */
};

struct compare_row {
    const char *name, *module, *file;
    uint32_t line;
    const char *thread; /* by stack */
    uint32_t answer;    /* by stack: the answer whose merged tree has its frames */
    uint32_t call;      /* by stack: its innermost frame in that tree */
    struct compared self[COMPARE_MEASURES], total[COMPARE_MEASURES];
    int64_t *cells; /* sums of each run: [run][self, total][measure] */
};

/* The answer for one metric of one process. */
struct compare_answer {
    struct query query;
    char process[40];
    size_t run; /* the run that it belongs to */
    struct answer answer;
};

/* What the kernel counted for a run, including the processes that it waited for. */
struct compare_counted {
    uint64_t user_ns, system_ns, minor_faults, major_faults;
};

/* The totals of one run, not per unit. */
struct compare_run {
    uint32_t pid;
    uint64_t units;
    uint64_t duration_ns;
    uint64_t cpu_ns, faults, fault_bytes; /* as sampled, regardless of the filter */
    uint64_t lost; /* lost samples; those of all copies are counted with the first */
    struct compare_counted kernel;
    size_t processes;
    uint64_t first_ns, last_ns; /* start of its first and end of its last process, since 1970 */
};

struct compare {
    const struct query *query; /* its metric decides the order of rows */
    const char *per;           /* NULL: per run */
    size_t copies;
    double fault_period;
    VEC(struct compare_run) runs; /* alone, each copy, and processes that could not be assigned */
    VEC(struct compare_answer *) answers;
    struct strpool keys;
    VEC(struct compare_row)
    rows;            /* certain deteriorations first; rows without a value of their own last */
    size_t left_out; /* rows that --top and --min left out, of those with a value */
};

struct compare_input {
    const struct recording *alone, *together;
    const uint32_t *pids;                 /* the pid of each copy */
    const struct compare_counted *kernel; /* alone, and for each copy */
    size_t copies;
    const char *per; /* the label of a mark; NULL: per run */
};

/* -EINVAL: the question makes no sense; -ENODATA: a recording does not have the data. */
int compare_query(struct compare *c, const struct compare_input *in, const struct query *q,
                  struct err *err);
void compare_release(struct compare *c);

/* The sum of all copies. */
struct compare_run compare_copies(const struct compare *c);

static inline bool compared_is_nothing(struct compared v)
{
    return v.alone == 0 && v.together == 0;
}

static inline double compared_change(struct compared v)
{
    return v.together - v.alone;
}

/* Is the change larger than chance explains? */
static inline bool compared_is_certain(struct compared v)
{
    return v.ratio_low > 1 || v.ratio_high < 1;
}

/* The part of the change that is certain, by the nearer bound of the ratio. */
static inline double compared_certain_change(struct compared v)
{
    return v.ratio_low > 1    ? v.together * (1 - 1 / v.ratio_low)
           : v.ratio_high < 1 ? v.alone * (v.ratio_high - 1)
                              : 0;
}

#endif
