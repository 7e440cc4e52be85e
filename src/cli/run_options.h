/*
 * run_options: the options of `tidemark run`, from the command line and from TIDEMARK_OPTIONS.
 *
 * Options that `attach` has too are in record_options.h, those of pushing in run_push.h, --cpu in
 * cpu_source.h.
 *
 * Ownership: strings point into argv, or are never freed, since the process ends with the run;
 * run_options_release frees the lists. Uses getopt's own state, so not from two threads.
 */
#ifndef TIDE_CLI_RUN_OPTIONS_H
#define TIDE_CLI_RUN_OPTIONS_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "cli/cpu_source.h"
#include "cli/run_push.h"
#include "collect/session/session.h"
#include "collect/session/snapshot_triggers.h"

struct run_options {
    struct session_options session;
    struct cpu_request cpu;
    struct strbuf only; /* names of programs, one per line */
    VEC(const char *) mark_on;
    VEC(struct trigger) triggers;
    VEC(struct recorded_default) defaults;
    const char *merge; /* the file into which the ranks of a job are merged, or NULL */
    struct run_push push;
    bool output_given;
    bool quiet;
    bool only_samples; /* nothing is preloaded */
};

/* Returns 0: run the program; 1: the help was printed; -EINVAL and a sentence: wrong usage. */
int run_options_parse(struct run_options *o, int argc, char **argv, struct err *err);
void run_options_release(struct run_options *o);

#endif
