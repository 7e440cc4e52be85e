/* tidemark merge OUT IN...: merges many recordings into one. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/say.h"
#include "cli/command.h"
#include "cli/merge_files.h"
#include "cli/merge_list.h"
#include "cli/options.h"
#include "store/file.h"
#include "store/reader.h"

enum { OPT_LIST = 256, OPT_JSON, OPT_CSV, OPT_QUIET };

static const struct option long_options[] = {
    {"jobs", required_argument, NULL, 'j'},  {"list", required_argument, NULL, OPT_LIST},
    {"json", no_argument, NULL, OPT_JSON},   {"csv", no_argument, NULL, OPT_CSV},
    {"quiet", no_argument, NULL, OPT_QUIET}, {0}};

static const char help[] =
    "usage: tidemark merge [OPTIONS] OUT IN...\n"
    "       tidemark merge --list FILE [--json|--csv]\n"
    "\n"
    "Adds up many recordings, such as those of the ranks of an MPI job, into the file OUT. IN is "
    "a\n"
    "recording, an earlier merge, or a folder: then all files *.tide in it. The result holds sums\n"
    "for each call path, matched by build id and names, and for each row of a report how it is\n"
    "spread: smallest, mean and largest value, and the recording that has the largest. The order\n"
    "and grouping of inputs do not matter: a merge of merges is the merge of all.\n"
    "\n"
    "All commands open OUT as far as its data goes. What belongs to one run is not kept: moments\n"
    "other than start, exit, peak and end; marks, stamps, mappings.\n"
    "\n"
    "  -j, --jobs N     processes that merge (default: one per processor)\n"
    "  --list FILE      show the recordings that FILE was merged from, with the totals of each\n"
    "  --json, --csv    of --list: exact numbers for scripts\n"
    "  --quiet          no closing line\n"
    "  --help           this text\n"
    "\n"
    "Exit status: 0; 1 if a file could not be read (the others are merged), or if OUT could not\n"
    "be written; 2 for wrong usage.\n"
    "\n"
    "Examples:\n"
    "  tidemark merge job.tide job.*.tide\n"
    "  tidemark merge all.tide monday.tide tuesday/\n"
    "  tidemark report job.tide --metric peak\n";

static int run(struct merge_job *job, char **inputs, size_t count, bool quiet)
{
    struct merge_names names = {0};
    struct err err = {{0}};
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        code = merge_names_add(&names, inputs[i], &err);
    if (!code)
        code = merge_files(job, &names, &err);
    merge_names_release(&names);
    if (code)
        return command_fail("merge", &err, 1);
    if (!quiet) {
        struct strbuf text = {0};
        say(&text, "tidemark merge: %N recording(s) in %s, %B", job->inputs, job->output,
            job->bytes);
        if (job->skipped)
            say(&text, "; %N file(s) could not be read", job->skipped);
        fprintf(stderr, "%s\n", text.data);
        strbuf_release(&text);
    }
    return job->skipped ? 1 : 0;
}

struct wanted {
    struct merge_job job;
    const char *listed; /* --list: the file */
    enum output output;
    bool quiet;
};

/* Takes one option with its value. Returns 0, or -EINVAL and a sentence. */
static int take(void *context, int option, char *value, struct err *err)
{
    struct wanted *w = context;
    if (option == 'j') {
        uint64_t n = 0;
        int code = options_number("--jobs", value, 1, 1024, &n, err);
        w->job.jobs = (unsigned)n;
        return code;
    }
    if (option == OPT_LIST)
        w->listed = value;
    else if (option == OPT_QUIET)
        w->quiet = true;
    else
        w->output = option == OPT_JSON ? OUTPUT_JSON : OUTPUT_CSV;
    return 0;
}

/* Is it a recording that was not merged, which would be lost? */
static bool is_single_recording(const char *path)
{
    struct recording *r = NULL;
    struct err err = {{0}};
    bool is =
        recording_file_is(path) && (recording_read(path, &r, &err) || !r->profiles.items[0].merge);
    recording_free(r);
    return is;
}

/* 0: go on; 1: the help was printed; -EINVAL and a sentence: wrong usage. */
static int parse(int argc, char **argv, struct wanted *w, struct err *err)
{
    static const struct options options = {
        .command = "merge", .help = help, .letters = ":j:h", .table = long_options, .take = take};
    int code = options_parse(&options, argc, argv, w, err);
    if (code)
        return code;
    if (w->listed && argc > optind)
        return err_set(err, -EINVAL, "--list takes one file and merges nothing; leave out '%s'",
                       argv[optind]);
    if (!w->listed && w->output != OUTPUT_TEXT)
        return err_set(err, -EINVAL, "%s is for --list",
                       w->output == OUTPUT_JSON ? "--json" : "--csv");
    if (!w->listed && argc - optind < 2)
        return err_set(err, -EINVAL,
                       "it takes the file to write and at least one recording: tidemark merge "
                       "OUT IN...");
    return 0;
}

int cmd_merge(int argc, char **argv)
{
    struct wanted w = {.job = {.command = "merge"}};
    struct err err = {{0}};
    int code = parse(argc, argv, &w, &err);
    if (code)
        return code > 0 ? 0 : command_fail("merge", &err, 2);
    if (w.listed)
        return merge_list(w.listed, w.output);
    w.job.output = argv[optind];
    if (is_single_recording(w.job.output)) {
        err_set(&err, -EEXIST,
                "%s is a recording of its own and is not overwritten; the first file is the one to "
                "write: tidemark merge OUT IN...",
                w.job.output);
        return command_fail("merge", &err, 2);
    }
    return run(&w.job, argv + optind + 1, (size_t)(argc - optind - 1), w.quiet);
}
