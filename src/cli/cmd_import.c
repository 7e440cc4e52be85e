/* tidemark import FILE: converts another tool's file to a recording. */
#include "cli/commands.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/say.h"
#include "answer/imported.h"
#include "cli/command.h"
#include "cli/options.h"
#include "collect/session/output.h"
#include "import/import.h"
#include "store/reader.h"

#define PROGRESS_NS UINT64_C(500000000)

enum { OPT_OUTPUT = 'o', OPT_HELP = 'h', OPT_FORMAT = 256, OPT_METRIC, OPT_PYTHON, OPT_QUIET };

static void print_help(void)
{
    puts("usage: tidemark import FILE [-o OUT.tide] [OPTIONS]\n"
         "\n"
         "Makes a recording from another tool's file, for all commands and the viewer. What the "
         "file\n"
         "does not contain stays unknown: text says so, JSON has null, and a command that needs it "
         "says\n"
         "what is missing.\n"
         "\n"
         "  -o OUT, --output OUT\n"
         "                   the recording (default: FILE's name with .tide, in the current "
         "folder)\n"
         "  --format F       (default: guessed by content) one of:");
    for (size_t i = 0; i < IMPORT_FORMATS; i++)
        printf("                   %-10s %s\n", import_formats[i].name, import_formats[i].what);
    puts("  --metric M       what the numbers of folded stacks are: samples (default), total, live "
         "or peak;\n"
         "                   the last three in bytes\n"
         "  --python PROGRAM for memray's files: a Python that has memray (default: python3)\n"
         "  --quiet          print nothing but errors\n"
         "  --help           this text\n"
         "\n"
         "FILE may be packed with gzip or zstd; '-' is standard input.\n"
         "\n"
         "Examples:\n"
         "  tidemark import heaptrack.app.1234.zst\n"
         "  tidemark import massif.out.1234 -o app.tide && tidemark report app.tide --metric peak\n"
         "  perf script | tidemark import - -o cpu.tide && tidemark flame cpu.tide -o cpu.svg");
}

struct wanted {
    struct import_request request;
    const char *output;
    bool quiet, help;
};

static int parse(int argc, char **argv, struct wanted *w, struct err *err)
{
    static const struct option options[] = {{"output", required_argument, NULL, OPT_OUTPUT},
                                            {"format", required_argument, NULL, OPT_FORMAT},
                                            {"metric", required_argument, NULL, OPT_METRIC},
                                            {"python", required_argument, NULL, OPT_PYTHON},
                                            {"quiet", no_argument, NULL, OPT_QUIET},
                                            {"help", no_argument, NULL, OPT_HELP},
                                            {0}};
    static const char letters[] = ":o:h";
    struct strbuf names = {0};
    int code = 0;
    optind = 0;
    opterr = 0;
    for (int c; !code && (c = getopt_long(argc, argv, letters, options, NULL)) != -1;) {
        if (c == OPT_OUTPUT)
            w->output = optarg;
        else if (c == OPT_FORMAT)
            w->request.format = optarg;
        else if (c == OPT_METRIC)
            code = import_metric_parse(optarg, &w->request.metric, err);
        else if (c == OPT_PYTHON)
            w->request.python = optarg;
        else if (c == OPT_QUIET)
            w->quiet = true;
        else if (c == OPT_HELP)
            w->help = true;
        else
            code = options_refuse(options, letters, argv, "import", err);
    }
    if (code || w->help)
        return code;
    if (w->request.format && !import_format_named(w->request.format)) {
        import_format_names(&names);
        err_set(err, -EINVAL, "--format '%s' is not one of %s", w->request.format, names.data);
        strbuf_release(&names);
        return -EINVAL;
    }
    if (optind + 1 != argc)
        return err_set(err, -EINVAL, "it takes one file, as in 'tidemark import FILE -o OUT.tide'");
    w->request.path = argv[optind];
    if (!w->output && strcmp(w->request.path, "-") == 0)
        return err_set(err, -EINVAL, "standard input has no name: add '-o OUT.tide'");
    return 0;
}

/* heaptrack.app.1.zst -> heaptrack.app.1.tide. The caller frees it. */
static char *default_path(const char *file)
{
    static const char *const taken[] = {".gz", ".zst", ".pb", ".json", ".folded", ".txt", ".bin"};
    char *base = xstrdup(path_base(file));
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        size_t size = strlen(base), end = strlen(taken[i]);
        if (size > end && strcmp(base + size - end, taken[i]) == 0)
            base[size - end] = '\0';
    }
    char *path = xasprintf("%s%s.tide", *base == '-' ? "./" : "", base);
    free(base);
    return path;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

struct shown {
    uint64_t next_ns;
    bool any;
};

static int show_progress(void *context, uint64_t taken, uint64_t file_size)
{
    struct shown *s = context;
    uint64_t now = monotonic_ns();
    if (!s->next_ns)
        s->next_ns = now + PROGRESS_NS;
    if (now < s->next_ns)
        return 0;
    struct strbuf line = {0};
    s->next_ns = now + PROGRESS_NS;
    s->any = true;
    if (file_size)
        say(&line, "\r\033[Kreading: %B of %B", taken, file_size);
    else
        say(&line, "\r\033[Kreading: %B", taken);
    fputs(line.data, stderr);
    strbuf_release(&line);
    return 0;
}

/* Signals are blocked meanwhile: either the whole file exists afterwards, or none. */
static int write_recording(const char *path, const struct strbuf *bytes, struct err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int code = output_write_file(path, bytes);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code ? err_set(err, code, "cannot write %s: %s", path, strerror(-code)) : 0;
}

/* Reports the result, from the bytes that were written. */
static void report_result(const struct strbuf *bytes, const char *path)
{
    struct recording *r;
    struct strbuf line = {0};
    if (recording_parse(bytes->data, bytes->size, path, &r, NULL))
        return;
    imported_line(&r->profiles.items[0], &line);
    fprintf(stderr, "tidemark import: %s\n", line.data);
    strbuf_release(&line);
    recording_free(r);
}

static int import_one(struct wanted *w, struct err *err)
{
    struct shown shown = {0};
    struct strbuf bytes = {0};
    const struct import_format *format;
    char *path = w->output ? xstrdup(w->output) : default_path(w->request.path);
    int code = 0;
    if (strcmp(w->request.path, "-") != 0 && is_same_file(w->request.path, path))
        code = err_set(err, -EINVAL, "%s is the file itself; name another with -o", path);
    else if (output_is_file(path))
        code = output_check(path, err);
    if (!code && !w->quiet && isatty(STDERR_FILENO)) {
        w->request.progress = show_progress;
        w->request.context = &shown;
    }
    if (!code)
        code = import_read(&w->request, &bytes, &format, err);
    if (shown.any)
        fputs("\r\033[K", stderr);
    if (!code)
        code = write_recording(path, &bytes, err);
    if (!code && !w->quiet) {
        report_result(&bytes, path);
        puts(path);
    }
    strbuf_release(&bytes);
    free(path);
    return code;
}

int cmd_import(int argc, char **argv)
{
    struct wanted w = {0};
    struct err err = {{0}};
    int code = parse(argc, argv, &w, &err);
    if (!code && w.help)
        print_help();
    else if (!code)
        code = import_one(&w, &err);
    if (code)
        return command_fail("import", &err, code == -EINVAL ? 2 : 1);
    return fflush(stdout) ? 1 : 0;
}
