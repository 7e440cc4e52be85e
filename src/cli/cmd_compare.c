/* tidemark compare --copies N -- PROGRAM: one run alone compared with N at once. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "base/say.h"
#include "cli/command.h"
#include "cli/compare_runs.h"
#include "cli/cpu_source.h"
#include "cli/library_path.h"
#include "cli/options.h"
#include "cli/picture.h"
#include "cli/query_options.h"
#include "cli/terminal.h"
#include "export/flame.h"
#include "export/flame_stacks.h"
#include "answer/compare.h"
#include "base/units.h"
#include "store/reader.h"

#define TEXT_ROWS 20

enum { OPT_COPIES = QUERY_EXTRA, OPT_PER, OPT_MARK_ON, OPT_CPU, OPT_FAULTS, OPT_FLAME, OPT_QUIET };

static const struct option extra[] = {{"copies", required_argument, NULL, OPT_COPIES},
                                      {"per", required_argument, NULL, OPT_PER},
                                      {"mark-on", required_argument, NULL, OPT_MARK_ON},
                                      {"cpu", required_argument, NULL, OPT_CPU},
                                      {"faults", required_argument, NULL, OPT_FAULTS},
                                      {"flame", required_argument, NULL, OPT_FLAME},
                                      {"quiet", no_argument, NULL, OPT_QUIET},
                                      {0}};

struct wanted {
    struct compare_runs runs;
    VEC(const char *) mark_on;
    const char *per, *flame, *folder;
};

static void print_help(void)
{
    puts(
        "usage: tidemark compare [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
        "\n"
        "Runs PROGRAM alone, then several copies at once, and shows what each call path costs per\n"
        "run in both cases, in CPU time and page faults: what got worse comes first. Nothing is\n"
        "preloaded.\n"
        "Copies get no input, and only their stderr is shown; TIDEMARK_COPY is 1, 2, ...\n"
        "in their environment. Exit status: 0; that of a run that failed; 125 if nothing could be\n"
        "recorded, 126 or 127 if the program could not be run.\n"
        "\n"
        "  --copies N       number of copies (default: the number of processors, at least 2)\n"
        "  --per LABEL      figures per mark of this label, not per run; the library is preloaded "
        "then\n"
        "  --mark-on FUNCTION  make a mark at each entry of FUNCTION (repeatable), for --per\n"
        "  --cpu HZ         samples in each second of CPU time (default 999)\n"
        "  --faults N       record every N-th page fault only\n"
        "  -o DIR           keep the recordings: DIR/alone.tide, DIR/together.tide\n"
        "  --flame FILE     draw the difference per unit of work: red got worse, blue better\n"
        "  --quiet          no progress line\n"
        "\n"
        "What is shown:\n"
        "  --metric M       cpu (default) or faults: the order of rows, and what is drawn\n"
        "  --by WHAT        function (default), line, stack, library, file, thread\n"
        "  --top N          at most N rows, 0: all (text: 20)\n"
        "  --min PERCENT    only rows with at least this share of all changes\n"
        "  --within REGEX, --ignore REGEX, --suppressions FILE, --presets, --no-presets,\n"
        "  --no-defaults, --fold REGEX, --no-fold, --merge s/RE/NEW/, --thread NAME,\n"
        "  --python-only, --native-only   as in tidemark report\n"
        "  --json, --csv    exact numbers for scripts\n"
        "  --help           this text\n"
        "\n"
        "Examples:\n"
        "  tidemark compare --copies 4 -- ./simulation --events 100\n"
        "  tidemark compare --copies 8 --flame slower.svg -o runs -- ./job.sh\n"
        "  tidemark compare --mark-on Processor::event --per Processor::event -- ./app");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    double hz;
    uint64_t n = 0;
    int code;
    switch (val) {
    case OPT_COPIES:
        code = options_number("--copies", argument, 1, COPIES_MOST, &n, err);
        w->runs.copies = n;
        return code;
    case OPT_CPU:
        if (!cpu_hz_parse(argument, &hz))
            return err_set(err, -EINVAL, "--cpu takes samples per second, 1 to 10000, not '%.100s'",
                           argument);
        w->runs.sampling.cpu_period_ns = (uint64_t)(1e9 / hz);
        return 0;
    case OPT_FAULTS:
        return options_number("--faults", argument, 1, FAULT_PERIOD_MOST,
                              &w->runs.sampling.fault_period, err);
    case OPT_PER:
        w->per = argument;
        return 0;
    case OPT_MARK_ON:
        *vec_push(&w->mark_on) = argument;
        return 0;
    case OPT_FLAME:
        w->flame = argument;
        return 0;
    case 'o':
        w->folder = argument;
        return 0;
    default:
        w->runs.quiet = true;
        return 0;
    }
}

/* --- how the runs ended ----------------------------------------------------------------------- */

/* Reports which runs failed. Returns the first such status, or 0. */
static int report_failures(const struct compare_runs *r, int which)
{
    int first = 0;
    for (size_t i = 0; i < r->ends[which].count; i++) {
        int status = r->ends[which].items[i].wait_status;
        if (!status)
            continue;
        first = first ? first : exit_status(status);
        fputs("tidemark compare: ", stderr);
        if (which)
            fprintf(stderr, "copy %zu of %zu", i + 1, r->copies);
        else
            fputs("the run alone", stderr);
        if (WIFSIGNALED(status))
            fprintf(stderr, " was killed by signal %d (%s)\n", WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
        else
            fprintf(stderr, " ended with exit status %d\n", WEXITSTATUS(status));
    }
    return first;
}

static int stopped(const struct compare_runs *r, int which)
{
    fprintf(stderr, "tidemark compare: stopped; what was recorded is in %s%s%s\n", r->files[0],
            which ? " and " : "", which ? r->files[1] : "");
    return 130;
}

/* --- output ----------------------------------------------------------------------------------- */

static void as_time(struct strbuf *out, int64_t value)
{
    say(out, "%r%T", value < 0 ? "-" : "", value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static int draw(const struct wanted *w, const struct compare_input *in, const struct query *asked,
                struct err *err)
{
    struct query q = *asked;
    struct compare c;
    q.by = BY_STACK;
    q.top = QUERY_ALL;
    q.min_percent = 0;
    int code = compare_query(&c, in, &q, err);
    if (code)
        return code;
    struct flame flame;
    struct strbuf out = {0}, subtitle = {0};
    double units[2] = {(double)c.runs.items[0].units, (double)compare_copies(&c).units};
    flame_init(&flame);
    for (size_t i = 0; i < c.answers.count; i++) {
        const struct compare_answer *a = c.answers.items[i];
        struct flame_shape shape = {.units = units[a->run > 0]};
        if (a->query.metric == q.metric)
            flame_add_stacks(&flame, &a->answer, &shape, a->run == 0);
    }
    flame_finish(&flame, 0);
    strbuf_printf(&subtitle, "%s per %s, %zu at once against one alone: red got worse, blue better",
                  metric_name(q.metric), w->per ? w->per : "run", in->copies);
    struct flame_options options = {.title = w->runs.program[0],
                                    .subtitle = subtitle.data,
                                    .min_width = 0.3,
                                    .colors = FLAME_DIFF,
                                    .amount = q.metric == METRIC_CPU ? as_time : unit_bytes};
    flame_write_svg(&flame, &options, &out);
    code = picture_write(w->flame, &out, err);
    strbuf_release(&out);
    strbuf_release(&subtitle);
    flame_release(&flame);
    compare_release(&c);
    return code;
}

static int show(const struct wanted *w, const struct compare_input *in, const struct query *q,
                enum output output, struct err *err)
{
    struct compare c;
    int code = compare_query(&c, in, q, err);
    if (code)
        return code;
    VEC(int) statuses = {0};
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < w->runs.ends[i].count; k++)
            *vec_push(&statuses) = w->runs.ends[i].items[k].wait_status;
    struct compare_frame frame = {.command = w->runs.program,
                                  .files = w->folder ? (const char *const *)w->runs.files : NULL,
                                  .wait_statuses = statuses.items};
    struct strbuf out = {0};
    if (output == OUTPUT_JSON) {
        compare_json(&c, &frame, &command_sink, &out);
    } else if (output == OUTPUT_CSV) {
        compare_csv(&c, &command_sink, &out);
    } else {
        struct style style = style_of_stdout();
        compare_text(&c, &frame, &style, &out);
    }
    if (command_print("compare", &out))
        code = err_set(err, -EIO, "the comparison could not be shown");
    vec_release(&statuses);
    compare_release(&c);
    return code;
}

static int compare_recordings(const struct wanted *w, const struct query_options *o,
                              struct err *err)
{
    struct recording *recordings[2] = {NULL, NULL};
    VEC(uint32_t) pids = {0};
    VEC(struct compare_counted) kernel = {0};
    int code = 0;
    for (int i = 0; i < 2 && !code; i++)
        code = recording_read(w->runs.files[i], &recordings[i], err);
    for (size_t i = 0; i < w->runs.ends[1].count; i++)
        *vec_push(&pids) = (uint32_t)w->runs.ends[1].items[i].pid;
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < w->runs.ends[i].count; k++) {
            const struct copy_end *e = &w->runs.ends[i].items[k];
            *vec_push(&kernel) = (struct compare_counted){e->user_ns, e->system_ns, e->minor_faults,
                                                          e->major_faults};
        }
    struct compare_input in = {.alone = recordings[0],
                               .together = recordings[1],
                               .pids = pids.items,
                               .kernel = kernel.items,
                               .copies = pids.count,
                               .per = w->per};
    if (!code && w->flame)
        code = draw(w, &in, &o->query, err);
    if (!code)
        code = show(w, &in, &o->query, o->output, err);
    vec_release(&pids);
    vec_release(&kernel);
    recording_free(recordings[0]);
    recording_free(recordings[1]);
    return code;
}

/* --- the command ------------------------------------------------------------------------------ */

static int prepare(struct wanted *w, struct query_options *o, struct err *err)
{
    if (!o->metric_given)
        o->query.metric = METRIC_CPU;
    if (o->query.metric != METRIC_CPU && o->query.metric != METRIC_FAULTS)
        return err_set(err, -EINVAL, "--metric is cpu or faults here, not %s",
                       metric_name(o->query.metric));
    if (w->mark_on.count && !w->per)
        return err_set(err, -EINVAL, "--mark-on is of no use without --per");
    if (!w->runs.copies) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        w->runs.copies = processors > 2 ? (size_t)processors : 2;
    }
    *vec_push(&o->files) = NULL;
    w->runs.program = (char **)o->files.items;
    w->runs.mark_on = w->mark_on.items;
    w->runs.mark_on_count = w->mark_on.count;
    return 0;
}

/* Returns the exit status; errors have been reported. */
static int run(struct wanted *w, const struct query_options *o, bool *keep)
{
    struct err err = {{0}};
    int failed = 0;
    if (compare_runs_init(&w->runs, w->folder, &err))
        return command_fail("compare", &err, 125);
    for (int i = 0; i < 2; i++) {
        int code = compare_runs_record(&w->runs, i, &err);
        if (code)
            return command_fail("compare", &err,
                                code == -ENOENT || code == -ENOTDIR ? 127
                                : code == -EIO || code == -EAGAIN   ? 125
                                                                    : 126);
        int status = report_failures(&w->runs, i);
        if (w->runs.interrupted || (status && WIFSIGNALED(w->runs.ends[0].items[0].wait_status))) {
            *keep = true;
            stopped(&w->runs, i);
            return status ? status : 130;
        }
        failed = failed ? failed : status;
    }
    if (compare_recordings(w, o, &err))
        return command_fail("compare", &err, 1);
    return failed;
}

int cmd_compare(int argc, char **argv)
{
    static const char *const common[] = {
        "metric", "by",     "top",         "min",         "within", "ignore", "fold", "no-fold",
        "merge",  "thread", "python-only", "native-only", "json",   "csv",    "help", NULL};
    struct wanted w = {
        .runs = {.sampling = {.cpu_period_ns = (uint64_t)(1e9 / CPU_PERF_HZ), .fault_period = 1}}};
    const struct query_command command = {.name = "compare",
                                          .program = true,
                                          .letter_o = true,
                                          .text_rows = TEXT_ROWS,
                                          .extra = extra,
                                          .only = common,
                                          .take = take,
                                          .context = &w};
    struct query_options o;
    struct err err = {{0}};
    bool keep = false;
    int status = 0;
    char *library = NULL;
    if (query_options_parse(&o, argc, argv, &command, &err))
        return command_fail("compare", &err, 2);
    if (o.help) {
        print_help();
        goto out;
    }
    if (prepare(&w, &o, &err)) {
        status = command_fail("compare", &err, 2);
        goto out;
    }
    if (perf_check(&w.runs.sampling, &err)) {
        status = command_fail("compare", &err, 125);
        goto out;
    }
    if (w.per && !(library = library_find(&err))) {
        status = command_fail("compare", &err, 125);
        goto out;
    }
    w.runs.library = library;
    status = run(&w, &o, &keep);
out:
    compare_runs_release(&w.runs, keep);
    vec_release(&w.mark_on);
    free(library);
    query_options_release(&o);
    return status;
}
