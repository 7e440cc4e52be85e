/*
 * query_options: the options that every command which looks at a profile takes, parsed into a
 * query.
 *
 * What the options mean is decided in src/model (query.h names the files).
 *
 * A command calls query_options_parse with its own name and help; its own further options are given
 * as a table and come back through a callback. FILE may stand before or after the options.
 *
 *     struct query_options o;
 *     int code = query_options_parse(&o, argc, argv, &command, &err);
 *     ...
 *     query_options_release(&o);
 *
 * Ownership: strings point into argv; query_options_release frees the query's patterns. Uses
 * getopt's own state, so not from two threads.
 */
#ifndef TIDE_CLI_QUERY_OPTIONS_H
#define TIDE_CLI_QUERY_OPTIONS_H

#include <getopt.h>

#include "model/query.h"

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV };

struct query_command;

struct query_options {
    const struct query_command *command;
    struct query query;
    enum output output;
    bool help;
    bool top_given, min_given, metric_given, by_given, presets_given;
    VEC(const char *) files;
    VEC(const char *) suppressions; /* files of --suppressions, as given */
};

/* What differs between commands. */
struct query_command {
    const char *name;      /* "report" */
    void (*help)(void);    /* prints --help */
    size_t files;          /* how many files it needs */
    bool optional;         /* the files may be left out */
    const char *arguments; /* names of the arguments; NULL: FILE, as often as needed */
    bool program;          /* instead of files, takes a program and its arguments, in `files` */
    bool letter_o;         /* takes -o VALUE */
    bool summary;          /* its text and its JSON say themselves what a recording lacks */
    bool presets;          /* presets are applied unless --no-presets is given */
    size_t text_rows;      /* default of --top for text; 0: all. Data is complete */
    bool not_combined;     /* it is refused for all processes together */
    bool timeline;         /* it needs the course of one run, which a merge does not keep */
    bool one_process;      /* of the other processes, only the identities are read */
    /* Names of the common options that it takes, ended by NULL; or NULL: all. "within" includes
     * within-path; "ignore" includes suppressions, presets, no-presets and no-defaults. */
    const char *const *only;
    /* Its own options, ended by zeros, or NULL; `val` from QUERY_EXTRA up. */
    const struct option *extra;
    int (*take)(void *context, int val, const char *argument, struct err *err);
    void *context; /* NULL: the query_options themselves */
};

#define QUERY_EXTRA 1000

/* The options that select stacks, for `only` and for the help of commands that refer to that of
 * report for details. */
#define QUERY_FOCUS_OPTIONS                                                                        \
    "within", "ignore", "fold", "no-fold", "merge", "thread", "python-only", "native-only"
#define QUERY_FOCUS_HELP                                                                           \
    "  --within REGEX, --within-path PREFIX, --ignore REGEX, --fold REGEX, --no-fold,\n"           \
    "  --merge RULE, --thread NAME, --python-only, --native-only,\n"                               \
    "  --suppressions FILE, --presets, --no-presets, --no-defaults\n"                              \
    "                   as in tidemark report\n"

/* Returns 0; or -EINVAL and a sentence: wrong usage. If o->help is set, nothing else counts. */
int query_options_parse(struct query_options *o, int argc, char **argv,
                        const struct query_command *command, struct err *err);
void query_options_release(struct query_options *o);

/* Reads a file. If the query asks for it, all its processes become one profile. Returns 0, or a
 * negative code and a sentence. */
int query_read(const struct query_options *o, const char *file, struct recording **out,
               struct err *err);

/* The part of --help that describes these options. */
const char *query_options_help(void);

/* The part of --help about stacks, for commands that apply presets by default. */
#define QUERY_PRESETS_FOCUS_HELP                                                                   \
    "  --within REGEX   only stacks with a matching function (repeatable)\n"                       \
    "  --within-path PREFIX  only functions whose file begins with PREFIX (repeatable)\n"          \
    "  --ignore REGEX   leave out stacks with a matching function (repeatable)\n"                  \
    "  --suppressions FILE  leave out stacks that LeakSanitizer or valgrind suppress "             \
    "(repeatable)\n"                                                                               \
    "  --presets, --no-presets  leave out (default), or show, what libraries set up and keep\n"    \
    "  --no-defaults    do not apply --within, --ignore and --suppressions of run\n"               \
    "  --fold REGEX     drop matching frames; their caller is charged (repeatable)\n"              \
    "  --no-fold        keep the std:: frames that are folded by default\n"                        \
    "  --merge RULE     rename functions: s/re/new/ (repeatable)\n"

#endif
