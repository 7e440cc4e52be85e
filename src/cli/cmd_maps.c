/* tidemark maps FILE: what the process had mapped, at a moment or as a difference. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/query_options.h"
#include "model/answer.h"
#include "answer/maps.h"
#include "store/reader.h"

#define TEXT_ROWS 30

enum { OPT_BY = QUERY_EXTRA, OPT_NUMA };

struct wanted {
    enum mapping_grouping by;
    bool numa;
};

static void print_help(void)
{
    puts("usage: tidemark maps FILE [OPTIONS]\n"
         "\n"
         "Shows the mappings of the process: heap, stacks, program, libraries, files, shared\n"
         "memory. They are captured soon after the start, from time to time, at each snapshot and "
         "when\n"
         "the program begins to end; the capture nearest to the requested moment is shown.\n"
         "\n"
         "  --at WHEN        start, end (default), peak, LABEL#N (a mark), snapshot#N, 12.5s, 50%\n"
         "  --since WHEN     the difference from WHEN to --at\n"
         "  --by WHAT        kind (default), library, mapping\n"
         "  --numa           NUMA nodes and policies\n"
         "  --process PID    another process of the recording (PID#N: its N-th program)\n"
         "  --top N          at most N rows, 0: all (text: 30; otherwise all)\n"
         "  --json, --csv    exact numbers for scripts\n"
         "  --help           this text\n"
         "\n"
         "Examples:\n"
         "  tidemark maps app.tide\n"
         "  tidemark maps app.tide --by library --at peak\n"
         "  tidemark maps app.tide --since snapshot#1 --at snapshot#2 --by mapping");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    if (val == OPT_BY)
        return mapping_grouping_parse(argument, &w->by, err);
    w->numa = true;
    return 0;
}

static int print_rows(const struct mappings *m, enum output output)
{
    struct strbuf out = {0};
    if (output == OUTPUT_JSON) {
        maps_json(m, &command_sink, &out);
    } else if (output == OUTPUT_CSV) {
        maps_csv(m, &command_sink, &out);
    } else {
        struct style style = style_of(STDOUT_FILENO);
        maps_text(m, &style, &out);
    }
    return command_print("maps", &out);
}

int cmd_maps(int argc, char **argv)
{
    static const struct option extra[] = {
        {"by", required_argument, NULL, OPT_BY}, {"numa", no_argument, NULL, OPT_NUMA}, {0}};
    static const char *const common[] = {"at",   "since", "process", "top",
                                         "json", "csv",   "help",    NULL};
    struct wanted wanted = {.by = BY_KIND};
    const struct query_command command = {.name = "maps",
                                          .files = 1,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &wanted};
    struct query_options o;
    struct err err = {{0}};
    struct recording *recording = NULL;
    const struct profile *profile;
    struct mappings mappings = {0};
    int status = 0;
    if (query_options_parse(&o, argc, argv, &command, &err))
        return command_fail("maps", &err, 2);
    if (o.help) {
        print_help();
        goto out;
    }
    if (recording_read(o.files.items[0], &recording, &err)) {
        status = command_fail("maps", &err, 1);
        goto out;
    }
    size_t top = o.output == OUTPUT_TEXT && !o.top_given ? TEXT_ROWS : o.query.top;
    int code = answer_process(recording, &o.query, &profile, &err);
    if (!code)
        code = mappings_init(&mappings, recording, profile, o.query.since, o.query.at, wanted.by,
                             top, &err);
    if (code) {
        status = command_fail("maps", &err, code == -EINVAL ? 2 : 1);
        goto out;
    }
    mappings.numa = wanted.numa;
    status = print_rows(&mappings, o.output);
    mappings_release(&mappings);
out:
    recording_free(recording);
    query_options_release(&o);
    return status;
}
