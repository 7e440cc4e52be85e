/*
 * `tidemark run`. Its options are in run_options.c; collect/session/session.h records;
 * run_summary.c prints the closing lines.
 */
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/next_command.h"
#include "cli/command.h"
#include "cli/library_path.h"
#include "cli/mpi_rank.h"
#include "cli/record_options.h"
#include "cli/run_merge.h"
#include "cli/run_options.h"
#include "cli/run_summary.h"

static int prepare_merge(struct run_options *o, struct run_merge *m, struct err *err)
{
    if (!o->merge)
        return 0;
    int code = run_merge_init(m, o->merge, err);
    if (!code && !o->output_given)
        o->session.output = record_output_literal(m->running);
    return code;
}

/* Merges the recording of this rank, and reports the result. */
static void finish_merge(const struct run_options *o, struct run_merge *m, const char *file)
{
    struct err err = {{0}};
    struct strbuf word = {0};
    bool failed = !file || run_merge_finish(m, file, &err);
    if (failed)
        fprintf(stderr, "tidemark run: not merged into %s: %s\n", m->file,
                file ? err.text : "there is no recording");
    if (failed || o->quiet)
        return;
    next_file(&word, m->whole ? m->file : o->merge);
    if (m->whole)
        fprintf(stderr,
                "tidemark: ranks are merged into %s as they end; next: tidemark report %s\n",
                m->file, word.data);
    else
        fprintf(stderr,
                "tidemark: ranks are merged into %s and the like on each machine; next, with one "
                "process on each: mpirun --map-by ppr:1:node tidemark-mpi-merge %s\n",
                m->file, word.data);
    strbuf_release(&word);
}

int cmd_run(int argc, char **argv)
{
    struct run_options o;
    static struct session_result result; /* never released: the process ends */
    struct err err;
    int parsed = run_options_parse(&o, argc, argv, &err);
    if (parsed)
        return parsed > 0 ? 0 : command_fail("run", &err, 2);
    struct rank rank = rank_of_environment();
    o.session.rank1 = rank.known ? rank.rank + 1 : 0;
    o.session.ranks = rank.ranks;
    o.quiet |= rank.known && rank.rank; /* it is enough if one rank prints the summary */
    struct run_merge merge = {0};
    if (prepare_merge(&o, &merge, &err))
        return command_fail("run", &err, 125);
    int settled = cpu_request_settle(&o.cpu, o.only_samples, &o.session, &err);
    if (*err.text && (settled || !o.quiet || o.session.sampling_refused))
        fprintf(stderr, "tidemark run: %s\n", err.text);
    if (settled)
        return 125;
    char *library = o.only_samples ? NULL : library_find(&err);
    if (!library && !o.only_samples)
        return command_fail("run", &err, 125);
    struct run_progress progress = {.has_terminal = !o.session.launcher && isatty(STDOUT_FILENO)};
    o.session.library = library;
    if (!o.quiet && isatty(STDERR_FILENO)) {
        o.session.progress = run_show_progress;
        o.session.context = &progress;
    }
    int code = session_run(&o.session, &result, &err);
    if (progress.shown)
        fputs("\r\033[K", stderr);
    if (code)
        fprintf(stderr, "tidemark run: %s\n", err.text);
    /* Before it is merged: then its file may be removed. */
    if (run_push_is_on(&o.push) && result.recording)
        run_push_last(&o.push, result.file, o.quiet);
    if (o.merge && result.recording)
        finish_merge(&o, &merge, result.file);
    else if (result.recording && !o.quiet)
        run_show_summary(&result, o.session.all);
    int status = result.status; /* the program's, even if its recording could not be written */
    run_merge_release(&merge);
    run_options_release(&o);
    free(library);
    return status;
}
