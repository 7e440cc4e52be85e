/* tidemark history DB: totals and top functions of many runs, and what changed when. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/history.h"
#include "cli/command.h"
#include "cli/history_db.h"
#include "cli/metric_limits.h"
#include "cli/options.h"
#include "store/reader.h"

#define FUNCTIONS_JSON 20 /* functions that changed, for each run */

enum { OPT_LABEL = 256, OPT_METRIC, OPT_LIMIT, OPT_AGAINST, OPT_TOP, OPT_JSON, OPT_CSV, OPT_QUIET };

static const struct option long_options[] = {{"label", required_argument, NULL, OPT_LABEL},
                                             {"metric", required_argument, NULL, OPT_METRIC},
                                             {"limit", required_argument, NULL, OPT_LIMIT},
                                             {"against", required_argument, NULL, OPT_AGAINST},
                                             {"top", required_argument, NULL, OPT_TOP},
                                             {"json", no_argument, NULL, OPT_JSON},
                                             {"csv", no_argument, NULL, OPT_CSV},
                                             {"quiet", no_argument, NULL, OPT_QUIET},
                                             {0}};

static const char help[] =
    "usage: tidemark history DB add FILE... [--label KEY=VALUE]...\n"
    "       tidemark history DB [OPTIONS]\n"
    "\n"
    "Keeps the totals and the top functions of many runs in the SQLite database DB, and shows "
    "what\n"
    "changed from each run to the next. 'add' creates DB if it does not exist.\n"
    "\n"
    "  --label KEY=VALUE  of 'add': what the run was, such as commit=1a2b3c (repeatable); else: "
    "only\n"
    "                     runs that have this label\n"
    "  --metric M         peak (default), live, total, temporary, cpu, ... as in tidemark report\n"
    "  --limit LIMIT      exit with status 3 if the last run has more than 'peak 500 MiB', or "
    "more\n"
    "                     than the run before by 'peak +5 %' or 'live +64 KiB' (repeatable)\n"
    "  --against KEY=VALUE  compare the last run with the last one that has this label\n"
    "  --top N            only the last N runs, 0: all (default)\n"
    "  --json, --csv      exact numbers for scripts; JSON has the functions that changed\n"
    "  --quiet            of 'add': no closing line\n"
    "  --help             this text\n"
    "\n"
    "Examples:\n"
    "  tidemark history runs.db add app.tide --label commit=$(git rev-parse HEAD)\n"
    "  tidemark history runs.db --metric total\n"
    "  tidemark history runs.db --limit 'peak +5 %' --limit 'temporary +10 %'\n";

struct wanted {
    VEC(const char *) labels;
    VEC(struct limit) limits;
    const char *against;
    enum metric metric;
    size_t top;
    enum output output;
    bool quiet, shown; /* shown: an option about output was given */
};

static int check_label(const char *text, struct err *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return err_set(err, -EINVAL, "a label is KEY=VALUE, not '%s'", text);
    return 0;
}

static int take_top(struct wanted *w, const char *value, struct err *err)
{
    char *end;
    w->top = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end)
        return err_set(err, -EINVAL, "--top takes a number of runs, not '%s'", value);
    return 0;
}

/* Takes one option with its value. Returns 0, or -EINVAL and a sentence. */
static int take(void *context, int option, char *value, struct err *err)
{
    struct wanted *w = context;
    w->shown |= option != OPT_LABEL && option != OPT_QUIET;
    switch (option) {
    case OPT_LABEL:
        *vec_push(&w->labels) = value;
        return check_label(value, err);
    case OPT_AGAINST:
        w->against = value;
        return check_label(value, err);
    case OPT_METRIC:
        return metric_parse(value, &w->metric, err);
    case OPT_LIMIT:
        return limit_parse(vec_push(&w->limits), value, err);
    case OPT_TOP:
        return take_top(w, value, err);
    case OPT_QUIET:
        w->quiet = true;
        return 0;
    default:
        w->output = option == OPT_JSON ? OUTPUT_JSON : OUTPUT_CSV;
        return 0;
    }
}

/* --- add -------------------------------------------------------------------------------------- */

static int add(const char *db, char **files, size_t count, const struct wanted *w)
{
    for (size_t i = 0; i < count; i++) {
        struct recording *r = NULL;
        struct err err = {{0}};
        int64_t id = 0;
        int code = recording_read(files[i], &r, &err);
        if (!code)
            code = history_db_add(db, r, files[i], w->labels.items, w->labels.count, &id, &err);
        recording_free(r);
        if (code)
            return command_fail("history", &err, 1);
        if (!w->quiet)
            fprintf(stderr, "tidemark history: %s is run %lld of %s\n", files[i], (long long)id,
                    db);
    }
    return 0;
}

/* --- show ------------------------------------------------------------------------------------- */

/* Finds the run with which the last one is compared; 0: none. */
static int find_base(const char *db, const struct history *h, const struct wanted *w, int64_t *base,
                     struct err *err)
{
    int64_t last = h->runs.items[h->runs.count - 1].id;
    *base = h->runs.count > 1 ? h->runs.items[h->runs.count - 2].id : 0;
    if (!w->against)
        return 0;
    struct history others = {.metric = w->metric};
    int code = history_db_read(db, &others, &w->against, 1, err);
    *base = 0;
    for (size_t i = 0; i < others.runs.count; i++)
        if (others.runs.items[i].id < last)
            *base = others.runs.items[i].id;
    if (!code && !*base)
        code = err_set(err, -ENOENT, "no run before run %lld of %s has the label %s",
                       (long long)last, db, w->against);
    history_release(&others);
    return code;
}

static int check_limits(const char *db, const struct history *h, struct wanted *w, struct err *err)
{
    int64_t base = 0;
    if (!w->limits.count)
        return 0;
    if (!h->runs.count)
        return err_set(err, -ENOENT, "%s has no such run to check a limit against", db);
    int code = find_base(db, h, w, &base, err);
    for (size_t i = 0; i < w->limits.count && !code; i++) {
        struct limit *l = &w->limits.items[i];
        int64_t before = 0, after = 0, last = h->runs.items[h->runs.count - 1].id;
        bool has_before = false, known = false;
        code = history_db_value(db, last, l->metric, &known, &after, err);
        if (!code && base)
            code = history_db_value(db, base, l->metric, &has_before, &before, err);
        if (!code && !known)
            code = err_set(err, -ENODATA, "run %lld of %s has no metric %s", (long long)last, db,
                           metric_name(l->metric));
        if (!code)
            code = limit_judge(l, has_before, before, after, err);
    }
    return code;
}

static const struct wanted *limits_shown; /* for the callback below, which has no context */

static void json_limits(const void *history, struct json *j)
{
    (void)history;
    json_array(j, "limits");
    for (size_t i = 0; i < limits_shown->limits.count; i++)
        limit_json(&limits_shown->limits.items[i], j);
    json_end(j);
}

static int show(const char *db, struct wanted *w)
{
    struct history h = {.metric = w->metric};
    struct err err = {{0}};
    int code = history_db_read(db, &h, w->labels.items, w->labels.count, &err);
    if (!code)
        code = check_limits(db, &h, w, &err);
    if (code) {
        history_release(&h);
        return command_fail("history", &err, code == -EINVAL ? 2 : 1);
    }
    history_compare(&h, FUNCTIONS_JSON);
    const struct query_command command = {.name = "history"};
    const struct query_options o = {.command = &command, .output = w->output};
    struct document d = history_document(&h, json_limits);
    size_t hidden = w->top && w->top < h.runs.count ? h.runs.count - w->top : 0;
    d.rows.items = h.runs.items + hidden;
    d.rows.count -= hidden;
    limits_shown = w;
    int status = command_write(&o, &d);
    history_release(&h);
    return status ? status : limits_status("history", w->limits.items, w->limits.count);
}

int cmd_history(int argc, char **argv)
{
    static const struct options options = {
        .command = "history", .help = help, .letters = ":h", .table = long_options, .take = take};
    struct wanted w = {.metric = METRIC_PEAK};
    struct err err = {{0}};
    int code = options_parse(&options, argc, argv, &w, &err), status = 0;
    char **words = argv + optind;
    int count = argc - optind;
    bool adds = !code && count > 1 && strcmp(words[1], "add") == 0;
    if (!code && count < 1)
        code = err_set(&err, -EINVAL, "the file of a database is missing: tidemark history DB");
    else if (!code && count > 1 && !adds)
        code = err_set(&err, -EINVAL, "'%s' is not known after the database; 'add' is", words[1]);
    else if (adds && count < 3)
        code = err_set(&err, -EINVAL, "a recording is missing: tidemark history DB add FILE");
    else if (adds && w.shown)
        code = err_set(&err, -EINVAL, "add shows nothing: it takes --label and --quiet only");
    if (code < 0)
        status = command_fail("history", &err, 2);
    else if (!code)
        status = adds ? add(words[0], words + 2, (size_t)count - 2, &w) : show(words[0], &w);
    vec_release(&w.labels);
    vec_release(&w.limits);
    return status;
}
