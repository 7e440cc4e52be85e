/* tidemark flame FILE: stacks as a flame graph, or as folded text. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/picture.h"
#include "cli/query_options.h"
#include "export/flame.h"
#include "export/flame_stacks.h"
#include "model/answer.h"
#include "model/sample_sums.h"
#include "answer/json_parts.h"
#include "answer/summary.h"
#include "base/parse_amount.h"
#include "base/units.h"

enum {
    OPT_OUTPUT = 'o',
    OPT_DIFF = QUERY_EXTRA,
    OPT_NORMALISE,
    OPT_INVERTED,
    OPT_REVERSE,
    OPT_BY_THREAD,
    OPT_TITLE,
    OPT_MIN_WIDTH,
    OPT_COLORS,
    OPT_FOLDED,
    OPT_FROM_FOLDED,
};

static const struct option extra[] = {{"output", required_argument, NULL, OPT_OUTPUT},
                                      {"diff", required_argument, NULL, OPT_DIFF},
                                      {"normalise", no_argument, NULL, OPT_NORMALISE},
                                      {"inverted", no_argument, NULL, OPT_INVERTED},
                                      {"reverse", no_argument, NULL, OPT_REVERSE},
                                      {"by-thread", no_argument, NULL, OPT_BY_THREAD},
                                      {"title", required_argument, NULL, OPT_TITLE},
                                      {"min-width", required_argument, NULL, OPT_MIN_WIDTH},
                                      {"colors", required_argument, NULL, OPT_COLORS},
                                      {"folded", no_argument, NULL, OPT_FOLDED},
                                      {"from-folded", no_argument, NULL, OPT_FROM_FOLDED},
                                      {0}};

struct wanted {
    const char *output, *diff, *title, *since;
    bool normalise, inverted, reverse, by_thread, folded, from_folded, lines, min_width_given;
    double min_width;
    double min_share;  /* calls below this share of the whole are not drawn; 0: all are */
    int colors;        /* -1: chosen by the metric */
    struct json *json; /* receives members that describe the picture; NULL: no JSON is wanted */
};

static void print_help(void)
{
    puts("usage: tidemark flame FILE [OPTIONS]\n"
         "       tidemark flame --from-folded FILE|- [OPTIONS]\n"
         "\n"
         "Draws a flame graph: a box for each call path, as wide as its share. The SVG opens in\n"
         "any browser: hover, click to zoom, search with '/', arrow keys and Enter, Escape to "
         "reset.\n"
         "\n"
         "  -o FILE, --output FILE\n"
         "                   where to write (default: stdout)\n"
         "  --metric M       as in tidemark report; so are --size, --at, --since, --process and "
         "the focus\n"
         "                   options --within, --within-path, --ignore, --fold, --no-fold, "
         "--merge,\n"
         "                   --thread, --suppressions, --presets, --no-presets, --no-defaults,\n"
         "                   --python-only and --native-only\n"
         "  --diff FILE      difference from another recording: red grew, blue shrank; also with "
         "--since\n"
         "  --normalise      with --diff: scale both runs to the same sum\n"
         "  --by WHAT        line: calls from two lines of a function are two boxes (default of a "
         "picture);\n"
         "                   function: they are one (default with --folded and --diff)\n"
         "  --inverted       the root on top; the default for pictures higher than a window\n"
         "  --reverse        merge stacks from the function that is charged, not from main\n"
         "  --by-thread      a part for each thread\n"
         "  --title TEXT     (default: the command)\n"
         "  --min-width PX   leave out boxes narrower than this, of 1200 (default 0.3)\n"
         "  --colors NAME    heap, cpu, faults, mapped or diff (default: by the metric)\n"
         "  --folded         folded stacks (a;b;c 123) in place of a picture\n"
         "  --json           the boxes with their places and exact numbers, for scripts\n"
         "  --from-folded    draw folded stacks, as stackcollapse-perf.pl and others write them\n"
         "  --help           this text\n"
         "\n"
         "Examples:\n"
         "  tidemark flame app.tide --metric peak > peak.svg\n"
         "  tidemark flame new.tide --diff old.tide -o change.svg\n"
         "  tidemark flame app.tide --since event#50 --inverted > grown.svg\n"
         "  perf script | stackcollapse-perf.pl | tidemark flame --from-folded - > cpu.svg");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    static const char *const colors[FLAME_PALETTES] = {[FLAME_HEAP] = "heap",
                                                       [FLAME_CPU] = "cpu",
                                                       [FLAME_FAULTS] = "faults",
                                                       [FLAME_MAPPED] = "mapped",
                                                       [FLAME_DIFF] = "diff"};
    struct wanted *w = context;
    char *end;
    switch (val) {
    case OPT_OUTPUT:
        w->output = argument;
        return 0;
    case OPT_DIFF:
        w->diff = argument;
        return 0;
    case OPT_TITLE:
        w->title = argument;
        return 0;
    case OPT_MIN_WIDTH:
        w->min_width = decimal_parse(argument, &end);
        w->min_width_given = true;
        if (end == argument || *end || !(w->min_width >= 0 && w->min_width <= 1200))
            return err_set(err, -EINVAL,
                           "--min-width '%s' is not a number of pixels from 0 to 1200", argument);
        return 0;
    case OPT_COLORS:
        for (w->colors = 0; w->colors < FLAME_PALETTES; w->colors++)
            if (strcmp(colors[w->colors], argument) == 0)
                return 0;
        return err_set(err, -EINVAL, "--colors '%s' is not one of heap, cpu, faults, mapped, diff",
                       argument);
    default:
        *(val == OPT_NORMALISE   ? &w->normalise
          : val == OPT_INVERTED  ? &w->inverted
          : val == OPT_REVERSE   ? &w->reverse
          : val == OPT_BY_THREAD ? &w->by_thread
          : val == OPT_FOLDED    ? &w->folded
                                 : &w->from_folded) = true;
        return 0;
    }
}

static void plain_number(struct strbuf *out, int64_t value)
{
    unit_count(out, value);
}

static void as_time(struct strbuf *out, int64_t value)
{
    if (value < 0)
        strbuf_putc(out, '-');
    unit_time(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static enum flame_colors colors_of(enum metric m)
{
    return metric_is_time(m) || m == METRIC_SAMPLES    ? FLAME_CPU
           : m == METRIC_FAULTS || m == METRIC_TOUCHED ? FLAME_FAULTS
           : m == METRIC_MAPPED                        ? FLAME_MAPPED
                                                       : FLAME_HEAP;
}

/* A state at a moment can be compared with an earlier one; what happened in a window is only a
 * sum. */
static bool is_state(enum metric m)
{
    return m == METRIC_LIVE || m == METRIC_MAPPED;
}

static void json_question(struct json *j, const struct recording *r, const struct answer *a,
                          const struct query *q, const struct wanted *w)
{
    json_program(j, r, a->profile);
    json_string(j, "since", w->since ? w->since : "start");
    json_string(j, "at", q->at ? q->at : "end");
    json_string(j, "metric", metric_name(q->metric));
    json_string(j, "unit", metric_unit(q->metric));
    json_string(j, "size", size_kind_name(q->size));
    json_string(j, "by", w->lines ? "line" : "function");
    json_bool(j, "reverse", w->reverse);
    json_ignored(j, &a->tree);
}

static struct flame_shape shape_of(const struct wanted *w)
{
    return (struct flame_shape){.lines = w->lines,
                                .reverse = w->reverse,
                                .by_thread = w->by_thread,
                                .min_share = w->min_share};
}

/* Is the merged tree enough, or are the many rows needed? */
static bool is_tree_enough(const struct query *q, const struct wanted *w)
{
    const struct flame_shape shape = shape_of(w);
    return flame_shape_is_wide(&shape) && q->metric != METRIC_LARGEST;
}

static int add_answer(struct flame *flame, const struct recording *r, const struct query *q,
                      const struct wanted *w, bool before, struct strbuf *title, struct err *err)
{
    const struct flame_shape shape = shape_of(w);
    struct query asked = *q;
    struct answer a;
    asked.tree_only = is_tree_enough(q, w);
    int code = answer_query(&a, r, &asked, err);
    if (code)
        return code;
    flame_add_stacks(flame, &a, &shape, before);
    if (title)
        summary_command(a.profile, 90, title);
    if (title && w->json)
        json_question(w->json, r, &a, q, w);
    answer_release(&a);
    return 0;
}

static int fill(struct flame *flame, const char *file, struct query_options *o,
                const struct wanted *w, struct strbuf *title, struct err *err)
{
    struct recording *r = NULL, *other = NULL;
    int code = query_read(o, file, &r, err);
    if (!code && !o->metric_given)
        o->query.metric = sampled_default(r);
    struct query q = o->query;
    q.by = BY_STACK;
    q.shape = SHAPE_TABLE;
    q.top = QUERY_ALL;
    q.min_percent = 0;
    bool moments = q.since && is_state(q.metric) && !w->diff;
    if (!code && w->diff)
        code = query_read(o, w->diff, &other, err);
    if (!code && w->diff)
        code = add_answer(flame, other, &q, w, true, NULL, err);
    if (moments) {
        q.before = q.since;
        q.since = NULL;
    }
    if (!code && moments && !is_tree_enough(&q, w)) {
        struct query then = q;
        then.at = q.before;
        q.before = then.before = NULL;
        code = add_answer(flame, r, &then, w, true, NULL, err);
    }
    if (!code)
        code = add_answer(flame, r, &q, w, false, title, err);
    recording_free(other);
    recording_free(r);
    return code;
}

static int read_folded(struct flame *flame, const char *file, bool *both, struct err *err)
{
    bool is_stdin = strcmp(file, "-") == 0;
    FILE *in = is_stdin ? stdin : fopen(file, "r");
    struct strbuf text = {0};
    char part[65536];
    if (!in)
        return err_set(err, -ENOENT, "cannot open %s: %s", file, strerror(errno));
    strbuf_puts(&text, "");
    for (size_t n; (n = fread(part, 1, sizeof part, in)) > 0;)
        strbuf_add(&text, part, n);
    if (!is_stdin)
        fclose(in);
    int code = flame_read_folded(flame, text.data, text.size, both, err);
    strbuf_release(&text);
    return code;
}

static void subtitle_of(const struct query *q, const struct wanted *w, struct strbuf *out)
{
    strbuf_printf(out, "%s%s%s", metric_name(q->metric), q->size == SIZE_REQUESTED ? "" : ", ",
                  q->size == SIZE_REQUESTED ? "" : size_kind_name(q->size));
    if (q->since)
        strbuf_printf(out, ", since %s", q->since);
    if (q->at)
        strbuf_printf(out, ", at %s", q->at);
    if (w->diff)
        strbuf_printf(out, ", against %s: red grew, blue shrank", w->diff);
    else if (q->since && is_state(q->metric))
        strbuf_puts(out, ": red grew, blue shrank");
}

/* Refuses options that would have no effect, so that nobody believes they had. */
static int check_options(const struct wanted *w, const struct query_options *o, struct err *err)
{
    const struct query *q = &o->query;
    bool json = o->output == OUTPUT_JSON, picture = !json && !w->folded;
    const char *drawn = w->normalise     ? "--normalise"
                        : w->inverted    ? "--inverted"
                        : w->title       ? "--title"
                        : w->colors >= 0 ? "--colors"
                                         : NULL;
    const char *asked = o->metric_given                     ? "--metric"
                        : q->size != SIZE_REQUESTED         ? "--size"
                        : q->since                          ? "--since"
                        : q->at                             ? "--at"
                        : q->process                        ? "--process"
                        : o->by_given                       ? "--by"
                        : w->diff                           ? "--diff"
                        : w->reverse                        ? "--reverse"
                        : w->by_thread                      ? "--by-thread"
                        : stack_filter_is_given(&q->filter) ? "options such as --within"
                                                            : NULL;
    if (json && (w->folded || w->from_folded))
        return err_set(err, -EINVAL, "--json excludes --folded and --from-folded");
    if (!picture && drawn)
        return err_set(err, -EINVAL, "%s is for pictures; leave it out with %s", drawn,
                       json ? "--json" : "--folded");
    if (w->folded && w->min_width_given)
        return err_set(err, -EINVAL, "--folded has every stack; leave out --min-width");
    if (w->from_folded && asked)
        return err_set(err, -EINVAL, "--from-folded draws all that it reads; leave out %s", asked);
    if (w->normalise && !w->diff && !w->from_folded)
        return err_set(err, -EINVAL, "--normalise is for --diff");
    return 0;
}

int cmd_flame(int argc, char **argv)
{
    static const char *const common[] = {"metric",      "size",        "at",      "since", "within",
                                         "ignore",      "fold",        "no-fold", "merge", "thread",
                                         "python-only", "native-only", "process", "by",    "help",
                                         "json",        NULL};
    struct wanted w = {.min_width = 0.3, .colors = -1};
    const struct query_command command = {.name = "flame",
                                          .files = 1,
                                          .letter_o = true,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &w};
    struct query_options o;
    struct err err = {{0}};
    struct strbuf title = {0}, subtitle = {0}, out = {0};
    struct flame flame;
    struct json json;
    bool both = false;
    if (query_options_parse(&o, argc, argv, &command, &err)) {
        fprintf(stderr, "tidemark flame: %s\n", err.text);
        return 2;
    }
    flame_init(&flame);
    int code = 0;
    if (o.help) {
        print_help();
        goto out;
    }
    code = check_options(&w, &o, &err);
    if (code)
        goto out;
    if (o.output == OUTPUT_JSON) {
        json_init(&json, &out);
        json_object(&json, NULL);
        json_string(&json, "schema", "tidemark.flame/1");
        w.json = &json;
        w.since = o.query.since;
    } else if (!w.output && !w.folded && isatty(STDOUT_FILENO)) {
        code = err_set(&err, -EINVAL,
                       "a picture cannot be shown on a terminal; add '-o FILE.svg', or "
                       "'--folded' for text, '--json' for scripts");
    }
    if (code)
        goto out;
    if (o.by_given && o.query.by != BY_FUNCTION && o.query.by != BY_LINE) {
        code = err_set(&err, -EINVAL, "the boxes are by function or by line, not by %s",
                       grouping_name(o.query.by));
        goto out;
    }
    /* Lines of two versions of a program do not match, and folded text has names only. */
    w.lines = o.by_given ? o.query.by == BY_LINE : !w.folded && !w.diff;
    if (w.json && !w.diff)
        w.min_share = w.min_width / 1200;
    if (w.from_folded)
        code = read_folded(&flame, o.files.items[0], &both, &err);
    else
        code = fill(&flame, o.files.items[0], &o, &w, &title, &err);
    if (code)
        goto out;
    both |= w.diff || (!w.from_folded && o.query.since && is_state(o.query.metric));
    flame_finish(&flame, w.json ? w.min_width / 1200 : 0);
    if (w.json) {
        json_bool(&json, "difference", both);
        flame_write_json(&flame, both, &json);
        json_end(&json);
        strbuf_putc(&out, '\n');
    } else if (w.folded) {
        flame_write_folded(&flame, both, &out);
    } else {
        if (!w.from_folded)
            subtitle_of(&o.query, &w, &subtitle);
        struct flame_options options = {.title = w.title      ? w.title
                                                 : title.size ? title.data
                                                              : "flame graph",
                                        .subtitle = subtitle.size ? subtitle.data : "",
                                        .inverted = w.inverted,
                                        .normalised = w.normalise,
                                        .min_width = w.min_width,
                                        .colors = w.colors >= 0   ? (enum flame_colors)w.colors
                                                  : both          ? FLAME_DIFF
                                                  : w.from_folded ? FLAME_CPU
                                                                  : colors_of(o.query.metric),
                                        .amount = w.from_folded                      ? plain_number
                                                  : o.query.metric == METRIC_SAMPLES ? plain_number
                                                  : metric_is_time(o.query.metric)   ? as_time
                                                                                     : unit_bytes};
        flame_write_svg(&flame, &options, &out);
    }
    code = picture_write(w.output, &out, &err);
out:
    if (code)
        fprintf(stderr, "tidemark flame: %s\n", err.text);
    strbuf_release(&title);
    strbuf_release(&subtitle);
    strbuf_release(&out);
    flame_release(&flame);
    query_options_release(&o);
    return code == 0 ? 0 : code == -EINVAL ? 2 : 1;
}
