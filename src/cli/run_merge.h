/*
 * run_merge: merges the recordings of the ranks of one job as they end (run --merge).
 *
 * Each rank puts its recording into a folder beside the result and then takes a lock. The holder of
 * the lock merges all recordings of this machine that are in the folder, so ranks that end together
 * are merged together. No rank has to be the last: one that dies takes only its own recording with
 * it, and the result is complete after each step. A process in a session of its own merges, because
 * mpirun kills all ranks when one of them fails. If the job runs on one machine, the result is the
 * file itself; otherwise each machine has a file with its name (job.HOST.tide), and
 * tidemark-mpi-merge reduces these to one.
 *
 * Ownership: run_merge_release frees the names. Errors: a negative errno and a sentence.
 */
#ifndef TIDE_CLI_RUN_MERGE_H
#define TIDE_CLI_RUN_MERGE_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/mpi_rank.h"

struct run_merge {
    struct rank rank;
    char *file;    /* the result of this machine */
    char *folder;  /* for recordings that wait to be merged */
    char *running; /* where this rank's recording is written; a checkpoint is not merged */
    char *part;    /* where it is once it is complete */
    bool whole;    /* the file is that of the whole job */
};

/* `file`: the argument of --merge. Creates the folder. Returns 0, or a negative code and a
 * sentence. */
int run_merge_init(struct run_merge *m, const char *file, struct err *err);
/* Merges the recordings in the folder. `recorded`: where the recording is; if that is not
 * m->running, it stays there. */
int run_merge_finish(struct run_merge *m, const char *recorded, struct err *err);
void run_merge_release(struct run_merge *m);

/* The file of a machine: "job.HOST.tide" for "job.tide". The caller frees it. */
char *run_merge_file_of(const char *file, const char *host);

#endif
