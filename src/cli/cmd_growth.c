/* tidemark growth FILE: does it grow from mark to mark, by how much, and what kind of growth. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/picture.h"
#include "cli/query_options.h"
#include "export/growth_plot.h"
#include "answer/growth.h"
#include "store/reader.h"

#define SITES_SHOWN 10

enum { OPT_MARK = QUERY_EXTRA, OPT_PER, OPT_PLOT, OPT_WHY };

struct wanted {
    const char *mark, *per, *plot;
    bool why;
};

static void print_help(void)
{
    puts(
        "usage: tidemark growth FILE [OPTIONS]\n"
        "\n"
        "Says whether the program grows from mark to mark (without marks: per second), by how\n"
        "much, since when, and which code does it. The verdict is leak, growth, mapped, shared,\n"
        "fragmentation, retention, address-space, warm-up or stable; functions follow.\n"
        "\n"
        "  --mark LABEL     marks to compare (default: the label with most marks; the collector's\n"
        "                   stamps where there are none)\n"
        "  --per KEY        also growth per unit of a value of the marks: bytes per photon\n"
        "  --top N          at most N functions (default 10)\n"
        "  --why            also the evidence: intervals, parts of RSS, arrays that grow\n"
        "  --plot FILE      live bytes, RSS and VM at the marks, as an SVG\n"
        "  --within REGEX   only stacks with a matching function (repeatable)\n"
        "  --within-path PREFIX  only stacks with a function in such a file (repeatable)\n"
        "  --ignore REGEX   leave out stacks with a matching function (repeatable)\n"
        "  --suppressions FILE  leave out stacks that LeakSanitizer or valgrind suppress "
        "(repeatable)\n"
        "  --presets, --no-presets  leave out (default), or show, what libraries set up and keep\n"
        "  --no-defaults    do not apply --within, --ignore and --suppressions of run\n"
        "  --fold REGEX     drop matching frames; their caller is charged (repeatable)\n"
        "  --no-fold        keep the std:: frames that are folded by default\n"
        "  --merge RULE     rename functions: s/re/new/ (repeatable)\n"
        "  --thread NAME    only what this thread allocated\n"
        "  --python-only, --native-only   list only such frames\n"
        "  --process PID    another process of the recording (PID#N: its N-th program)\n"
        "  --json           exact numbers for scripts\n"
        "  --help           this text\n"
        "\n"
        "Examples:\n"
        "  tidemark growth app.tide\n"
        "  tidemark growth app.tide --mark event --per photons\n"
        "  tidemark run --plant-leak 10MiB ./app && tidemark growth tidemark.app.*.tide");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    (void)err;
    if (val == OPT_WHY) {
        w->why = true;
        return 0;
    }
    *(val == OPT_MARK ? &w->mark : val == OPT_PER ? &w->per : &w->plot) = argument;
    return 0;
}

static int print_growth(const struct growth *g, const struct query_options *o, bool why)
{
    struct strbuf out = {0};
    size_t most = o->top_given ? o->query.top : SITES_SHOWN;
    if (o->output == OUTPUT_JSON) {
        growth_json(g, most, &out);
    } else {
        struct style style = style_of(STDOUT_FILENO);
        growth_text(g, o->files.items[0], most, why, &style, &out);
    }
    return command_print("growth", &out);
}

static int draw(const struct growth *g, const char *file, struct err *err)
{
    struct strbuf picture = {0};
    growth_plot(g, &picture);
    int code = picture_write(file, &picture, err);
    strbuf_release(&picture);
    return code;
}

int cmd_growth(int argc, char **argv)
{
    static const struct option extra[] = {{"mark", required_argument, NULL, OPT_MARK},
                                          {"per", required_argument, NULL, OPT_PER},
                                          {"plot", required_argument, NULL, OPT_PLOT},
                                          {"why", no_argument, NULL, OPT_WHY},
                                          {0}};
    static const char *const common[] = {
        "top",         "within",      "ignore", "fold", "no-fold", "merge", "process",
        "python-only", "native-only", "thread", "json", "help",    NULL};
    struct wanted wanted = {0};
    const struct query_command command = {.name = "growth",
                                          .files = 1,
                                          .only = common,
                                          .presets = true,
                                          .extra = extra,
                                          .take = take,
                                          .context = &wanted};
    struct query_options o;
    struct err err = {{0}};
    struct recording *recording = NULL;
    struct growth growth;
    int status = 0;
    if (query_options_parse(&o, argc, argv, &command, &err))
        return command_fail("growth", &err, 2);
    if (o.help) {
        print_help();
        goto out;
    }
    if (recording_read(o.files.items[0], &recording, &err)) {
        status = command_fail("growth", &err, 1);
        goto out;
    }
    query_tell_damage(&o, o.files.items[0], recording);
    o.query.has_mark = wanted.mark ? wanted.mark : "";
    const struct growth_question question = {o.query, wanted.mark, wanted.per};
    int code = growth_init(&growth, recording, &question, &err);
    if (code) {
        status = command_fail("growth", &err, code == -EINVAL ? 2 : 1);
        goto out;
    }
    if (!wanted.plot)
        status = print_growth(&growth, &o, wanted.why);
    else if (draw(&growth, wanted.plot, &err))
        status = command_fail("growth", &err, 1);
    growth_release(&growth);
out:
    recording_free(recording);
    query_options_release(&o);
    return status;
}
