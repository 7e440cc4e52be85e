/*
 * record_options: parses the options that `run` and `attach` share: where to write, and how to
 * record. What -o means (patterns such as %p, which files are overwritten, temporary names) is
 * decided by collect/session/output.h; options of `run` alone are in run_options.h.
 */
#ifndef TIDE_CLI_RECORD_OPTIONS_H
#define TIDE_CLI_RECORD_OPTIONS_H

#include <getopt.h>

#include "base/err.h"
#include "collect/session/session.h"

#define RECORD_OUTPUT      "tidemark.%n.%p.tide" /* the default of -o */
#define RECORD_INTERVAL_NS 1000000               /* the default of --interval, */
#define SAMPLE_INTERVAL_NS 10000000              /* and with --sample */

enum { OPT_OUTPUT = 'o', OPT_ON_FULL = 512, OPT_INTERVAL, OPT_PYTHON, OPT_SCAN };

/* Rows of a table for getopt_long; -o is handled as a letter. */
#define RECORD_OPTIONS                                                                             \
    {"on-full", required_argument, NULL, OPT_ON_FULL},                                             \
        {"interval", required_argument, NULL, OPT_INTERVAL},                                       \
        {"python", required_argument, NULL, OPT_PYTHON},                                           \
    {                                                                                              \
        "scan", required_argument, NULL, OPT_SCAN                                                  \
    }

/* Returns 0: the option was taken; 1: it is none of these; -EINVAL and a sentence: its value is
 * wrong. */
int record_option_take(struct session_options *o, int option, const char *value, struct err *err);

/* The pattern for -o that gives this name, whatever it contains. The caller frees it. */
char *record_output_literal(const char *name);

#endif
