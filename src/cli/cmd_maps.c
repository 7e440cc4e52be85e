/* tidemark maps FILE: what the process had mapped, at a moment or as a difference. */
#include "cli/commands.h"

#include <stdio.h>

#include "cli/command.h"
#include "model/answer.h"
#include "answer/maps.h"

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

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    const struct wanted *w = o->command->context;
    const struct profile *profile;
    struct mappings mappings = {0};
    int code = answer_process(r, &o->query, &profile, err);
    if (!code)
        code = mappings_init(&mappings, r, profile, o->query.since, o->query.at, w->by,
                             o->query.top, err);
    if (code)
        return code;
    mappings.numa = w->numa;
    const struct document document = maps_document(&mappings);
    code = command_write(o, &document);
    mappings_release(&mappings);
    return code;
}

int cmd_maps(int argc, char **argv)
{
    static const struct option extra[] = {
        {"by", required_argument, NULL, OPT_BY}, {"numa", no_argument, NULL, OPT_NUMA}, {0}};
    static const char *const common[] = {"at",   "since", "process", "top",
                                         "json", "csv",   "help",    NULL};
    struct wanted wanted = {.by = BY_KIND};
    const struct query_command command = {.name = "maps",
                                          .timeline = true,
                                          .help = print_help,
                                          .files = 1,
                                          .summary = true,
                                          .not_combined = true,
                                          .text_rows = TEXT_ROWS,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &wanted};
    return command_ask(argc, argv, &command, ask);
}
