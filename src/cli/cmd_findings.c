/* tidemark findings FILE: the short list of what is worth fixing. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/query_options.h"
#include "answer/findings.h"

static void print_help(void)
{
    puts("usage: tidemark findings FILE [OPTIONS]\n"
         "\n"
         "Lists what is worth fixing in a recording, the most worthwhile first: at most nine "
         "findings,\n"
         "each with its number and its place, the first three with the reason and what to do. A "
         "program\n"
         "that is fine has none.\n"
         "\n"
         "  --top N          at most N, all of them with reason and advice\n"
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
         "  --thread NAME    only this thread (name or id)\n"
         "  --python-only, --native-only   list only such frames\n"
         "  --process PID    this process alone (PID#N: its N-th program), or all as one\n"
         "  --json           for scripts\n"
         "  --help           this text\n"
         "\n"
         "Examples:\n"
         "  tidemark findings app.tide\n"
         "  tidemark findings app.tide --ignore 'Cache::' --top 3\n"
         "  tidemark findings app.tide --json");
}

int cmd_findings(int argc, char **argv)
{
    static const char *const common[] = {"top",   "within", "ignore",  "fold",        "no-fold",
                                         "merge", "thread", "process", "python-only", "native-only",
                                         "json",  "help",   NULL};
    static const struct query_command command = {
        .name = "findings", .files = 1, .only = common, .presets = true};
    struct query_options o;
    struct err err = {{0}};
    struct recording *recording = NULL;
    struct strbuf out = {0};
    struct findings_all findings;
    int status = 0;
    if (query_options_parse(&o, argc, argv, &command, &err))
        return command_fail("findings", &err, 2);
    if (o.help) {
        print_help();
        goto out;
    }
    if (query_read(&o, o.files.items[0], &recording, &err)) {
        status = command_fail("findings", &err, 1);
        goto out;
    }
    size_t most = o.top_given ? o.query.top : 0;
    int code = findings_all_init(&findings, recording, &o.query, 0, &err);
    if (code) {
        status = command_fail("findings", &err, code == -EINVAL ? 2 : 1);
        goto out;
    }
    if (o.output == OUTPUT_JSON) {
        findings_json(&findings, most, &out);
    } else {
        struct style style = style_of(STDOUT_FILENO);
        findings_text(&findings, o.files.items[0], most, &style, &out);
    }
    findings_all_release(&findings);
    status = command_print("findings", &out);
out:
    strbuf_release(&out);
    recording_free(recording);
    query_options_release(&o);
    return status;
}
