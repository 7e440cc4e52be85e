/*
 * compare_runs: makes the recordings that `tidemark compare` compares: a program alone, then
 * several times at once. Each of the two is one session, in a process of its own (session.h allows
 * only one), which records what the process of compare_copies.h starts.
 */
#ifndef TIDE_CLI_COMPARE_RUNS_H
#define TIDE_CLI_COMPARE_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"
#include "cli/compare_copies.h"
#include "collect/sampling/perf.h"

struct compare_runs {
    char **program;
    size_t copies;
    struct perf_options sampling;
    const char *library; /* preloaded, for marks; NULL: nothing is */
    const char *const *mark_on;
    size_t mark_on_count;
    bool quiet;
    char *folder;    /* owned; where the recordings are */
    bool own_folder; /* it is temporary, and to be removed */
    char *files[2];  /* owned */
    VEC(struct copy_end) ends[2];
    bool interrupted;
};

/* Chooses where the recordings go: the given folder, which is created if needed, or a temporary
 * one. */
int compare_runs_init(struct compare_runs *r, const char *folder, struct err *err);
/* `which` 0: alone; 1: together. Returns 0 if it was recorded, however the program ended. */
int compare_runs_record(struct compare_runs *r, int which, struct err *err);
/* Removes a temporary folder with its contents, unless `keep`. */
void compare_runs_release(struct compare_runs *r, bool keep);

#endif
