#include "cli/cmd_run.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/leaks.h"
#include "base/amount.h"
#include "base/strbuf.h"
#include "cli/library.h"
#include "collect/session.h"
#include "model/moment.h"
#include "model/pattern.h"
#include "model/sampled.h"
#include "model/suppress.h"
#include "report/findings.h"
#include "report/summary.h"
#include "report/units.h"
#include "report/wrap.h"
#include "store/reader.h"

#define NOTES_SHOWN     5
#define FINDINGS_SHOWN  3
#define PROCESSES_SHOWN 5
#define CPU_HZ          999 /* not 1000: not in step with what happens every millisecond */

enum {
    OPT_ONLY = 256,
    OPT_NO_FOLLOW,
    OPT_PAUSED,
    OPT_NO_SCAN,
    OPT_CPU,
    OPT_FAULTS,
    OPT_ONLY_CPU,
    OPT_ONLY_FAULTS,
    OPT_ALL,
    OPT_MARK_ON,
    OPT_PLANT_LEAK,
    OPT_WITHIN,
    OPT_IGNORE,
    OPT_SUPPRESSIONS,
    OPT_SNAPSHOT_EVERY,
    OPT_ON_FULL,
    OPT_INTERVAL,
    OPT_PYTHON,
    OPT_QUIET,
    OPT_HELP
};

static const struct option long_options[] = {
    {"only", required_argument, NULL, OPT_ONLY},
    {"no-follow", no_argument, NULL, OPT_NO_FOLLOW},
    {"paused", no_argument, NULL, OPT_PAUSED},
    {"no-scan", no_argument, NULL, OPT_NO_SCAN},
    {"cpu", optional_argument, NULL, OPT_CPU},
    {"faults", optional_argument, NULL, OPT_FAULTS},
    {"only-cpu", optional_argument, NULL, OPT_ONLY_CPU},
    {"only-faults", optional_argument, NULL, OPT_ONLY_FAULTS},
    {"all", no_argument, NULL, OPT_ALL},
    {"mark-on", required_argument, NULL, OPT_MARK_ON},
    {"plant-leak", required_argument, NULL, OPT_PLANT_LEAK},
    {"within", required_argument, NULL, OPT_WITHIN},
    {"ignore", required_argument, NULL, OPT_IGNORE},
    {"suppressions", required_argument, NULL, OPT_SUPPRESSIONS},
    {"snapshot-every", required_argument, NULL, OPT_SNAPSHOT_EVERY},
    {"on-full", required_argument, NULL, OPT_ON_FULL},
    {"interval", required_argument, NULL, OPT_INTERVAL},
    {"python", required_argument, NULL, OPT_PYTHON},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"help", no_argument, NULL, OPT_HELP},
    {0},
};

static const char help[] =
    "usage: tidemark run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n\n"
    "Runs PROGRAM and records every allocation with its whole stack. The exit status is the\n"
    "program's own (128+n for signal n); 125 if recording could not start, 126 or 127 if the\n"
    "program could not.\n\n"
    "  -o FILE            where to write (default tidemark.%n.%p.tide); %n program, %p pid, %h "
    "host,\n"
    "                     %t start time, %q{VAR} environment variable, %% a percent sign;\n"
    "                     '|command' pipes the finished recording to a shell command (there is no\n"
    "                     '-': stdout is the program's)\n"
    "      --only NAME    record only processes whose program name contains NAME (repeatable)\n"
    "      --no-follow    do not record children\n"
    "      --paused       begin with recording off; tide_resume() or 'tidemark ctl PID resume' "
    "turn\n"
    "                     it on\n"
    "      --no-scan      do not look at the end what still points to each block: leaks are not "
    "told\n"
    "                     from what is reachable\n"
    "      --cpu[=HZ]     also sample CPU time, with stacks, HZ times in each second of CPU time "
    "of\n"
    "                     each thread (default 999)\n"
    "      --cpu=wall     and time off the processor: waiting, or ready while others have it\n"
    "      --faults[=N]   also record every page fault, or every N-th, with its stack\n"
    "      --only-cpu[=HZ|wall], --only-faults[=N]\n"
    "                     that alone, with nothing preloaded: static programs too\n"
    "      --all          CPU time (or page faults) of all processes of this user, or as root of "
    "all\n"
    "                     there are, until PROGRAM ends or, without one, until Ctrl-C; nothing is\n"
    "                     preloaded; with --only NAME of programs of that name\n"
    "      --mark-on FUNCTION\n"
    "                     make a mark at each entry of FUNCTION (repeatable): 'main', "
    "'_ZN1A1fEv',\n"
    "                     'Processor::event'; FUNCTION#50 is then a moment for reports\n"
    "      --plant-leak SIZE\n"
    "                     leak SIZE, touched, at every mark that the program makes: a check of\n"
    "                     the measurement, which 'tidemark growth' must find\n"
    "      --within REGEX, --ignore REGEX, --suppressions FILE\n"
    "                     kept for reports, which apply them unless they are told not to\n"
    "                     (repeatable): only, or not, stacks with a matching function; not those\n"
    "                     of a suppression file of LeakSanitizer or valgrind\n"
    "      --snapshot-every DURATION\n"
    "                     write the recording so far to a file of its own every 30s, 10m, 1h\n"
    "      --on-full=wait|drop\n"
    "                     when the recording cannot keep up: let the program wait (default), or\n"
    "                     drop events and count them\n"
    "      --interval MS  length of the first intervals of the log (default 1); they get longer "
    "as\n"
    "                     the run does\n"
    "      --python=auto|off|objects\n"
    "                     auto (default): stacks have the frames of Python 3.8 to 3.13; off: "
    "native\n"
    "                     frames alone; objects: as auto, and every object of Python is a block\n"
    "      --quiet        no progress line, no summary\n"
    "      --help         this text\n\n"
    "TIDEMARK_OPTIONS in the environment holds further options, read before those given.\n\n"
    "Examples:\n\n"
    "  tidemark run ./simulation --events 100\n"
    "  tidemark run python3 script.py\n"
    "  tidemark run --mark-on Processor::event ./simulation\n"
    "  tidemark run -o '/tmp/%n.%p.tide' --only cmsRun -- ./job.sh\n"
    "  tidemark run -o '|zstd > app.tide.zst' ./app\n";

struct run_options {
    struct session_options session;
    struct strbuf only;
    VEC(const char *) mark_on;
    VEC(struct recorded_default) defaults;
    bool quiet;
    bool only_samples;
};

static int usage_error(const char *format, const char *what)
{
    fputs("tidemark run: ", stderr);
    fprintf(stderr, format, what);
    fputs("; 'tidemark run --help' lists the options\n", stderr);
    return 2;
}

/* The next word of *rest, as a shell divides and quotes; written over the text. NULL: no more. */
static char *next_word(char **rest)
{
    char *at = *rest + strspn(*rest, " \t\n"), *word = at, *to = at, quote = 0;
    if (!*at)
        return NULL;
    for (; *at && (quote || !strchr(" \t\n", *at)); at++) {
        if (quote ? *at == quote : *at == '\'' || *at == '"') {
            quote = quote ? 0 : *at;
            continue;
        }
        if (*at == '\\' && quote != '\'' && at[1] && (!quote || strchr("\"\\", at[1])))
            at++;
        *to++ = *at;
    }
    *rest = *at ? at + 1 : at;
    *to = '\0';
    return word;
}

/* The words of TIDEMARK_OPTIONS, put between argv[0] and the rest. */
static char **with_environment(int *argc, char **argv)
{
    const char *extra = getenv("TIDEMARK_OPTIONS");
    static VEC(char *) all; /* never released: the process ends */
    *vec_push(&all) = argv[0];
    char *rest = extra ? xstrdup(extra) : NULL;
    for (char *word; rest && (word = next_word(&rest));)
        *vec_push(&all) = word;
    for (int i = 1; i < *argc; i++)
        *vec_push(&all) = argv[i];
    *argc = (int)all.count;
    *vec_push(&all) = NULL;
    return all.items;
}

static int add_pattern(struct run_options *o, enum default_kind kind, const char *text)
{
    const char *option = kind == DEFAULT_WITHIN ? "--within" : "--ignore";
    struct pattern_list list = {0};
    struct err err;
    int code = pattern_list_add(&list, text, option, &err);
    pattern_list_release(&list);
    if (!code && !pattern_is_harmless(text))
        code = err_set(&err, -EINVAL,
                       "%s '%s' is too long, refers back or repeats too much to be kept", option,
                       text);
    if (code)
        return usage_error("%s", err.text);
    *vec_push(&o->defaults) = (struct recorded_default){kind, xstrdup(""), xstrdup(text)};
    return 0;
}

/* Read now: what is wrong in it is told before the program starts. */
static int add_suppressions(struct run_options *o, const char *path)
{
    struct suppressions list = {0};
    struct strbuf text = {0};
    struct err err;
    strbuf_puts(&text, "");
    int code = suppressions_read(&list, path, &text, &err);
    suppressions_release(&list);
    if (code) {
        strbuf_release(&text);
        fprintf(stderr, "tidemark run: %s\n", err.text);
        return 2;
    }
    *vec_push(&o->defaults) =
        (struct recorded_default){DEFAULT_SUPPRESSIONS, xstrdup(path), strbuf_detach(&text)};
    return 0;
}

/* 0: go on; 1: done (--help); 2: usage error, told. */
static int parse(int argc, char **argv, struct run_options *o)
{
    optind = 0;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "+:o:h", long_options, NULL)) != -1;) {
        char *end;
        switch (c) {
        case 'o':
            if (!*optarg)
                return usage_error("-o takes a file name or '|command', not ''%s", "");
            if (strcmp(optarg, "-") == 0)
                return usage_error(
                    "-o - would mix the recording with what the program prints; name "
                    "a file, or pipe it: -o '|command'%s",
                    "");
            o->session.output = optarg;
            break;
        case OPT_ONLY:
            strbuf_printf(&o->only, "%s%s", o->only.size ? "\n" : "", optarg);
            break;
        case OPT_NO_FOLLOW:
            o->session.no_follow = true;
            break;
        case OPT_ON_FULL:
            if (strcmp(optarg, "wait") != 0 && strcmp(optarg, "drop") != 0)
                return usage_error("--on-full takes 'wait' or 'drop', not '%s'", optarg);
            o->session.on_full = optarg[0] == 'd' ? WIRE_DROP : WIRE_WAIT;
            break;
        case OPT_PAUSED:
            o->session.paused = true;
            break;
        case OPT_NO_SCAN:
            o->session.no_scan = true;
            break;
        case OPT_ONLY_CPU:
        case OPT_CPU: {
            const char *given = optarg ? optarg : "";
            bool wall = strcmp(given, "wall") == 0, hz_given = optarg && !wall;
            double hz = hz_given ? strtod(given, &end) : CPU_HZ;
            if (hz_given && (!*given || *end || !(hz >= 1 && hz <= 10000)))
                return usage_error("--cpu takes samples a second, 1 to 10000, or 'wall', not '%s'",
                                   optarg);
            if (!wall || !o->session.sampling.cpu_period_ns)
                o->session.sampling.cpu_period_ns = (uint64_t)(1e9 / hz);
            o->session.sampling.wall |= wall;
            o->only_samples |= c == OPT_ONLY_CPU;
            break;
        }
        case OPT_ONLY_FAULTS:
        case OPT_FAULTS: {
            double n = optarg ? strtod(optarg, &end) : 1;
            if (optarg && (!*optarg || *end || !(n >= 1 && n <= 1e9)))
                return usage_error("--faults takes a number of faults, 1 or more, not '%s'",
                                   optarg);
            o->session.sampling.fault_period = (uint64_t)n;
            o->only_samples |= c == OPT_ONLY_FAULTS;
            break;
        }
        case OPT_ALL:
            o->session.all = o->only_samples = true;
            break;
        case OPT_MARK_ON:
            if (!*optarg || (optarg[strlen(optarg) - 1] == ')' && !strstr(optarg, "operator")))
                return usage_error(
                    "--mark-on takes the name of a function, without parameters, not '%s'", optarg);
            *vec_push(&o->mark_on) = optarg;
            break;
        case OPT_PLANT_LEAK: {
            int64_t bytes;
            if (!amount_parse(optarg, &bytes) || bytes < 1)
                return usage_error("--plant-leak takes a size such as 10MiB, not '%s'", optarg);
            o->session.plant_leak_bytes = (uint64_t)bytes;
            break;
        }
        case OPT_WITHIN:
        case OPT_IGNORE:
            if (add_pattern(o, c == OPT_WITHIN ? DEFAULT_WITHIN : DEFAULT_IGNORE, optarg))
                return 2;
            break;
        case OPT_SUPPRESSIONS:
            if (add_suppressions(o, optarg))
                return 2;
            break;
        case OPT_SNAPSHOT_EVERY: {
            double ns;
            if (!duration_parse(optarg, &ns) || ns < 1e8)
                return usage_error(
                    "--snapshot-every takes a duration such as 30s or 10m, 0.1s or more, not '%s'",
                    optarg);
            o->session.snapshot_every_ns = (uint64_t)ns;
            break;
        }
        case OPT_INTERVAL: {
            double ms = strtod(optarg, &end);
            if (*end || !(ms >= 1 && ms <= 3.6e6))
                return usage_error("--interval takes milliseconds, 1 or more, not '%s'", optarg);
            o->session.interval_ns = (uint64_t)(ms * 1e6);
            break;
        }
        case OPT_PYTHON:
            o->session.no_python = strcmp(optarg, "off") == 0;
            o->session.python_objects = strcmp(optarg, "objects") == 0;
            if (!o->session.no_python && !o->session.python_objects && strcmp(optarg, "auto") != 0)
                return usage_error("--python takes 'auto', 'off' or 'objects', not '%s'", optarg);
            break;
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
    if (optind >= argc && !o->session.all)
        return usage_error("no program given%s", "");
    if (o->session.all && o->session.sampling.wall)
        return usage_error("--all does not go with --cpu=wall%s", "");
    if (o->session.all && !o->session.sampling.cpu_period_ns && !o->session.sampling.fault_period)
        o->session.sampling.cpu_period_ns = (uint64_t)(1e9 / CPU_HZ);
    static char *until_stopped[] = {"sleep", "infinity", NULL};
    o->session.launcher = optind >= argc;
    o->session.argv = optind >= argc ? until_stopped : argv + optind;
    o->session.defaults = o->defaults.items;
    o->session.default_count = o->defaults.count;
    o->session.only = o->only.size ? o->only.data : NULL;
    o->session.mark_on = o->mark_on.items;
    o->session.mark_on_count = o->mark_on.count;
    return 0;
}

/* --- what is shown ---------------------------------------------------------------------------- */

struct progress {
    uint64_t events, time_ns;
    bool shown;
    bool has_terminal; /* the program writes to one */
};

/* The terminal is the program's: where it writes to it, a line of ours would wipe out half of one
 * of its own, or be in the midst of its picture. Nor is it ours in the background. */
static bool may_disturb(const struct progress *p, const struct session_status *s)
{
    return (p->has_terminal && !s->program_ended) || tcgetpgrp(STDERR_FILENO) != getpgrp();
}

static void show_progress(void *context, const struct session_status *s)
{
    struct progress *p = context;
    struct strbuf b = {0};
    if (s->elapsed_ns < 1000000000 || may_disturb(p, s))
        return; /* a short run needs no reassurance */
    double seconds = (double)(s->elapsed_ns - p->time_ns) / 1e9;
    double rate = seconds > 0 ? (double)(s->events - p->events) / seconds : 0;
    strbuf_printf(&b, "\r\033[Ktidemark: %.1f s  live ", (double)s->elapsed_ns / 1e9);
    unit_bytes(&b, (int64_t)s->live_bytes);
    strbuf_puts(&b, "  peak ");
    unit_bytes(&b, (int64_t)s->peak_bytes);
    strbuf_printf(&b, "  %.2f M events/s", rate / 1e6);
    if (s->program_ended) {
        strbuf_puts(&b, "  waiting for ");
        unit_counted(&b, s->processes, "child process");
        strbuf_puts(&b, " (Ctrl-C to stop)");
    }
    fputs(b.data, stderr);
    fflush(stderr);
    strbuf_release(&b);
    p->events = s->events;
    p->time_ns = s->elapsed_ns;
    p->shown = true;
}

/* Of the program, or what it became: there are those about the whole recording too. */
static void add_notes(struct strbuf *b, const struct recording *r)
{
    const struct profile *p = &r->profiles.items[0];
    for (size_t i = 1; i < r->profiles.count; i++)
        if (r->profiles.items[i].pid == p->pid)
            p = &r->profiles.items[i];
    for (size_t i = 0; i < p->notes.count && i < NOTES_SHOWN; i++)
        wrap_text("  note: ", p->notes.items[i], STYLE_WIDTH, b);
    if (p->notes.count > NOTES_SHOWN) {
        strbuf_puts(b, "  and ");
        unit_counted(b, (int64_t)(p->notes.count - NOTES_SHOWN), "more note");
        strbuf_puts(b, ", in the report\n");
    }
}

/* Nothing where nothing was lost but by what presets leave out. */
static void add_lost(struct strbuf *b, const struct recording *r, const char *name)
{
    const struct leaks_question q = {.query = {.focus = {.presets = true}}};
    const struct profile *p;
    struct leaks leaks;
    if (answer_process(r, NULL, &p, NULL) || !leaks_lost(p).blocks ||
        leaks_find(&leaks, r, &q, NULL))
        return;
    struct leak_sum lost = leaks.sums[REACH_LOST], indirect = leaks.sums[REACH_INDIRECT];
    if (lost.blocks || indirect.blocks) {
        strbuf_puts(b, "  lost ");
        unit_bytes(b, (int64_t)(lost.bytes + indirect.bytes));
        strbuf_puts(b, " in ");
        unit_blocks(b, (int64_t)(lost.blocks + indirect.blocks));
        strbuf_printf(b, " that nothing points to any more: tidemark leaks %s\n", name);
    }
    leaks_release(&leaks);
}

/* A child is often what it is about: a shell that starts the program, say. */
static void add_largest(struct strbuf *b, const struct recording *r)
{
    const struct profile *most = &r->profiles.items[0];
    for (size_t i = 1; i < r->profiles.count; i++)
        if (r->profiles.items[i].peak_bytes > most->peak_bytes)
            most = &r->profiles.items[i];
    if (most->pid == r->profiles.items[0].pid)
        return;
    strbuf_printf(b, "  most had process %u (", (unsigned)most->pid);
    summary_command(most, 60, b);
    strbuf_puts(b, "), peak ");
    unit_bytes(b, (int64_t)most->peak_bytes);
    strbuf_printf(b, ": --process %u, or --process all\n", (unsigned)most->pid);
}

/* A program of each exec is a profile of its own, but no process more. */
static size_t other_processes(const struct recording *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->profiles.count; i++)
        count += !r->profiles.items[i].execed;
    return count ? count - 1 : 0;
}

/* What was recorded of the program, in the first lines. */
static void add_figures(struct strbuf *b, const struct session_result *r)
{
    const struct profile *p = &r->recording->profiles.items[0];
    const uint64_t lost = p->sampling.lost; /* told in the first alone */
    answer_process(r->recording, NULL, &p, NULL);
    const struct sampling *g = &p->sampling;
    strbuf_puts(b, "tidemark: ");
    if (!g->alone) {
        unit_counted(b, (int64_t)r->allocations, "allocation");
        strbuf_puts(b, " in ");
    }
    unit_time(b, p->duration_ns);
    if (other_processes(r->recording)) {
        strbuf_puts(b, " (and ");
        unit_counted(b, (int64_t)other_processes(r->recording), "more process");
        strbuf_putc(b, ')');
    }
    if (p->signal) {
        strbuf_puts(b, ", ");
        summary_ending(p, b);
    }
    strbuf_putc(b, '\n');
    if (!g->alone) {
        strbuf_puts(b, "  peak ");
        unit_bytes(b, (int64_t)p->peak_bytes);
        strbuf_puts(b, " at ");
        unit_time(b, p->peak_time_ns);
        strbuf_puts(b, "; never freed ");
        unit_bytes(b, (int64_t)r->live_bytes);
        strbuf_puts(b, " in ");
        unit_blocks(b, (int64_t)r->live_blocks);
        strbuf_puts(b, "\n");
        add_largest(b, r->recording);
    }
    if (g->cpu_period_ns) {
        strbuf_puts(b, "  CPU time ");
        unit_ms(b, (int64_t)r->cpu_ns);
        strbuf_puts(b, " in ");
        unit_counted(b, (int64_t)r->cpu_samples, "sample");
        strbuf_putc(b, '\n');
    }
    if (g->fault_period) {
        strbuf_puts(b, "  page faults ");
        unit_count(b, (int64_t)r->faults);
        strbuf_puts(b, ", which made ");
        unit_bytes(b, (int64_t)r->fault_bytes);
        strbuf_puts(b, " resident\n");
    }
    if (lost) {
        strbuf_puts(b, "  LOST: at least ");
        unit_counted(b, (int64_t)lost, "sample");
        strbuf_puts(b, " for want of room; figures are too low\n");
    }
}

/* Of many processes: those that used most. */
static void add_processes(struct strbuf *b, const char *file)
{
    struct recording *r = NULL;
    struct err err;
    if (recording_read(file, &r, &err))
        return;
    for (size_t i = 0; i < r->profiles.count && i < PROCESSES_SHOWN; i++) {
        const struct profile *p = &r->profiles.items[i];
        struct sampled_totals t = sampled_whole(p);
        strbuf_puts(b, "  ");
        if (p->sampling.cpu_period_ns)
            unit_ms(b, (int64_t)t.cpu_ns);
        if (p->sampling.fault_period) {
            strbuf_puts(b, p->sampling.cpu_period_ns ? ", " : "");
            unit_counted(b, (int64_t)t.faults, "fault");
        }
        strbuf_printf(b, "  %u ", (unsigned)p->pid);
        summary_command(p, 60, b);
        strbuf_putc(b, '\n');
    }
    recording_free(r);
}

/* The first few, from what was written: anybody will find the same in it. */
static void add_findings(struct strbuf *b, const struct session_result *result)
{
    const struct strbuf *passed_on = &result->passed_on;
    const char *file = passed_on->size ? "FILE" : result->file;
    struct recording *r = NULL;
    struct findings findings;
    struct query query;
    struct err err;
    if (passed_on->size ? recording_parse(passed_on->data, passed_on->size, file, &r, &err)
                        : recording_read(file, &r, &err))
        return;
    add_lost(b, r, file);
    query_init(&query);
    query.focus.presets = true; /* as tidemark findings does */
    if (findings_init(&findings, r, &query, &err) == 0) {
        findings_brief(&findings, file, FINDINGS_SHOWN, b);
        findings_release(&findings);
    }
    query_release(&query);
    recording_free(r);
}

/* The last line is what to do next. */
static void show_summary(const struct session_result *r, bool all)
{
    uint64_t lost = 0, truncated = 0, incomplete = 0;
    for (size_t i = 0; i < r->recording->profiles.count; i++) {
        const struct profile *each = &r->recording->profiles.items[i];
        for (size_t k = 0; k < each->intervals.count; k++) {
            lost += each->intervals.items[k].lost_events;
            truncated += each->intervals.items[k].truncated_stacks;
            incomplete += each->intervals.items[k].incomplete_stacks;
        }
    }
    struct strbuf b = {0};
    add_figures(&b, r);
    if (lost) {
        strbuf_puts(&b, "  LOST: ");
        unit_counted(&b, (int64_t)lost, "event");
        strbuf_puts(&b, lost == 1 ? " was" : " were");
        strbuf_puts(&b, " dropped; figures are too low\n");
    }
    if (truncated || incomplete) {
        strbuf_puts(&b, "  stacks: ");
        unit_count(&b, (int64_t)truncated);
        strbuf_puts(&b, " cut for depth, ");
        unit_count(&b, (int64_t)incomplete);
        strbuf_puts(&b, " not followed to their end\n");
    }
    add_notes(&b, r->recording);
    bool piped = r->file[0] == '|';
    if (all && !piped)
        add_processes(&b, r->file);
    if (!r->recording->profiles.items[0].sampling.alone) /* they are about the heap */
        add_findings(&b, r);
    if (piped)
        strbuf_printf(&b, "  passed to %s\n", r->file + 1);
    else
        strbuf_printf(&b, "  written to %s\nnext: tidemark report %s\n", r->file, r->file);
    fputs(b.data, stderr);
    strbuf_release(&b);
}

int cmd_run(int argc, char **argv)
{
    struct run_options o = {.session = {.output = "tidemark.%n.%p.tide", .interval_ns = 1000000}};
    static struct session_result result; /* never released: the process ends */
    struct err err;
    argv = with_environment(&argc, argv);
    int parsed = parse(argc, argv, &o);
    if (parsed)
        return parsed == 1 ? 0 : parsed;
    static struct err refused; /* the session refers to it */
    bool sampled = o.session.sampling.cpu_period_ns || o.session.sampling.fault_period;
    if (sampled && perf_check(&o.session.sampling, &refused)) {
        fprintf(stderr, "tidemark run: %s\n", refused.text);
        if (o.only_samples)
            return 125;
        o.session.sampling = (struct perf_options){0};
        o.session.sampling_refused = refused.text;
    }
    char *library = o.only_samples ? NULL : library_find();
    if (!library && !o.only_samples) {
        fputs("tidemark run: neither libtidemark.so beside tidemark nor " TIDEMARK_LIBRARY
              " can be read; build or install again\n",
              stderr);
        return 125;
    }
    struct progress progress = {.has_terminal = !o.session.launcher && isatty(STDOUT_FILENO)};
    o.session.library = library;
    if (!o.quiet && isatty(STDERR_FILENO)) {
        o.session.progress = show_progress;
        o.session.context = &progress;
    }
    int code = session_run(&o.session, &result, &err);
    if (progress.shown)
        fputs("\r\033[K", stderr);
    if (code)
        fprintf(stderr, "tidemark run: %s\n", err.text);
    if (result.recording && !o.quiet)
        show_summary(&result, o.session.all);
    int status = result.status; /* the program's, also where its recording could not be written */
    strbuf_release(&o.only);
    vec_release(&o.mark_on);
    free(library);
    return status;
}
