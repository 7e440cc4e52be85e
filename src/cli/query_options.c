#include "cli/query_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/answer.h"
#include "model/combined_profile.h"
#include "base/parse_amount.h"
#include "base/units.h"
#include "cli/options.h"
#include "store/held_recordings.h"
#include "store/merge.h"
#include "store/reader.h"

enum {
    OPT_METRIC = 256,
    OPT_SIZE,
    OPT_BY,
    OPT_AT,
    OPT_SINCE,
    OPT_TREE,
    OPT_CALLERS,
    OPT_CALLEES,
    OPT_TOP,
    OPT_MIN,
    OPT_WITHIN,
    OPT_WITHIN_PATH,
    OPT_IGNORE,
    OPT_FOLD,
    OPT_NO_FOLD,
    OPT_MERGE,
    OPT_THREAD,
    OPT_PYTHON_ONLY,
    OPT_NATIVE_ONLY,
    OPT_SUPPRESSIONS,
    OPT_PRESETS,
    OPT_NO_PRESETS,
    OPT_NO_DEFAULTS,
    OPT_PROCESS,
    OPT_JSON,
    OPT_CSV,
    OPT_HELP,
};

static const struct option common[] = {
    {"metric", required_argument, NULL, OPT_METRIC},
    {"size", required_argument, NULL, OPT_SIZE},
    {"by", required_argument, NULL, OPT_BY},
    {"at", required_argument, NULL, OPT_AT},
    {"since", required_argument, NULL, OPT_SINCE},
    {"tree", no_argument, NULL, OPT_TREE},
    {"callers", required_argument, NULL, OPT_CALLERS},
    {"callees", required_argument, NULL, OPT_CALLEES},
    {"top", required_argument, NULL, OPT_TOP},
    {"min", required_argument, NULL, OPT_MIN},
    {"within", required_argument, NULL, OPT_WITHIN},
    {"within-path", required_argument, NULL, OPT_WITHIN_PATH},
    {"ignore", required_argument, NULL, OPT_IGNORE},
    {"fold", required_argument, NULL, OPT_FOLD},
    {"no-fold", no_argument, NULL, OPT_NO_FOLD},
    {"merge", required_argument, NULL, OPT_MERGE},
    {"thread", required_argument, NULL, OPT_THREAD},
    {"python-only", no_argument, NULL, OPT_PYTHON_ONLY},
    {"native-only", no_argument, NULL, OPT_NATIVE_ONLY},
    {"suppressions", required_argument, NULL, OPT_SUPPRESSIONS},
    {"presets", no_argument, NULL, OPT_PRESETS},
    {"no-presets", no_argument, NULL, OPT_NO_PRESETS},
    {"no-defaults", no_argument, NULL, OPT_NO_DEFAULTS},
    {"process", required_argument, NULL, OPT_PROCESS},
    {"json", no_argument, NULL, OPT_JSON},
    {"csv", no_argument, NULL, OPT_CSV},
    {"help", no_argument, NULL, OPT_HELP},
};

#define TEXT_TREE_ROWS  60
#define TEXT_TREE_MIN   1.0
#define TEXT_HISTOGRAMS 5

#define COMMON (sizeof common / sizeof common[0])

static int take_top(struct query_options *o, const char *text, struct err *err)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end || errno || *text == '-')
        return err_set(err, -EINVAL, "--top '%s' is not a number of rows; 0 means all", text);
    o->query.top = n ? n : QUERY_ALL;
    o->top_given = true;
    return 0;
}

static int take_min(struct query_options *o, const char *text, struct err *err)
{
    char *end;
    double percent = decimal_parse(text, &end);
    if (end == text || (*end && strcmp(end, "%") != 0) || !(percent >= 0 && percent <= 100))
        return err_set(err, -EINVAL, "--min '%s' is not a percentage from 0 to 100", text);
    o->query.min_percent = percent;
    o->min_given = true;
    return 0;
}

static int take_shape(struct query *q, enum shape shape, const char *function, struct err *err)
{
    if (q->shape != SHAPE_TABLE && (q->shape != shape || function))
        return err_set(err, -EINVAL, "--tree, --callers and --callees exclude each other");
    q->shape = shape;
    q->function = function;
    return 0;
}

static int take_output(struct query_options *o, enum output output, struct err *err)
{
    if (o->output != OUTPUT_TEXT && o->output != output)
        return err_set(err, -EINVAL, "--json and --csv exclude each other");
    o->output = output;
    return 0;
}

/* Files are recorded by the paths that the program used, mostly absolute ones. */
static int take_path(struct query *q, const char *text, struct err *err)
{
    if (!*text)
        return err_set(err, -EINVAL, "--within-path needs the beginning of a path");
    *vec_push(&q->filter.paths) = xstrdup(text);
    char *whole = *text == '/' ? NULL : realpath(text, NULL);
    if (whole)
        *vec_push(&q->filter.paths) = whole;
    return 0;
}

static int take_common(struct query_options *o, int val, const char *text, struct err *err)
{
    struct query *q = &o->query;
    switch (val) {
    case OPT_METRIC:
        o->metric_given = true;
        return metric_parse(text, &q->metric, err);
    case OPT_SIZE:
        return size_kind_parse(text, &q->size, err);
    case OPT_BY:
        q->histogram_rows = o->by_given = true;
        return grouping_parse(text, &q->by, err);
    case OPT_AT:
        q->at = text;
        return 0;
    case OPT_SINCE:
        q->since = text;
        return 0;
    case OPT_TREE:
        return take_shape(q, SHAPE_TREE, NULL, err);
    case OPT_CALLERS:
        return take_shape(q, SHAPE_CALLERS, text, err);
    case OPT_CALLEES:
        return take_shape(q, SHAPE_CALLEES, text, err);
    case OPT_TOP:
        return take_top(o, text, err);
    case OPT_MIN:
        return take_min(o, text, err);
    case OPT_WITHIN:
        return pattern_list_add(&q->filter.within, text, "--within", err);
    case OPT_WITHIN_PATH:
        return take_path(q, text, err);
    case OPT_IGNORE:
        return pattern_list_add(&q->filter.ignore, text, "--ignore", err);
    case OPT_FOLD:
        return pattern_list_add(&q->filter.fold, text, "--fold", err);
    case OPT_NO_FOLD:
        q->filter.no_fold = true;
        return 0;
    case OPT_MERGE:
        return rename_list_add(&q->filter.merge, text, err);
    case OPT_THREAD:
        q->filter.thread = text;
        return 0;
    case OPT_PYTHON_ONLY:
        q->filter.python_only = true;
        return 0;
    case OPT_NATIVE_ONLY:
        q->filter.native_only = true;
        return 0;
    case OPT_SUPPRESSIONS:
        *vec_push(&o->suppressions) = text;
        return suppressions_read(&q->filter.suppress, text, NULL, err);
    case OPT_PRESETS:
    case OPT_NO_PRESETS:
        q->filter.presets = val == OPT_PRESETS;
        o->presets_given = true;
        return 0;
    case OPT_NO_DEFAULTS:
        q->filter.no_defaults = true;
        return 0;
    case OPT_PROCESS:
        q->process = text;
        return 0;
    case OPT_JSON:
        return take_output(o, OUTPUT_JSON, err);
    case OPT_CSV:
        return take_output(o, OUTPUT_CSV, err);
    case OPT_HELP:
        o->help = true;
    }
    return 0;
}

/* A command that takes --within and --ignore takes the related options too. */
static const char *taken_with(const char *name)
{
    static const char *const with_ignore[] = {"suppressions", "presets", "no-presets",
                                              "no-defaults"};
    for (size_t i = 0; i < sizeof with_ignore / sizeof *with_ignore; i++)
        if (strcmp(name, with_ignore[i]) == 0)
            return "ignore";
    return strcmp(name, "within-path") == 0 ? "within" : name;
}

static bool takes(const struct query_command *command, const char *name)
{
    name = taken_with(name);
    const char *const *only = command->only;
    while (only && *only && strcmp(*only, name) != 0)
        only++;
    return !only || *only;
}

/* Text is for a screen, so it shows only the most important rows. */
static void set_text_rows(struct query_options *o)
{
    bool tree = o->query.shape == SHAPE_TREE;
    if (o->output != OUTPUT_TEXT || !o->command->text_rows)
        return;
    if (!o->top_given)
        o->query.top = tree                      ? TEXT_TREE_ROWS
                       : o->query.histogram_rows ? TEXT_HISTOGRAMS
                                                 : o->command->text_rows;
    if (!o->min_given && tree)
        o->query.min_percent = TEXT_TREE_MIN;
}

int query_options_parse(struct query_options *o, int argc, char **argv,
                        const struct query_command *command, struct err *err)
{
    *o = (struct query_options){.command = command};
    query_init(&o->query);
    o->query.filter.presets = command->presets;
    VEC(struct option) options = {0};
    for (size_t i = 0; i < COMMON; i++)
        if (takes(command, common[i].name))
            *vec_push(&options) = common[i];
    for (const struct option *p = command->extra; p && p->name; p++)
        *vec_push(&options) = *p;
    *vec_push(&options) = (struct option){0};

    int code = 0, val;
    optind = 0; /* GNU: start anew */
    opterr = 0;
    const char *letters = command->program ? "+:ho:" : command->letter_o ? ":ho:" : ":h";
    while (!code && !o->help &&
           (val = getopt_long(argc, argv, letters, options.items, NULL)) != -1) {
        if (val == '?' || val == ':')
            code = options_refuse(options.items, letters, argv, command->name, err);
        else if (val == 'h')
            o->help = true;
        else if (val >= QUERY_EXTRA || val == 'o')
            code = command->take(command->context ? command->context : o, val, optarg, err);
        else
            code = take_common(o, val, optarg, err);
    }
    vec_release(&options);
    if (o->query.histogram && !o->metric_given)
        o->query.metric = METRIC_TOTAL;
    o->query.histogram_rows &= o->query.histogram != HISTOGRAM_NONE;
    set_text_rows(o);
    if (!code && !o->help) {
        for (int i = optind; i < argc; i++)
            *vec_push(&o->files) = argv[i];
        if (command->program && !o->files.count)
            code = err_set(err, -EINVAL, "no program given: tidemark %s [OPTIONS] -- PROGRAM",
                           command->name);
        else if (command->program)
            ;
        else if (o->files.count < command->files && !command->optional)
            code = err_set(err, -EINVAL, "%s is missing: tidemark %s %s [OPTIONS]",
                           command->arguments && o->files.count ? "a function" : "a recording",
                           command->name,
                           command->arguments   ? command->arguments
                           : command->files > 1 ? "FILE FILE"
                                                : "FILE");
        else if (o->files.count > command->files)
            code = err_set(err, -EINVAL, "'%s' is one %s too many: tidemark %s takes %zu",
                           o->files.items[command->files], command->arguments ? "argument" : "file",
                           command->name, command->files);
    }
    if (code)
        query_options_release(o);
    return code;
}

void query_options_release(struct query_options *o)
{
    query_release(&o->query);
    vec_release(&o->files);
    vec_release(&o->suppressions);
}

/* Reads the process that the query is about, and only the identities of the others: a build has
 * hundreds, and all of them would take gigabytes. false: everything must be read, or reading it
 * will report the error. */
static bool read_one_process(const struct query_options *o, const char *file,
                             struct recording **out)
{
    struct reader_choice choice = {.process = READER_NONE, .most = UINT64_MAX};
    struct recording *r;
    struct stat st;
    const struct profile *p;
    if (stat(file, &st) || !S_ISREG(st.st_mode) || recording_read_some(file, &choice, &r, NULL))
        return false;
    bool one = r->profiles.count > 1 && !r->incomplete;
    /* The figures of each process are listed. */
    for (size_t i = 0; one && i < r->profiles.count; i++)
        one = !profile_is_sampled(&r->profiles.items[i]);
    one = one && answer_process(r, &o->query, &p, NULL) == 0;
    if (one)
        choice.process = (uint32_t)(p - r->profiles.items);
    recording_free(r);
    return one && recording_read_some(file, &choice, out, NULL) == 0;
}

/* Prints on stderr that a recording is incomplete, if the command's own text does not say so. */
static void report_damage(const struct query_options *o, const char *file,
                          const struct recording *r)
{
    if (!r->incomplete || (o->command->summary && o->output != OUTPUT_CSV))
        return;
    struct strbuf text = {0};
    unit_text(&text, r->incomplete);
    fprintf(stderr, "tidemark %s: %s is incomplete: %s\n", o->command->name, file, text.data);
    strbuf_release(&text);
}

int query_read(const struct query_options *o, const char *file, struct recording **out,
               struct err *err)
{
    const char *process = o->query.process;
    bool whole = process && !o->command->not_combined &&
                 strstr(process, COMBINED_PROFILE_WORD); /* for two files: PID,PID */
    bool one = o->command->one_process && !whole && !recording_held(file) &&
               read_one_process(o, file, out);
    int code = one ? 0 : recording_read(file, out, err);
    if (!code)
        report_damage(o, file, *out);
    if (!code && o->command->timeline && (*out)->profiles.items[0].merge)
        return err_set(err, -ENODATA,
                       "%s was merged from %zu recordings: a merge keeps no timeline; ask one of "
                       "these ('tidemark merge --list %s' names them)",
                       file, (*out)->profiles.items[0].merge->inputs.count, file);
    return !code && whole ? combined_profile_make(*out, err) : code;
}

const char *query_options_help(void)
{
    return "What is measured:\n"
           "  --metric M       live (default), total, peak, sitepeak, largest, temporary, mapped,\n"
           "                   pool, untouched; gpu, tensor, cpu, samples, wall, waiting, faults,\n"
           "                   touched (if recorded)\n"
           "  --size S         requested (default), usable, overhead: for live, total, peak\n"
           "  --at WHEN        start, exit (before destructors run), end (default), peak, LABEL#N "
           "(a\n"
           "                   mark), 12.5s, 50%\n"
           "  --since WHEN     the difference from WHEN to --at\n"
           "  --process PID    this process, not the one that held the most memory\n"
           "                   (PID#N: its N-th program), or all\n"
           "\n"
           "Which stacks:\n"
           "  --within REGEX   only stacks with a matching function (repeatable)\n"
           "  --within-path PREFIX  only functions whose file begins with PREFIX (repeatable)\n"
           "  --ignore REGEX   leave out stacks with a matching function (repeatable)\n"
           "  --suppressions FILE  leave out stacks that LeakSanitizer or valgrind suppress "
           "(repeatable)\n"
           "  --presets, --no-presets  leave out, or show, what libraries set up once and keep\n"
           "  --no-defaults    do not apply --within, --ignore and --suppressions of run\n"
           "  --thread NAME    only what this thread allocated\n"
           "  --fold REGEX     drop matching functions from stacks, charge their caller "
           "(repeatable)\n"
           "  --no-fold        keep the internals of C++'s and Rust's std, and Python's own C "
           "code\n"
           "  --merge s/RE/NEW/  rename functions, equal names are merged (repeatable)\n"
           "  --python-only, --native-only   list only Python, or only native, frames\n"
           "\n"
           "How it is shown:\n"
           "  --by WHAT        function (default), line, stack, library, file, thread\n"
           "  --tree           top-down tree of calls\n"
           "  --callers NAME   callers of a function; --callees NAME: functions that it calls\n"
           "  --top N          at most N rows, 0: all (text: 20, a tree 60; otherwise all)\n"
           "  --min PERCENT    only rows with at least this share (text tree: 1)\n"
           "  --json, --csv    exact numbers for scripts\n"
           "  --help           this text\n";
}
