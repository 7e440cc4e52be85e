/* tidemark export FILE --format F: a recording for another tool. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/command.h"
#include "export/export.h"
#include "export/tables.h"
#include "model/sample_sums.h"
#include "store/file.h"
#include "view/page.h"
#include "view/page_template.h"

enum { OPT_FORMAT = QUERY_EXTRA, OPT_TABLE };

struct wanted {
    const struct export_format *format;
    const char *output, *table;
};

static void print_help(void)
{
    puts("usage: tidemark export FILE --format F [OPTIONS]\n"
         "\n"
         "Writes a recording in the format of another tool. Numbers are those of tidemark report;\n"
         "stderr says what the format cannot hold.\n"
         "\n"
         "  --format F       one of:");
    for (size_t i = 0; i < export_format_count; i++)
        printf("                   %-11s %s\n", export_formats[i].name, export_formats[i].reader);
    puts(
        "  -o FILE, --output FILE\n"
        "                   where to write; '-' is stdout (default: FILE with the format's ending, "
        "in\n"
        "                   the current folder)\n"
        "  --table T        of csv and npy: report (default), leaks, marks, stamps, threads, "
        "peaks,\n"
        "                   growth, findings, maps or processes\n"
        "  --by WHAT, --top N, --min PERCENT\n"
        "                   of these tables, as in tidemark report\n"
        "  --metric M, --size S, --at WHEN, --since WHEN, --process PID\n"
        "                   as in tidemark report, where the format can hold it\n" QUERY_FOCUS_HELP
        "  --help           this text\n"
        "\n"
        "Examples:\n"
        "  tidemark export app.tide --format pprof        app.pb.gz\n"
        "  tidemark export app.tide --format folded --metric peak -o - | flamegraph.pl > peak.svg");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    if (val == OPT_FORMAT)
        return export_format_find(argument, &w->format, err);
    *(val == OPT_TABLE ? &w->table : &w->output) = argument;
    return 0;
}

/* Refuses options that the format cannot honour: its file would say something else than the user
 * asked for. */
static int check_options(const struct query_options *o, const struct wanted *w, struct err *err)
{
    const struct query *q = &o->query;
    const struct export_format *f = w->format;
    if (!f)
        return err_set(err, -EINVAL,
                       "--format is missing; tidemark export --help lists the formats");
    const struct {
        unsigned format, table; /* bits of what takes it */
        bool given;
        const char *option;
    } options[] = {{EXPORT_METRIC, EXPORT_METRIC, o->metric_given, "--metric"},
                   {EXPORT_METRIC, EXPORT_METRIC, q->size != SIZE_REQUESTED, "--size"},
                   {EXPORT_AT, EXPORT_AT, q->at != NULL, "--at"},
                   {EXPORT_SINCE, EXPORT_SINCE, q->since != NULL, "--since"},
                   {EXPORT_TABLE, EXPORT_TABLE, w->table != NULL, "--table"},
                   {EXPORT_TABLE, TABLE_BY, o->by_given, "--by"},
                   {EXPORT_TABLE, TABLE_TOP, o->top_given, "--top"},
                   {EXPORT_TABLE, TABLE_MIN, o->min_given, "--min"},
                   {0, TABLE_STACKS, stack_filter_is_given(&q->filter), "options such as --within"},
                   {0, TABLE_PROCESS, q->process != NULL, "--process"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].given && (f->takes & options[i].format) != options[i].format)
            return err_set(err, -EINVAL, "the format %s does not support it; leave out %s", f->name,
                           options[i].option);
        if (options[i].given && !((table_takes(w->table) | EXPORT_TABLE) & options[i].table))
            return err_set(err, -EINVAL, "the table %s does not depend on it; leave out %s",
                           w->table, options[i].option);
    }
    if (f->whole && (q->process || stack_filter_is_given(&q->filter)))
        return err_set(err, -EINVAL, "the format %s holds the whole recording; leave out %s",
                       f->name, q->process ? "--process" : "options such as --within");
    bool to_stdout = w->output && strcmp(w->output, "-") == 0;
    if (to_stdout && f->in_place)
        return err_set(err, -EINVAL, "the format %s is not written to stdout; name a file with -o",
                       f->name);
    if (to_stdout && f->binary && isatty(STDOUT_FILENO))
        return err_set(err, -EINVAL, "the format %s is not for a terminal; name a file with -o",
                       f->name);
    return 0;
}

/* --- the output file -------------------------------------------------------------------------- */

/* app.tide, app.tide.gz -> app.ENDING or app.TABLE.ENDING, in the current folder. The caller frees
 * it. */
static char *default_path(const char *file, const char *table, const char *ending)
{
    static const char *const taken[] = {".gz", ".tide"};
    char *base = xstrdup(path_base(file));
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        size_t size = strlen(base), end = strlen(taken[i]);
        if (size > end && strcmp(base + size - end, taken[i]) == 0)
            base[size - end] = '\0';
    }
    char *path = xasprintf("%s%s%s%s.%s", *base == '-' ? "./" : "", base, table ? "." : "",
                           table ? table : "", ending);
    free(base);
    return path;
}

/* A file with a temporary name until it is complete, or stdout. */
struct target {
    const char *path;
    char *unfinished; /* NULL: stdout */
    FILE *file;
};

static void write_out(void *context, struct strbuf *ready)
{
    struct target *t = context;
    if (ready->size)
        fwrite(ready->data, 1, ready->size, t->file);
    strbuf_clear(ready);
}

static int target_open(struct target *t, const char *path, struct err *err)
{
    struct stat st;
    *t = (struct target){.path = path, .file = stdout};
    if (strcmp(path, "-") == 0)
        return 0;
    if (recording_file_is(path))
        return err_set(err, -EEXIST, "%s is a recording and is not overwritten", path);
    bool other = stat(path, &st) == 0 && !S_ISREG(st.st_mode); /* such as /dev/null */
    t->unfinished = other ? xstrdup(path) : xasprintf("%s.part-%d", path, (int)getpid());
    t->file = fopen(t->unfinished, "w");
    if (t->file)
        return 0;
    err_set(err, -EIO, "cannot write %s: %s", path, strerror(errno));
    free(t->unfinished);
    t->unfinished = NULL;
    return -EIO;
}

static int target_close(struct target *t, int code, struct err *err)
{
    bool bad = ferror(t->file), own = t->unfinished,
         part = own && strcmp(t->path, t->unfinished) != 0;
    bad |= (own ? fclose(t->file) : fflush(t->file)) != 0;
    if (!code && (bad || (part && rename(t->unfinished, t->path))))
        code = err_set(err, -EIO, "cannot write %s: %s", own ? t->path : "the output",
                       strerror(errno));
    if (code && part)
        unlink(t->unfinished);
    free(t->unfinished);
    return code;
}

/* --- the command ------------------------------------------------------------------------------ */

static void say_notes(const struct export_format *f, const struct strbuf *notes)
{
    if (f->loses)
        fprintf(stderr, "tidemark export: %s holds no %s\n", f->name, f->loses);
    if (notes->size)
        fputs(notes->data, stderr);
}

static int write_page(const char *file, struct strbuf *out, struct err *err)
{
    struct page page = {.template = page_template,
                        .template_size = page_template_size,
                        .files = 1,
                        .paths = {file}};
    return page_template_size ? page_make(&page, out, err)
                              : err_set(err, -ENOSYS, "this tidemark was built without the viewer");
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    const struct wanted *w = o->command->context;
    const struct export_format *f = w->format;
    struct strbuf out = {0}, notes = {0};
    struct target target;
    int code = check_options(o, w, err);
    if (code)
        return code;
    if (!o->metric_given)
        o->query.metric = sampled_default(r);
    const struct export question = {.recording = r, .query = &o->query};
    code = export_check(&question, f, err);
    if (code)
        return code;
    char *path =
        w->output ? xstrdup(w->output) : default_path(o->files.items[0], w->table, f->ending);
    code = target_open(&target, path, err);
    if (!code) {
        const struct report_sink sink = {.take = write_out, .context = &target};
        struct export export = {.recording = r,
                                .query = &o->query,
                                .metric_given = o->metric_given || o->query.metric != METRIC_LIVE,
                                .presets_given = o->presets_given,
                                .table = w->table,
                                .file = target.unfinished,
                                .out = &out,
                                .sink = &sink,
                                .notes = &notes};
        code = f->write ? f->write(&export, err) : write_page(o->files.items[0], &out, err);
        if (!code)
            write_out(&target, &out);
        code = target_close(&target, code, err);
    }
    if (!code) {
        struct export export = question;
        export.notes = &notes;
        export_note_recording(&export, f);
        say_notes(f, &notes);
        if (strcmp(path, "-") != 0)
            puts(path);
    }
    free(path);
    strbuf_release(&out);
    strbuf_release(&notes);
    return code;
}

int cmd_export(int argc, char **argv)
{
    static const struct option extra[] = {{"format", required_argument, NULL, OPT_FORMAT},
                                          {"table", required_argument, NULL, OPT_TABLE},
                                          {"output", required_argument, NULL, 'o'},
                                          {0}};
    static const char *const common[] = {"metric", "size", "at",  "since", "process",
                                         "by",     "top",  "min", "help",  QUERY_FOCUS_OPTIONS,
                                         NULL};
    struct wanted wanted = {0};
    const struct query_command command = {.name = "export",
                                          .help = print_help,
                                          .files = 1,
                                          .letter_o = true,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &wanted};
    return command_ask(argc, argv, &command, ask);
}
