/* tidemark ctl PID ACTION: controls a running recording. */
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "cli/ctl_client.h"
#include "cli/process_id.h"
#include "cli/record_options.h"

static const char help[] =
    "usage: tidemark ctl PID ACTION\n"
    "\n"
    "Controls a running recording. PID is that of the program, of one of its children, or of\n"
    "`tidemark run` itself.\n"
    "\n"
    "  status            how long it has run, how much it has recorded, and its file\n"
    "  mark LABEL        make a mark, as tide_mark(LABEL) does\n"
    "  snapshot [FILE]   write the recording so far; %I in FILE counts, '|command' pipes\n"
    "  leaks             scan for leaks, and mark the moment 'leaks'\n"
    "  pause             do not record allocations until resume; frees are recorded\n"
    "  resume            record allocations again\n"
    "  start             begin to record, if the recorder is dormant\n"
    "  stop              record nothing until start: the hooks only forward calls\n"
    "\n"
    "Prints what was done.\n"
    "\n"
    "      --help        this text\n"
    "\n"
    "Examples:\n"
    "\n"
    "  tidemark ctl $(pgrep myserver) status\n"
    "  tidemark ctl 1234 mark 'after loading'\n"
    "  tidemark ctl 1234 snapshot '|gzip -9c > app.%I.tide.gz'\n";

static const struct action {
    const char *name;
    enum wire_request_kind kind;
    int least, most;  /* number of arguments */
    const char *done; /* the message on success; NULL: the collector's answer */
} actions[] = {{"status", WIRE_STATUS, 0, 0, NULL},
               {"mark", WIRE_MARK, 1, 1, "marked this moment: use its label with --at and --since"},
               {"snapshot", WIRE_SNAPSHOT, 0, 1, NULL},
               {"leaks", WIRE_SCAN, 0, 0, NULL},
               {"pause", WIRE_PAUSE, 0, 0, "paused: allocations are not recorded, frees are"},
               {"resume", WIRE_RESUME, 0, 0, "allocations are recorded again"},
               {"start", WIRE_START, 0, 0, NULL},
               {"stop", WIRE_STOP, 0, 0, NULL}};

static int usage(const char *format, const char *what)
{
    fputs("tidemark ctl: ", stderr);
    fprintf(stderr, format, what);
    fputs("; 'tidemark ctl --help' lists the actions\n", stderr);
    return 2;
}

/* A file name is relative to the caller's folder; the collector may be in another. Only the name is
 * a pattern, not the folder. */
static char *made_absolute(const char *name)
{
    char *folder = *name && *name != '/' && *name != '|' ? getcwd(NULL, 0) : NULL;
    if (!folder)
        return xstrdup(name);
    char *literal = record_output_literal(folder), *path = xasprintf("%s/%s", literal, name);
    free(literal);
    free(folder);
    return path;
}

int cmd_ctl(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    for (int i = 1; i < argc && i < 3; i++) /* the following words may be any text */
        if (argv[i][0] == '-' && !(argv[i][1] >= '0' && argv[i][1] <= '9'))
            return usage("unknown option '%s'", argv[i]);
    if (argc < 3)
        return usage("it takes a PID and an action%s", "");
    struct err err;
    pid_t pid;
    if (process_id_parse(argv[1], &pid, &err))
        return usage("%s", err.text);
    const struct action *action = NULL;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, argv[2]) == 0)
            action = &actions[i];
    if (!action)
        return usage("unknown action '%s'", argv[2]);
    if (argc - 3 < action->least || argc - 3 > action->most)
        return usage(action->least  ? "%s takes one argument"
                     : action->most ? "%s takes one argument at most"
                                    : "%s takes no argument",
                     action->name);
    struct ctl_client with;
    if (ctl_client_begin(pid, &with, &err)) {
        fprintf(stderr, "tidemark ctl: %s\n", err.text);
        return 1;
    }
    char answer[WIRE_TEXT_MAX] = "";
    char *text = action->kind == WIRE_SNAPSHOT ? made_absolute(argc > 3 ? argv[3] : "")
                                               : xstrdup(argc > 3 ? argv[3] : "");
    int fd = ctl_client_ask(&with, action->kind, text);
    int code = fd < 0 ? fd : ctl_client_answer(fd, answer, sizeof answer, NULL);
    free(text);
    if (code) {
        struct strbuf why = {0};
        ctl_client_explain(&with, code, action->name, answer, &why);
        fprintf(stderr, "tidemark ctl: %s", why.data);
        strbuf_release(&why);
        return 1;
    }
    fputs(answer, stdout);
    if (action->done)
        puts(action->done);
    return 0;
}
