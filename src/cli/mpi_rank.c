#include "cli/mpi_rank.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"

/* The variables of one launcher; the first whose rank is set counts. */
static const struct launcher {
    const char *rank, *ranks, *local;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"PMIX_RANK", NULL, NULL},
    {"PALS_RANKID", "PALS_SIZE", "PALS_LOCAL_SIZE"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", NULL},
    {"SLURM_PROCID", "SLURM_NTASKS", NULL}, /* counts differently: slurm_local */
};

static bool number_of(const char *name, uint32_t *out)
{
    const char *text = name ? getenv(name) : NULL;
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    unsigned long n = strtoul(text, &end, 10);
    *out = (uint32_t)n;
    return !*end && n < UINT32_MAX - 1;
}

/* How many tasks of the step Slurm has put on this machine: "4(x2),3" is 4 on the first two and 3
 * on the third. 0: it is not known. */
static uint32_t slurm_local(void)
{
    const char *at = getenv("SLURM_STEP_TASKS_PER_NODE");
    uint32_t node;
    if (!at)
        at = getenv("SLURM_TASKS_PER_NODE");
    if (!at || !number_of("SLURM_NODEID", &node))
        return 0;
    for (unsigned long first = 0; *at >= '0' && *at <= '9'; at += *at == ',') {
        char *end;
        unsigned long tasks = strtoul(at, &end, 10), nodes = 1;
        if (text_begins(end, "(x"))
            nodes = strtoul(end + 2, &end, 10);
        first += nodes;
        if (node < first)
            return tasks < UINT32_MAX ? (uint32_t)tasks : 0;
        at = end + (*end == ')');
    }
    return 0;
}

struct rank rank_of_environment(void)
{
    struct rank r = {0};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && !r.known; i++) {
        const struct launcher *l = &launchers[i];
        r.known = number_of(l->rank, &r.rank);
        if (r.known && !number_of(l->ranks, &r.ranks))
            r.ranks = 0;
        if (r.known && !number_of(l->local, &r.local))
            r.local = strcmp(l->rank, "SLURM_PROCID") == 0 ? slurm_local() : 0;
    }
    return r;
}

/* When the parent process was started: field 22 of its stat. */
static unsigned long long parent_start(void)
{
    unsigned long long start = 0;
    char *name = xasprintf("/proc/%d/stat", (int)getppid());
    char line[1024] = "";
    FILE *f = fopen(name, "r");
    free(name);
    const char *at = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at)
        start = strtoull(at, NULL, 10);
    if (f)
        fclose(f);
    return start;
}

char *rank_job(void)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID",
                                        "PALS_APID", "FLUX_JOB_ID"};
    const char *slurm = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return xasprintf("%s=%s", names[i], getenv(names[i]));
    if (slurm && step)
        return xasprintf("slurm=%s.%s", slurm, step);
    return xasprintf("parent=%d.%llu", (int)getppid(), parent_start());
}
