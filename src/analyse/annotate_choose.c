/* Which function the user means: the first step of annotate(). */
#include <errno.h>
#include <string.h>

#include "analyse/annotate_parts.h"
#include "base/path.h"
#include "base/text.h"
#include "model/function_name.h"

#define CANDIDATES_SHOWN 8

/* How well a name matches, best first. */
enum sureness { THE_NAME, WITHOUT_ARGUMENTS, IN_FORTRAN, MATCHING, SURENESSES };

struct choice {
    const char *wanted, *library;
    struct pattern_list regex; /* empty: the word is not a regular expression */
};

/* Compares without arguments and scopes; scopes of Python end with a dot. */
static bool is_last_part(const char *name, const char *wanted)
{
    const char *dot = strrchr(name, '.');
    return name_is(name, wanted) || (dot && strcmp(dot + 1, wanted) == 0);
}

/* "init" in gfortran's form: "init_", or "__module_MOD_init". Case does not matter there. */
static bool is_fortran(const char *name, const char *wanted)
{
    const char *mod = strstr(name, "_MOD_");
    size_t size = strlen(wanted);
    if (mod && text_begins(name, "__"))
        return strcasecmp(mod + 5, wanted) == 0;
    return strncasecmp(name, wanted, size) == 0 && strcmp(name + size, "_") == 0;
}

static bool is_meant(const struct choice *c, const char *name, enum sureness how)
{
    return how == THE_NAME            ? strcmp(name, c->wanted) == 0
           : how == WITHOUT_ARGUMENTS ? is_last_part(name, c->wanted)
           : how == IN_FORTRAN        ? is_fortran(name, c->wanted)
                                      : pattern_list_match(&c->regex, name);
}

static bool is_in_library(const struct choice *c, const struct answer_row *row)
{
    return !c->library || (row->module && strcmp(row->module, c->library) == 0) ||
           (row->file &&
            /* Modules of Python are told apart by their files. */
            strcmp(row->file, c->library) == 0);
}

/* Finds the rows that match; returns how many. */
static size_t find(const struct answer *a, const struct choice *c, enum sureness how,
                   const struct answer_row **rows, size_t room)
{
    size_t found = 0;
    for (size_t i = 0; i < a->rows.rows.count; i++) {
        const struct answer_row *row = &a->rows.rows.items[i];
        if (!is_in_library(c, row) || !is_meant(c, row->name, how))
            continue;
        if (found < room)
            rows[found] = row;
        found++;
    }
    return found;
}

static int several(const struct choice *c, const struct answer_row *const *rows, size_t found,
                   struct err *err)
{
    struct strbuf list = {0};
    bool one_name = true;
    size_t shown = found < CANDIDATES_SHOWN ? found : CANDIDATES_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        one_name &= strcmp(rows[i]->name, rows[0]->name) == 0;
        strbuf_puts(&list, i ? ", " : "");
        name_shorten(&list, rows[i]->name, 60);
        if (rows[i]->module)
            strbuf_printf(&list, " in %s", rows[i]->module);
    }
    if (found > shown)
        strbuf_printf(&list, " and %zu more", found - shown);
    /* A recording must not send control sequences to the terminal. */
    for (size_t i = 0; i < list.size; i++)
        if ((unsigned char)list.data[i] < ' ' || list.data[i] == 0x7f)
            list.data[i] = '?';
    int code = err_set(err, -EINVAL, "'%s' may be one of %zu functions, %s: %s", c->wanted, found,
                       one_name ? "add --library NAME" : "give the whole name", list.data);
    strbuf_release(&list);
    return code;
}

/* Does the recording contain a function of exactly this name? */
static bool is_known(const struct answer *a, const struct choice *c)
{
    const struct profile *p = a->profile;
    const struct strpool *strings = &a->recording->strings;
    for (size_t i = 0; i < p->frames.count; i++) {
        uint32_t number = p->frames.items[i].function;
        const char *name = number < strings->strings.count ? strpool_get(strings, number) : "";
        if (is_last_part(name, c->wanted) || is_fortran(name, c->wanted))
            return true;
    }
    return false;
}

static size_t find_surest(const struct answer *a, const struct choice *c,
                          const struct answer_row **rows, size_t room)
{
    size_t found = 0;
    for (enum sureness how = THE_NAME; !found && how < MATCHING; how++)
        found = find(a, c, how, rows, room);
    return found;
}

/* Lists the metrics in which the function has values, and its place if there is only one. */
static void find_metrics(const struct answer *a, const struct choice *c, bool whole_run,
                         struct strbuf *metrics, struct strbuf *place)
{
    static const enum metric asked[] = {METRIC_LIVE,    METRIC_PEAK,   METRIC_TOTAL,  METRIC_MAPPED,
                                        METRIC_POOL,    METRIC_GPU,    METRIC_TENSOR, METRIC_CPU,
                                        METRIC_WAITING, METRIC_FAULTS, METRIC_TOUCHED};
    const struct answer_row *row = NULL;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct query q = *a->query;
        struct answer other;
        struct err ignored = {{0}};
        q.metric = asked[i];
        if (whole_run)
            q.at = q.since = NULL;
        if ((q.metric == a->query->metric && !whole_run) ||
            answer_query(&other, a->recording, &q, &ignored))
            continue; /* or the recording does not have the metric */
        size_t found = find_surest(&other, c, &row, 1);
        if (found)
            strbuf_printf(metrics, "%s%s", metrics->size ? ", " : "", metric_name(q.metric));
        if (found == 1 && !place->size && row->file)
            strbuf_printf(place, " (%s:%u)", path_base(row->file), (unsigned)row->line);
        answer_release(&other);
    }
}

/* The recording contains the function, but not in this metric. */
static int nothing_of_metric(const struct answer *a, const struct choice *c, struct err *err)
{
    const struct query *q = a->query;
    bool live = q->metric == METRIC_LIVE;
    struct strbuf metrics = {0}, text = {0};
    find_metrics(a, c, false, &metrics, &text);
    bool whole_run = !metrics.size && (q->at || q->since);
    if (whole_run)
        find_metrics(a, c, true, &metrics, &text);
    if (live)
        strbuf_puts(&text, " has no live bytes");
    else
        strbuf_printf(&text, " has nothing of metric '%s'", metric_name(q->metric));
    if (q->since)
        strbuf_printf(&text, " since %s", q->since);
    if (q->at || live)
        strbuf_printf(&text, " at %s", q->at && strcmp(q->at, "end") != 0 ? q->at : "the end");
    /* A recording must not send control sequences to the terminal. */
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
            text.data[i] = '?';
    int code =
        metrics.size
            ? err_set(err, -ENOENT, "%s%s; try --metric %s%s", c->wanted, text.data, metrics.data,
                      whole_run ? " without --at and --since" : "")
            : err_set(
                  err, -ENOENT,
                  "%s is in this recording, but not in the stacks of any metric with these options",
                  c->wanted);
    strbuf_release(&metrics);
    strbuf_release(&text);
    return code;
}

static int none(const struct choice *c, struct err *err)
{
    return err_set(err, -ENOENT,
                   "no function '%s'%s%s in these stacks; give a whole name, one without "
                   "arguments, or a regular expression",
                   c->wanted, c->library ? " of library " : "", c->library ? c->library : "");
}

int annotate_choose(const struct answer *a, const char *wanted, const char *library,
                    uint32_t *group, struct err *err)
{
    const struct answer_row *rows[CANDIDATES_SHOWN];
    struct choice c = {.wanted = wanted, .library = library};
    int code = 0;
    /* A name need not be a valid regular expression. */
    pattern_list_add(&c.regex, wanted, "function", NULL);
    size_t found = find_surest(a, &c, rows, CANDIDATES_SHOWN);
    bool elsewhere = !found && !library && is_known(a, &c);
    if (!found && !elsewhere)
        found = find(a, &c, MATCHING, rows, CANDIDATES_SHOWN);
    if (found == 1)
        *group = rows[0]->call;
    else
        code = found       ? several(&c, rows, found, err)
               : elsewhere ? nothing_of_metric(a, &c, err)
                           : none(&c, err);
    pattern_list_release(&c.regex);
    return code;
}
