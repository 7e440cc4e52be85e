/*
 * options: the command line of a command that asks no recording (those have cli/query_options.h).
 *
 * Uses getopt's own state, so not from two threads.
 */
#ifndef TIDE_CLI_OPTIONS_H
#define TIDE_CLI_OPTIONS_H

#include <getopt.h>

#include "base/err.h"

struct options {
    const char *command;        /* "run" */
    const char *help;           /* what --help and -h print */
    const char *letters;        /* of short options, as for getopt; begins with ":" or "+:" */
    const struct option *table; /* of long options but help; ended by zeros */
    /* Takes one option; `value` is NULL if it has none. 0, or -EINVAL and a sentence. */
    int (*take)(void *context, int option, char *value, struct err *err);
};

/* 0: the arguments are from argv[optind] on; 1: the help was printed; -EINVAL and a sentence: wrong
 * usage. */
int options_parse(const struct options *o, int argc, char **argv, void *context, struct err *err);

/* After getopt_long returned '?' or ':': -EINVAL and a sentence. The option is unknown (the sentence
 * names a similar one), ambiguous, lacks its value, or has a value that it does not take. */
int options_refuse(const struct option *options, const char *letters, char **argv,
                   const char *command, struct err *err);

#endif
