#include "cli/commands.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/strbuf.h"
#include "cli/cpu_source.h"
#include "cli/library.h"
#include "cli/rank.h"
#include "cli/run_merge.h"
#include "cli/run_push.h"
#include "cli/run_summary.h"
#include "collect/session/session.h"
#include "collect/session/triggers.h"
#include "model/moment.h"
#include "model/pattern.h"
#include "model/suppress.h"

enum {
    OPT_ONLY = 256,
    OPT_NO_FOLLOW,
    OPT_PAUSED,
    OPT_DORMANT,
    OPT_NO_SCAN,
    OPT_SCAN,
    OPT_CPU,
    OPT_CPU_SIGNAL,
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
    OPT_SNAPSHOT_AT,
    OPT_KEEP,
    OPT_ON_FULL,
    OPT_INTERVAL,
    OPT_PYTHON,
    OPT_MERGE,
    OPT_SAMPLE,
    OPT_PUSH,
    OPT_EVERY,
    OPT_PUSH_LABEL,
    OPT_PUSH_QUEUE,
    OPT_PUSH_QUEUE_SIZE,
    OPT_QUIET,
    OPT_HELP
};

static const struct option long_options[] = {
    {"only", required_argument, NULL, OPT_ONLY},
    {"no-follow", no_argument, NULL, OPT_NO_FOLLOW},
    {"paused", no_argument, NULL, OPT_PAUSED},
    {"dormant", no_argument, NULL, OPT_DORMANT},
    {"sample", optional_argument, NULL, OPT_SAMPLE},
    {"no-scan", no_argument, NULL, OPT_NO_SCAN},
    {"scan", required_argument, NULL, OPT_SCAN},
    {"push", required_argument, NULL, OPT_PUSH},
    {"every", required_argument, NULL, OPT_EVERY},
    {"push-label", required_argument, NULL, OPT_PUSH_LABEL},
    {"push-queue", required_argument, NULL, OPT_PUSH_QUEUE},
    {"push-queue-size", required_argument, NULL, OPT_PUSH_QUEUE_SIZE},
    {"cpu", optional_argument, NULL, OPT_CPU},
    {"cpu-signal", required_argument, NULL, OPT_CPU_SIGNAL},
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
    {"snapshot-at", required_argument, NULL, OPT_SNAPSHOT_AT},
    {"keep", required_argument, NULL, OPT_KEEP},
    {"on-full", required_argument, NULL, OPT_ON_FULL},
    {"interval", required_argument, NULL, OPT_INTERVAL},
    {"python", required_argument, NULL, OPT_PYTHON},
    {"merge", required_argument, NULL, OPT_MERGE},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"help", no_argument, NULL, OPT_HELP},
    {0},
};

static const char help[] =
    "usage: tidemark run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs PROGRAM and records every allocation with its whole stack. The exit status is the\n"
    "program's own (128+n for signal n); 125 if recording could not start, 126 or 127 if the\n"
    "program could not.\n"
    "\n"
    "  -o FILE            where to write (default tidemark.%n.%p.tide); %n program, %p pid, %h "
    "host,\n"
    "                     %t start time, %q{VAR} environment variable, %% a percent sign;\n"
    "                     '|command' pipes the finished recording to a shell command (there is no\n"
    "                     '-': stdout is the program's)\n"
    "      --only NAME    record only processes whose program name contains NAME (repeatable)\n"
    "      --no-follow    do not record children\n"
    "      --paused       start with recording off; tide_resume() or 'tidemark ctl PID resume'\n"
    "                     turn it on\n"
    "      --dormant      load the recorder and do nothing with it until 'tidemark ctl PID "
    "start';\n"
    "                     'stop' makes it dormant again\n"
    "      --sample[=BYTES]\n"
    "                     for production: record one allocation per BYTES allocated (default\n"
    "                     512KiB), at random; all figures are then estimates, with their error\n"
    "      --scan=WHEN    scan for leaks at the end: 'auto' (the default) if that takes less than\n"
    "                     5 % of the run or 200 ms, 'full' however long it takes, 'off' never:\n"
    "                     blocks are then not classified as lost or reachable\n"
    "      --no-scan      the same as --scan=off\n"
    "      --cpu[=HZ]     also sample CPU time, with stacks, HZ times in each second of CPU time "
    "of\n"
    "                     each thread (default 999; by timers 99)\n"
    "      --cpu=timer    CPU time by timers in the program: with Python frames, and where perf\n"
    "                     events are forbidden; --cpu chooses them then by itself\n"
    "      --cpu=perf     CPU time by perf events, or do not start\n"
    "      --cpu-signal N the real-time signal that the timers send (34 to 64; default: the "
    "highest\n"
    "                     that the program does not use)\n"
    "      --cpu=wall     also time off the processor: waiting, or ready to run\n"
    "      --faults[=N]   also record every page fault, or every N-th, with its stack\n"
    "      --only-cpu[=HZ|wall], --only-faults[=N]\n"
    "                     only that, with nothing preloaded: works for static programs too\n"
    "      --all          CPU time (or page faults) of all processes of this user, or as root of "
    "all\n"
    "                     there are, until PROGRAM ends or, without one, until Ctrl-C; nothing is\n"
    "                     preloaded; with --only NAME of programs of that name\n"
    "      --mark-on FUNCTION\n"
    "                     make a mark at each entry of FUNCTION (repeatable): 'main', "
    "'_ZN1A1fEv',\n"
    "                     'Processor::event'; FUNCTION#50 is then a moment for reports\n"
    "      --plant-leak SIZE\n"
    "                     leak SIZE touched bytes at every mark of the program: a check of the\n"
    "                     measurement, which 'tidemark growth' must find\n"
    "      --within REGEX, --ignore REGEX, --suppressions FILE\n"
    "                     defaults for reports, kept in the recording (repeatable): only, or not,\n"
    "                     stacks with a matching function; not those of a suppression file of\n"
    "                     LeakSanitizer or valgrind\n"
    "      --snapshot-every DURATION\n"
    "                     write the recording so far to a file of its own every 30s, 10m, 1h\n"
    "      --snapshot-at rss=SIZE|live+N%|peak|oom\n"
    "                     likewise when a process's resident memory reaches SIZE, when the live "
    "heap\n"
    "                     is N % above that of the last snapshot, at a new highest live heap (by "
    "10 %\n"
    "                     or more), or when memory is nearly used up (repeatable)\n"
    "      --keep N       keep only the N newest of these snapshots\n"
    "      --push URL     send what is live to Pyroscope, again and again and at the end, see\n"
    "                     tidemark-push(1)\n"
    "      --every DURATION, --push-label KEY=VALUE\n"
    "                     of --push: how often (default: 60s); a label (repeatable)\n"
    "      --push-queue DIR, --push-queue-size SIZE\n"
    "                     of --push: where profiles are kept that could not be sent (default: in\n"
    "                     ~/.cache/tidemark-push; off: nowhere), and how much (default: 64M)\n"
    "      --on-full=wait|drop\n"
    "                     when a thread's buffer is full: let it wait (default), or drop events\n"
    "                     and count them\n"
    "      --interval MS  length of the first intervals of the log (default 1); they get longer "
    "as\n"
    "                     the run does\n"
    "      --python=auto|off|objects\n"
    "                     auto (default): stacks have the frames of Python 3.8 to 3.15; off: only\n"
    "                     native frames; objects: as auto, and every Python object is a block\n"
    "      --merge FILE   of the ranks of a parallel job (mpirun, srun): merge their recordings "
    "into\n"
    "                     FILE as they end, or into one for each machine, see tidemark-merge(1);\n"
    "                     with -o the recordings of the ranks are kept\n"
    "      --quiet        no progress line, no summary; of ranks other than 0 there is none "
    "anyway\n"
    "      --help         this text\n"
    "\n"
    "TIDEMARK_OPTIONS in the environment holds further options, read before those given.\n"
    "\n"
    "Examples:\n"
    "\n"
    "  tidemark run ./simulation --events 100\n"
    "  tidemark run python3 script.py\n"
    "  tidemark run --mark-on Processor::event ./simulation\n"
    "  tidemark run -o '/tmp/%n.%p.tide' --only cmsRun -- ./job.sh\n"
    "  tidemark run -o '|zstd > app.tide.zst' ./app\n"
    "  mpirun -n 64 tidemark run --merge job.tide ./solver\n";

struct run_options {
    struct session_options session;
    struct cpu_request cpu;
    struct strbuf only;
    VEC(const char *) mark_on;
    VEC(struct trigger) triggers;
    VEC(struct recorded_default) defaults;
    const char *merge; /* NULL, or the file that the ranks of a job are merged into */
    struct run_push push;
    bool output_given;
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

/* The next word of *rest, as a shell divides and quotes; written over the text. NULL: no more, or a
 * quote that is not closed, which *rest is then left at. */
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
    if (quote)
        return NULL;
    *rest = *at ? at + 1 : at;
    *to = '\0';
    return word;
}

/* The words of TIDEMARK_OPTIONS, put between argv[0] and the rest; *extra: how many, -1: they
 * cannot be told apart. */
static char **with_environment(int *argc, char **argv, int *extra)
{
    const char *options = getenv("TIDEMARK_OPTIONS");
    static VEC(char *) all; /* never released: the process ends */
    *vec_push(&all) = argv[0];
    char *rest = options ? xstrdup(options) : NULL;
    for (char *word; rest && (word = next_word(&rest));)
        *vec_push(&all) = word;
    *extra = rest && rest[strspn(rest, " \t\n")] ? -1 : (int)all.count - 1;
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

/* TIDEMARK_COUNT=in-place (docs/internals/counting_in_place.md). */
static bool counts_in_place(void)
{
    const char *how = getenv("TIDEMARK_COUNT");
    return how && strcmp(how, "in-place") == 0;
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

/* --sample was given: what it does not go with, and which blocks are chosen. */
static int prepare_sample(struct run_options *o)
{
    const char *seed = getenv("TIDEMARK_SAMPLE_SEED"); /* for tests: the same blocks again */
    struct timespec now;
    if (o->only_samples)
        return usage_error("--sample needs the recorder in the program: it goes with none of "
                           "--only-cpu, --only-faults and --all%s",
                           "");
    if (o->session.python_objects || o->session.sampling.fault_period ||
        o->session.plant_leak_bytes || o->session.full_scan)
        return usage_error("%s needs every allocation: it does not go with --sample",
                           o->session.python_objects     ? "--python=objects"
                           : o->session.plant_leak_bytes ? "--plant-leak"
                           : o->session.full_scan        ? "--scan=full"
                                                         : "--faults");
    clock_gettime(CLOCK_REALTIME, &now);
    o->session.sample_seed =
        seed ? strtoull(seed, NULL, 10)
             : ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec) * 1000003 + (uint64_t)getpid();
    o->session.no_scan = true; /* what points to a block may be in one that is not recorded */
    return 0;
}

static int take_push(struct run_push *p, int option, char *argument, struct err *err)
{
    switch (option) {
    case OPT_PUSH:
        return run_push_url(p, argument, err);
    case OPT_PUSH_LABEL:
        return run_push_label(p, argument, err);
    case OPT_PUSH_QUEUE:
        return run_push_queue(p, argument, err);
    case OPT_PUSH_QUEUE_SIZE:
        return run_push_queue_size(p, argument, err);
    default:
        return run_push_every(p, argument, err);
    }
}

/* 0: go on; 1: done (--help); 2: usage error, told. */
static int parse(int argc, char **argv, struct run_options *o)
{
    struct err err = {{0}};
    optind = 0;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "+:o:h", long_options, NULL)) != -1;) {
        char *end;
        switch (c) {
        case 'o':
            if (!*optarg)
                return usage_error("-o takes a file name or '|command', not ''%s", "");
            if (strcmp(optarg, "-") == 0)
                return usage_error("-o - would mix the recording with the program's output; name a "
                                   "file, or pipe it: -o '|command'%s",
                                   "");
            o->session.output = optarg;
            o->output_given = true;
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
        case OPT_DORMANT:
            o->session.dormant = true;
            break;
        case OPT_SAMPLE: {
            int64_t bytes = (int64_t)512 << 10;
            if (optarg && (!amount_parse(optarg, &bytes) || bytes < SAMPLE_BYTES_LEAST ||
                           bytes > (int64_t)SAMPLE_BYTES_MOST))
                return usage_error("--sample takes a size from 64 B to 1 TiB, such as 512KiB, not "
                                   "'%s'",
                                   optarg);
            o->session.sample_bytes = (uint64_t)bytes;
            break;
        }
        case OPT_NO_SCAN:
        case OPT_SCAN: {
            const char *when = c == OPT_SCAN ? optarg : "off";
            if (strcmp(when, "auto") != 0 && strcmp(when, "full") != 0 && strcmp(when, "off") != 0)
                return usage_error("--scan takes 'auto', 'full' or 'off', not '%s'", when);
            o->session.no_scan = when[0] == 'o';
            o->session.full_scan = when[0] == 'f';
            break;
        }
        case OPT_ONLY_CPU:
        case OPT_CPU:
            if (!cpu_request_add(&o->cpu, optarg))
                return usage_error("--cpu takes samples a second, 1 to 10000, 'wall', 'timer' or "
                                   "'perf', not '%s'",
                                   optarg);
            o->only_samples |= c == OPT_ONLY_CPU;
            break;
        case OPT_CPU_SIGNAL:
            if (!cpu_request_signal(&o->cpu, optarg))
                return usage_error("--cpu-signal takes the number of a real-time signal, 34 to 64, "
                                   "not '%s'",
                                   optarg);
            break;
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
        case OPT_SNAPSHOT_AT:
            if (!trigger_parse(optarg, vec_push(&o->triggers)))
                return usage_error("--snapshot-at takes rss=SIZE, live+N%%, peak or oom, not '%s'",
                                   optarg);
            break;
        case OPT_KEEP: {
            unsigned long keep = strtoul(optarg, &end, 10);
            if (!isdigit((unsigned char)*optarg) || *end || keep < 1 || keep > 1000000)
                return usage_error("--keep takes a number of snapshots, 1 or more, not '%s'",
                                   optarg);
            o->session.keep_snapshots = (unsigned)keep;
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
        case OPT_MERGE:
            if (!*optarg)
                return usage_error("--merge takes a file name, not ''%s", "");
            o->merge = optarg;
            break;
        case OPT_PUSH:
        case OPT_PUSH_LABEL:
        case OPT_PUSH_QUEUE:
        case OPT_PUSH_QUEUE_SIZE:
        case OPT_EVERY:
            if (take_push(&o->push, c, optarg, &err))
                return usage_error("%s", err.text);
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
    if (o->output_given && *o->session.output == '|' && (o->merge || run_push_is_on(&o->push)))
        return usage_error(o->merge ? "--merge needs a recording in a file; leave out -o '%s'"
                                    : "--push needs a recording in a file; leave out -o '%s'",
                           o->session.output);
    if (o->session.keep_snapshots && !o->triggers.count && !o->session.snapshot_every_ns)
        return usage_error("--keep is for --snapshot-every and --snapshot-at%s", "");
    if (optind >= argc && !o->session.all)
        return usage_error("no program given%s", "");
    if (o->session.all && o->cpu.wall)
        return usage_error("--all does not go with --cpu=wall%s", "");
    if (o->session.dormant && o->only_samples)
        return usage_error("--dormant needs the recorder in the program: it goes with none of "
                           "--only-cpu, --only-faults and --all%s",
                           "");
    if (o->session.sample_bytes && prepare_sample(o))
        return 2;
    const char *conflict = cpu_request_conflict(&o->cpu, o->only_samples);
    if (conflict)
        return usage_error("%s", conflict);
    o->cpu.asked |= o->session.all && !o->session.sampling.fault_period;
    static char *until_stopped[] = {"sleep", "infinity", NULL};
    o->session.launcher = optind >= argc;
    o->session.argv = optind >= argc ? until_stopped : argv + optind;
    o->session.defaults = o->defaults.items;
    o->session.default_count = o->defaults.count;
    o->session.only = o->only.size ? o->only.data : NULL;
    o->session.mark_on = o->mark_on.items;
    o->session.mark_on_count = o->mark_on.count;
    o->session.triggers = o->triggers.items;
    o->session.trigger_count = o->triggers.count;
    if (run_push_prepare(&o->push, &o->session, &err))
        return usage_error("%s", err.text);
    return 0;
}

/* Where a rank's own recording goes before it is merged: as a pattern. */
static char *pattern_of(const char *name)
{
    struct strbuf out = {0};
    for (; *name; name++)
        strbuf_puts(&out, *name == '%' ? "%%" : (char[]){*name, '\0'});
    return strbuf_detach(&out);
}

static int prepare_merge(struct run_options *o, struct run_merge *m, struct err *err)
{
    if (!o->merge)
        return 0;
    int code = run_merge_init(m, o->merge, err);
    if (!code && !o->output_given)
        o->session.output = pattern_of(m->running);
    return code;
}

/* What the ranks of a job leave, and what to do with it. */
static void finish_merge(const struct run_options *o, struct run_merge *m, const char *file)
{
    struct err err = {{0}};
    if (!file || run_merge_finish(m, file, &err))
        fprintf(stderr, "tidemark run: not merged into %s: %s\n", m->file,
                file ? err.text : "there is no recording");
    else if (!o->quiet && m->whole)
        fprintf(stderr,
                "tidemark: ranks are merged into %s as they end; next: tidemark report %s\n",
                m->file, m->file);
    else if (!o->quiet)
        fprintf(stderr,
                "tidemark: ranks are merged into %s and the like on each machine; next, with one "
                "process on each: mpirun --map-by ppr:1:node tidemark-mpi-merge %s\n",
                m->file, o->merge);
}

int cmd_run(int argc, char **argv)
{
    struct run_options o = {.session = {.output = "tidemark.%n.%p.tide", .interval_ns = 1000000}};
    static struct session_result result; /* never released: the process ends */
    struct err err;
    int extra;
    run_push_init(&o.push);
    argv = with_environment(&argc, argv, &extra);
    if (extra < 0)
        return usage_error("a quote in TIDEMARK_OPTIONS is not closed: %s",
                           getenv("TIDEMARK_OPTIONS"));
    int parsed = parse(argc, argv, &o);
    if (parsed)
        return parsed == 1 ? 0 : parsed;
    if (optind <= extra) /* it would be run in place of the program */
        return usage_error("'%s' in TIDEMARK_OPTIONS is no option", argv[optind]);
    struct rank rank = rank_of_environment();
    o.session.rank1 = rank.known ? rank.rank + 1 : 0;
    o.session.ranks = rank.ranks;
    o.quiet |= rank.known && rank.rank; /* one is enough to be told */
    struct run_merge merge = {0};
    if (prepare_merge(&o, &merge, &err)) {
        fprintf(stderr, "tidemark run: %s\n", err.text);
        return 125;
    }
    int settled = cpu_request_settle(&o.cpu, o.only_samples, &o.session, &err);
    if (*err.text && (settled || !o.quiet || o.session.sampling_refused))
        fprintf(stderr, "tidemark run: %s\n", err.text);
    if (settled)
        return 125;
    char *library = o.only_samples ? NULL : library_find(&err);
    if (!library && !o.only_samples) {
        fprintf(stderr, "tidemark run: %s\n", err.text);
        return 125;
    }
    struct run_progress progress = {.has_terminal = !o.session.launcher && isatty(STDOUT_FILENO)};
    o.session.library = library;
    o.session.in_place = counts_in_place() && !o.session.sample_bytes; /* by events */
    if (!o.quiet && isatty(STDERR_FILENO)) {
        o.session.progress = run_show_progress;
        o.session.context = &progress;
    }
    int code = session_run(&o.session, &result, &err);
    if (progress.shown)
        fputs("\r\033[K", stderr);
    if (code)
        fprintf(stderr, "tidemark run: %s\n", err.text);
    if (run_push_is_on(&o.push) && result.recording) /* before it is merged: then its file may go */
        run_push_last(&o.push, result.file, o.quiet);
    if (o.merge && result.recording)
        finish_merge(&o, &merge, result.file);
    else if (result.recording && !o.quiet)
        run_show_summary(&result, o.session.all);
    int status = result.status; /* the program's, also where its recording could not be written */
    strbuf_release(&o.only);
    vec_release(&o.mark_on);
    free(library);
    return status;
}
