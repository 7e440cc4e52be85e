/* tidemark merge OUT IN...: many recordings into one. */
#include "cli/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cli/command.h"
#include "cli/merge_files.h"
#include "cli/merge_list.h"

enum { OPT_LIST = 256, OPT_JSON, OPT_CSV, OPT_QUIET, OPT_HELP };

static const struct option long_options[] = {{"jobs", required_argument, NULL, 'j'},
                                             {"list", required_argument, NULL, OPT_LIST},
                                             {"json", no_argument, NULL, OPT_JSON},
                                             {"csv", no_argument, NULL, OPT_CSV},
                                             {"quiet", no_argument, NULL, OPT_QUIET},
                                             {"help", no_argument, NULL, OPT_HELP},
                                             {0}};

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
    "Exit status: 0; 1 if a file could not be read (the others are merged) or OUT not be written;\n"
    "2 for wrong usage.\n"
    "\n"
    "Examples:\n"
    "  tidemark merge job.tide job.*.tide\n"
    "  tidemark merge all.tide monday.tide tuesday/\n"
    "  tidemark report job.tide --metric peak\n";

static int usage_error(const char *format, const char *what)
{
    fputs("tidemark merge: ", stderr);
    fprintf(stderr, format, what);
    fputs("; 'tidemark merge --help' lists the options\n", stderr);
    return 2;
}

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

int cmd_merge(int argc, char **argv)
{
    struct merge_job job = {.command = "merge"};
    const char *listed = NULL;
    enum output output = OUTPUT_TEXT;
    bool quiet = false;
    optind = 0;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":j:h", long_options, NULL)) != -1;) {
        char *end;
        unsigned long n;
        switch (c) {
        case 'j':
            n = strtoul(optarg, &end, 10);
            if (*optarg < '0' || *optarg > '9' || *end || n < 1 || n > 1024)
                return usage_error("--jobs takes a number from 1 to 1024, not '%s'", optarg);
            job.jobs = (unsigned)n;
            break;
        case OPT_LIST:
            listed = optarg;
            break;
        case OPT_JSON:
        case OPT_CSV:
            output = c == OPT_JSON ? OUTPUT_JSON : OUTPUT_CSV;
            break;
        case OPT_QUIET:
            quiet = true;
            break;
        case 'h':
        case OPT_HELP:
            fputs(help, stdout);
            return 0;
        case ':':
            return usage_error("option '%s' needs a value", argv[optind - 1]);
        default:
            return usage_error("unknown option '%s'", argv[optind - 1]);
        }
    }
    if (listed && argc > optind)
        return usage_error("--list takes one file and merges nothing; leave out '%s'",
                           argv[optind]);
    if (listed)
        return merge_list(listed, output);
    if (output != OUTPUT_TEXT)
        return usage_error("%s goes with --list", output == OUTPUT_JSON ? "--json" : "--csv");
    if (argc - optind < 2)
        return usage_error("merge takes the file to write and at least one recording%s", "");
    job.output = argv[optind];
    return run(&job, argv + optind + 1, (size_t)(argc - optind - 1), quiet);
}
