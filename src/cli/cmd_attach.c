/* tidemark attach PID: records a program that runs already. */
#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "cli/library.h"
#include "cli/run_summary.h"
#include "collect/proc/proc.h"
#include "collect/session/session.h"
#include "model/moment.h"

enum {
    OPT_DURATION = 256,
    OPT_ONLY_NEW,
    OPT_ON_FULL,
    OPT_INTERVAL,
    OPT_PYTHON,
    OPT_SCAN,
    OPT_TELL,
    OPT_QUIET,
    OPT_HELP
};

static const struct option long_options[] = {
    {"duration", required_argument, NULL, OPT_DURATION},
    {"only-new", no_argument, NULL, OPT_ONLY_NEW},
    {"on-full", required_argument, NULL, OPT_ON_FULL},
    {"interval", required_argument, NULL, OPT_INTERVAL},
    {"python", required_argument, NULL, OPT_PYTHON},
    {"scan", required_argument, NULL, OPT_SCAN},
    {"tell", required_argument, NULL, OPT_TELL},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"help", no_argument, NULL, OPT_HELP},
    {0},
};

static const char help[] =
    "usage: tidemark attach [OPTIONS] PID\n"
    "\n"
    "Records every allocation of a program that runs already, from now on, with its whole stack.\n"
    "Ends when the program does, after --duration, by Ctrl-C, or by 'tidemark detach PID'. The\n"
    "program then goes on with its own code, as if nothing had been. No debugger is needed.\n"
    "\n"
    "  -o FILE            where to write (default tidemark.%n.%p.tide); as for 'tidemark run'\n"
    "      --duration TIME\n"
    "                     for so long: 30s, 10m, 1h\n"
    "      --only-new     do not count what was allocated before\n"
    "      --on-full=wait|drop\n"
    "                     when a thread's buffer is full: let it wait (default), or drop events\n"
    "                     and count them\n"
    "      --interval MS  length of the first intervals of the log (default 1)\n"
    "      --python=auto|off\n"
    "                     stacks with the frames of Python (default), or only native ones\n"
    "      --scan=auto|full|off\n"
    "                     look at the end what points to each block: 'auto' if that is quick\n"
    "      --tell FD      for programs: tell an open descriptor when recording is on, and its end\n"
    "      --quiet        no messages but errors\n"
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
    struct run_progress progress; /* first: session_options.progress gets its address */
    const struct attach_options *options;
};

static int usage_error(const char *format, const char *what)
{
    fputs("tidemark attach: ", stderr);
    fprintf(stderr, format, what);
    fputs("; 'tidemark attach --help' lists the options\n", stderr);
    return 2;
}

/* 0: go on; 1: done (--help); 2: usage error, told. */
static int parse(int argc, char **argv, struct attach_options *o)
{
    optind = 0;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":o:h", long_options, NULL)) != -1;) {
        char *end;
        double ns;
        switch (c) {
        case 'o':
            if (!*optarg || strcmp(optarg, "-") == 0)
                return usage_error("-o takes a file name or '|command', not '%s'", optarg);
            o->session.output = optarg;
            break;
        case OPT_DURATION:
            if (!duration_parse(optarg, &ns) || ns < 1e6)
                return usage_error("--duration takes a time such as 30s or 10m, not '%s'", optarg);
            o->session.duration_ns = (uint64_t)ns;
            break;
        case OPT_ONLY_NEW:
            o->session.only_new = true;
            break;
        case OPT_ON_FULL:
            if (strcmp(optarg, "wait") != 0 && strcmp(optarg, "drop") != 0)
                return usage_error("--on-full takes 'wait' or 'drop', not '%s'", optarg);
            o->session.on_full = optarg[0] == 'd' ? WIRE_DROP : WIRE_WAIT;
            break;
        case OPT_INTERVAL: {
            double ms = strtod(optarg, &end);
            if (*end || !(ms >= 1 && ms <= 3.6e6))
                return usage_error("--interval takes milliseconds, 1 or more, not '%s'", optarg);
            o->session.interval_ns = (uint64_t)(ms * 1e6);
            break;
        }
        case OPT_PYTHON:
            if (strcmp(optarg, "auto") != 0 && strcmp(optarg, "off") != 0)
                return usage_error("--python takes 'auto' or 'off', not '%s'", optarg);
            o->session.no_python = optarg[0] == 'o';
            break;
        case OPT_SCAN:
            if (strcmp(optarg, "auto") != 0 && strcmp(optarg, "full") != 0 &&
                strcmp(optarg, "off") != 0)
                return usage_error("--scan takes 'auto', 'full' or 'off', not '%s'", optarg);
            o->session.no_scan = optarg[0] == 'o';
            o->session.full_scan = optarg[0] == 'f';
            break;
        case OPT_TELL: {
            long fd = strtol(optarg, &end, 10);
            if (!*optarg || *end || fd < 0 || fd > INT32_MAX || fcntl((int)fd, F_GETFD) < 0)
                return usage_error("--tell takes the number of an open descriptor, not '%s'",
                                   optarg);
            o->tell = (int)fd;
            break;
        }
        case OPT_QUIET:
            o->quiet = true;
            break;
        case 'h':
        case OPT_HELP:
            fputs(help, stdout);
            return 1;
        case ':':
            return usage_error("option '%s' needs a value", argv[optind - 1]);
        default:
            return usage_error("unknown option '%s'", argv[optind - 1]);
        }
    }
    if (optind + 1 != argc)
        return usage_error("it takes one process id%s", "");
    char *end;
    long pid = strtol(argv[optind], &end, 10);
    if (*end || pid <= 0 || pid > INT32_MAX)
        return usage_error("'%s' is not a process id", argv[optind]);
    o->session.attach_to = (pid_t)pid;
    return 0;
}

/* What it was started as, for its name. */
static char **command_of(pid_t pid)
{
    static VEC(char *) words; /* never released: the process ends */
    struct strbuf text = {0};
    struct proc_state state = {.name = "program"};
    if (proc_read_all(pid, "cmdline", &text) == 0)
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
 * --tell: the program that started us reads these lines: "attached", then "written FILE", or
 * "failed ERRNO". It ends the recording by SIGTERM, whatever it does with that signal itself.
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
    struct attach_options o = {.session = {.output = "tidemark.%n.%p.tide", .interval_ns = 1000000},
                               .tell = -1};
    static struct session_result result; /* never released: the process ends */
    struct err err;
    int parsed = parse(argc, argv, &o);
    if (parsed)
        return parsed == 1 ? 0 : parsed;
    tell_begin(o.tell);
    char *library = library_find(&err);
    int code = library ? session_check_attach(o.session.attach_to, &err) : -ENOENT;
    if (code) {
        fprintf(stderr, "tidemark attach: %s\n", err.text);
        tell_end(o.tell, code, NULL);
        free(library);
        return 1;
    }
    struct attach_context context = {.progress = {.has_terminal = isatty(STDOUT_FILENO)},
                                     .options = &o};
    o.session.library = library;
    o.session.in_place = library_counts_in_place();
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
