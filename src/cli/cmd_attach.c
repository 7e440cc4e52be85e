/* tidemark attach PID: records a program that already runs. */
#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse_amount.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/library_path.h"
#include "cli/options.h"
#include "cli/process_id.h"
#include "cli/record_options.h"
#include "cli/run_summary.h"
#include "collect/proc/proc.h"
#include "collect/session/attach_checks.h"
#include "collect/session/session.h"

enum { OPT_DURATION = 256, OPT_ONLY_NEW, OPT_TELL, OPT_QUIET };

static const struct option long_options[] = {
    RECORD_OPTIONS,
    {"duration", required_argument, NULL, OPT_DURATION},
    {"only-new", no_argument, NULL, OPT_ONLY_NEW},
    {"tell", required_argument, NULL, OPT_TELL},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {0},
};

static const char help[] =
    "usage: tidemark attach [OPTIONS] PID\n"
    "\n"
    "Records every allocation of a running program from now on, with its whole call stack.\n"
    "Ends when the program ends, after --duration, by Ctrl-C, or by 'tidemark detach PID'. The\n"
    "program then continues with its own code. No debugger is needed.\n"
    "\n"
    "  -o FILE            where to write (default tidemark.%n.%p.tide); as for 'tidemark run'\n"
    "      --duration TIME\n"
    "                     detach after this time: 30s, 10m, 1h\n"
    "      --only-new     do not count the blocks that were allocated before the attach\n"
    "      --on-full=wait|drop\n"
    "                     when a thread's buffer of marks and mappings is full: let it wait\n"
    "                     (default), or drop records and count them\n"
    "      --interval MS  length of the first intervals of the recording (default 1)\n"
    "      --python=auto|off\n"
    "                     stacks with Python frames (default), or native frames only\n"
    "      --scan=auto|full|off\n"
    "                     search for leaks before detaching: 'auto' (default) if that is quick\n"
    "      --tell FD      for programs: write to the open descriptor FD when recording begins and "
    "ends\n"
    "      --quiet        print errors only\n"
    "      --help         this text\n"
    "\n"
    "The exit status is 0 if the program was recorded, 1 if it could not be.\n"
    "\n"
    "Examples:\n"
    "\n"
    "  tidemark attach 1234 --duration 60s\n"
    "  tidemark attach -o server.tide $(pgrep -o myserver)\n";

struct attach_options {
    struct session_options session;
    int tell; /* a descriptor; -1: none */
    bool quiet;
};

struct attach_context {
    struct run_progress progress; /* must be first: session_options.progress gets its address */
    const struct attach_options *options;
};

static int take_duration(struct attach_options *o, const char *value, struct err *err)
{
    double ns;
    if (!duration_parse(value, &ns) || ns < 1e6)
        return err_set(err, -EINVAL, "--duration takes a time such as 30s or 10m, not '%s'", value);
    o->session.duration_ns = (uint64_t)ns;
    return 0;
}

static int take_tell(struct attach_options *o, const char *value, struct err *err)
{
    char *end;
    long fd = strtol(value, &end, 10);
    if (!*value || *end || fd < 0 || fd > INT32_MAX || fcntl((int)fd, F_GETFD) < 0)
        return err_set(err, -EINVAL, "--tell takes the number of an open descriptor, not '%s'",
                       value);
    o->tell = (int)fd;
    return 0;
}

/* Takes one option with its value. Returns 0, or -EINVAL and a sentence. */
static int take(void *context, int option, char *value, struct err *err)
{
    struct attach_options *o = context;
    switch (option) {
    case OPT_DURATION:
        return take_duration(o, value, err);
    case OPT_ONLY_NEW:
        o->session.only_new = true;
        return 0;
    case OPT_TELL:
        return take_tell(o, value, err);
    case OPT_QUIET:
        o->quiet = true;
        return 0;
    default:
        if (option == OPT_PYTHON && strcmp(value, "objects") == 0)
            return err_set(err, -EINVAL,
                           "--python=objects is for 'tidemark run': it needs the program's start");
        return record_option_take(&o->session, option, value, err);
    }
}

/* 0: go on; 1: the help was printed; -EINVAL and a sentence: wrong usage. */
static int parse(int argc, char **argv, struct attach_options *o, struct err *err)
{
    static const struct options options = {
        .command = "attach", .help = help, .letters = ":o:h", .table = long_options, .take = take};
    int code = options_parse(&options, argc, argv, o, err);
    if (!code && optind + 1 != argc)
        code = err_set(err, -EINVAL, "it takes one process id: tidemark attach [OPTIONS] PID");
    return code ? code : process_id_parse(argv[optind], &o->session.attach_to, err);
}

/* Its command line, for its name. */
static char **command_of(pid_t pid)
{
    static VEC(char *) words; /* never released: the process ends */
    struct strbuf text = {0};
    struct proc_state state = {.name = "program"};
    if (proc_read_command(pid, &text) == 0)
        for (size_t at = 0; at < text.size; at += strlen(text.data + at) + 1)
            *vec_push(&words) = xstrdup(text.data + at);
    if (!words.count || !*words.items[0]) {
        proc_read_state(pid, &state);
        words.count = 0;
        *vec_push(&words) = xstrdup(state.name);
    }
    *vec_push(&words) = NULL;
    strbuf_release(&text);
    return words.items;
}

/*
 * --tell: the program that started us reads these lines: "attached", then "written FILE" or "failed
 * ERRNO". It ends the recording by SIGTERM, so that signal must work even if that program ignores
 * it.
 */
static void tell_begin(int fd)
{
    if (fd < 0)
        return;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN); /* that program may have ended */
    signal(SIGTERM, SIG_DFL);
}

static void tell_attached(int fd)
{
    if (fd >= 0)
        dprintf(fd, "attached\n");
}

static void tell_end(int fd, int code, const char *file)
{
    if (fd < 0)
        return;
    if (code || !file)
        dprintf(fd, "failed %d\n", code < 0 ? -code : EIO);
    else
        dprintf(fd, "written %s\n", file);
    close(fd);
}

static void say_attached(void *context, pid_t pid, unsigned functions)
{
    const struct attach_options *o = ((struct attach_context *)context)->options;
    (void)functions;
    tell_attached(o->tell);
    if (o->quiet)
        return;
    fprintf(stderr,
            "tidemark: attached to process %d; Ctrl-C or 'tidemark detach %d' ends the recording\n",
            (int)pid, (int)pid);
}

int cmd_attach(int argc, char **argv)
{
    struct attach_options o = {
        .session = {.output = RECORD_OUTPUT, .interval_ns = RECORD_INTERVAL_NS}, .tell = -1};
    static struct session_result result; /* never released: the process ends */
    struct err err;
    int parsed = parse(argc, argv, &o, &err);
    if (parsed)
        return parsed > 0 ? 0 : command_fail("attach", &err, 2);
    tell_begin(o.tell);
    char *library = library_find(&err);
    int code = library ? attach_check(o.session.attach_to, &err) : -ENOENT;
    if (code) {
        tell_end(o.tell, code, NULL);
        free(library);
        return command_fail("attach", &err, 1);
    }
    struct attach_context context = {.progress = {.has_terminal = isatty(STDOUT_FILENO)},
                                     .options = &o};
    o.session.library = library;
    o.session.argv = command_of(o.session.attach_to);
    o.session.context = &context;
    o.session.attached = say_attached;
    if (!o.quiet && isatty(STDERR_FILENO))
        o.session.progress = run_show_progress;
    code = session_run(&o.session, &result, &err);
    if (context.progress.shown)
        fputs("\r\033[K", stderr);
    if (code)
        fprintf(stderr, "tidemark attach: %s\n", err.text);
    tell_end(o.tell, code, result.file);
    if (result.recording && !o.quiet)
        run_show_summary(&result, false);
    free(library);
    return code != 0;
}
