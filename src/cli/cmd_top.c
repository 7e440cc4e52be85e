/* tidemark top [PID|FILE]: who holds memory now, live in the terminal. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/top.h"
#include "base/parse_amount.h"
#include "cli/command.h"
#include "cli/top_screen.h"
#include "model/process_choice.h"
#include "store/recording.h"

#define TEXT_ROWS 20

enum { OPT_SORT = QUERY_EXTRA, OPT_WINDOW, OPT_EVERY, OPT_ONCE };

static void print_help(void)
{
    fputs(
        "usage: tidemark top [PID|FILE] [OPTIONS]\n"
        "\n"
        "Shows who holds memory in a running recording, and how that changes: bytes held now, "
        "and\n"
        "bytes gained, allocated and temporarily allocated per second. PID is that of the\n"
        "program, of one of its children, or of `tidemark run`; it may be left out if there is "
        "one\n"
        "recording only. Keys are shown at the bottom, '?' explains them. If output is not a\n"
        "terminal, the table is printed once.\n"
        "\n"
        "  --sort BY        live (default), growth, rate, temporary\n"
        "  --window TIME    growth and rates over the last 5s (default)\n"
        "  --every TIME     time between two refreshes (default 2s); longer if a refresh is slow\n"
        "  --once           print the table once, also to a terminal\n"
        "  --metric M       what is held: live (default), peak, total, mapped, ...\n"
        "  --by KIND        function (default), line, file, library, thread\n"
        "  --top N          at most N rows, 0: all\n"
        "  --process PID    this process, not the one that holds the most memory\n"
        "  --json, --csv    for other programs\n"
        "  --help           this text\n"
        "\n"
        "Which stacks count:\n" QUERY_FOCUS_HELP "\n"
        "Examples:\n"
        "  tidemark top $(pgrep myserver)\n"
        "  tidemark top --by line --sort growth\n"
        "  tidemark top app.tide --json\n",
        stdout);
}

static int take(void *context, int val, const char *text, struct err *err)
{
    struct top_options *o = context;
    double ns = 0;
    if (val == OPT_ONCE)
        return o->once = true, 0;
    if (val == OPT_SORT)
        return top_sort_parse(text, &o->sort)
                   ? 0
                   : err_set(err, -EINVAL,
                             "--sort '%s' is not known; it takes live, growth, rate or temporary",
                             text);
    if (!duration_parse(text, &ns) || ns < 1e8 || ns > 3.6e12)
        return err_set(err, -EINVAL, "--%s takes a time from 0.1s to 1h, not '%s'",
                       val == OPT_WINDOW ? "window" : "every", text);
    *(val == OPT_WINDOW ? &o->window_ns : &o->refresh_ns) = (uint64_t)ns;
    return 0;
}

/* The running process that holds most. NULL: none runs any more. */
static char *running_process(const struct recording *r)
{
    const struct profile *most = NULL;
    uint64_t most_bytes = 0;
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        uint64_t bytes = p->stamps.count ? vec_last(&p->stamps)->live_bytes : 0;
        if (p->complete || p->execed || p->signal || p->exit_code >= 0)
            continue;
        if (!most || bytes > most_bytes) {
            most = p;
            most_bytes = bytes;
        }
    }
    return most ? answer_process_word(r, most) : NULL;
}

int top_read(struct top_options *o, struct live_recording *live, struct recording **out,
             struct err *err)
{
    char path[LIVE_RECORDING_PATH];
    int memory = live_recording_take(live, path, err);
    if (memory < 0)
        return memory;
    int code = query_read(&o->query, path, out, err);
    close(memory);
    if (!code && !o->process_given) {
        free(o->running);
        o->query.query.process = o->running = running_process(*out);
    }
    return code;
}

static int print_once(struct top_options *o, const struct recording *r, struct err *err)
{
    struct top top;
    int code = top_query(&top, r, &o->query.query, o->window_ns, o->sort, err);
    if (code)
        return code;
    struct document d = top_document(&top);
    code = command_write(&o->query, &d);
    top_release(&top);
    return code;
}

static int find(struct ctl_client *with, const char *word, struct err *err)
{
    struct strbuf pids = {0};
    int code = 0;
    if (word)
        code = ctl_client_begin(ctl_client_pid(word), with, err);
    else if (!ctl_client_only(with, &pids))
        code = pids.size ? err_set(err, -EINVAL,
                                   "there are several recordings; which one? tidemark top PID, of "
                                   "%s",
                                   pids.data)
                         : err_set(err, -EINVAL,
                                   "nothing is being recorded; 'tidemark run PROGRAM' starts a "
                                   "recording, and 'tidemark top FILE' shows one that has ended");
    strbuf_release(&pids);
    return code;
}

static int show(struct top_options *o, struct err *err)
{
    const char *word = o->query.files.count ? o->query.files.items[0] : NULL;
    bool live = !word || ctl_client_pid(word);
    bool screen =
        !o->once && o->query.output == OUTPUT_TEXT && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
    struct live_recording now = {.fd = -1};
    struct recording *r = NULL;
    int code = live ? find(&now.with, word, err) : query_read(&o->query, word, &r, err);
    if (!code && live)
        code = live_recording_ask(&now, err);
    if (!code && live)
        code = top_read(o, &now, &r, err);
    if (screen && !o->query.top_given)
        o->query.query.top = QUERY_ALL;
    if (!code && screen) {
        code = top_screen(o, live ? &now : NULL, r, err);
        r = NULL;
    } else if (!code) {
        code = print_once(o, r, err);
    }
    recording_free(r);
    live_recording_close(&now);
    return code;
}

int cmd_top(int argc, char **argv)
{
    static const struct option extra[] = {{"sort", required_argument, NULL, OPT_SORT},
                                          {"window", required_argument, NULL, OPT_WINDOW},
                                          {"every", required_argument, NULL, OPT_EVERY},
                                          {"once", no_argument, NULL, OPT_ONCE},
                                          {0}};
    static const char *const only[] = {"metric", "by",  "top",  "process", QUERY_FOCUS_OPTIONS,
                                       "json",   "csv", "help", NULL};
    struct top_options o = {.window_ns = 5000000000, .refresh_ns = 2000000000};
    const struct query_command command = {.name = "top",
                                          .help = print_help,
                                          .files = 1,
                                          .optional = true,
                                          .text_rows = TEXT_ROWS,
                                          .only = only,
                                          .extra = extra,
                                          .take = take,
                                          .context = &o};
    struct err err = {{0}};
    if (query_options_parse(&o.query, argc, argv, &command, &err))
        return command_fail("top", &err, 2);
    int code = 0;
    o.process_given = o.query.query.process != NULL;
    if (o.query.help)
        print_help();
    else if (o.query.query.by == BY_STACK)
        code = err_set(&err, -EINVAL, "--by stack is for tidemark report");
    else
        code = show(&o, &err);
    free(o.running);
    query_options_release(&o.query);
    return code < 0 ? command_fail("top", &err, code == -EINVAL ? 2 : 1) : code;
}
