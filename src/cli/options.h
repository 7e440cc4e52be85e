/*
 * options: parses the command line of a command that does not ask a recording (those use
 * cli/query_options.h). Uses getopt's own state, so it is not thread-safe.
 */
#ifndef TIDE_CLI_OPTIONS_H
#define TIDE_CLI_OPTIONS_H

#include <getopt.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct options {
    const char *command;        /* "run" */
    const char *help;           /* what --help and -h print */
    const char *letters;        /* short options, as for getopt; begins with ":" or "+:" */
    const struct option *table; /* long options except help; ended by zeros */
    /* Takes one option; `value` is NULL if it has none. Returns 0, or -EINVAL and a sentence. */
    int (*take)(void *context, int option, char *value, struct err *err);
};

/* Returns 0: the arguments begin at argv[optind]; 1: the help was printed; -EINVAL and a sentence:
 * wrong usage. */
int options_parse(const struct options *o, int argc, char **argv, void *context, struct err *err);

/* How many letters must be changed, inserted or removed to make one word of the other; 64 if `b`
 * has that many or more. */
size_t options_distance(const char *a, const char *b);

/* Call it after getopt_long returned '?' or ':'. Returns -EINVAL and a sentence: the option is
 * unknown (the sentence names a similar one), is ambiguous, lacks its value, or has a value that it
 * does not take. */
int options_refuse(const struct option *options, const char *letters, char **argv,
                   const char *command, struct err *err);

/* Parses the whole number that an option takes. Returns 0; or -EINVAL and a sentence, and *out is
 * unchanged. */
int options_number(const char *option, const char *text, uint64_t least, uint64_t most,
                   uint64_t *out, struct err *err);

#endif
