#include "cli/run_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/parse_amount.h"
#include "cli/options.h"
#include "cli/record_options.h"
#include "model/pattern.h"
#include "model/suppress.h"
#include "wire/weights.h"

#define LEAST_EVERY_NS 1e8 /* the least of --snapshot-every and --every */

enum {
    OPT_ONLY = 256,
    OPT_NO_FOLLOW,
    OPT_PAUSED,
    OPT_DORMANT,
    OPT_NO_SCAN,
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
    OPT_MERGE,
    OPT_SAMPLE,
    OPT_PUSH,
    OPT_EVERY,
    OPT_PUSH_LABEL,
    OPT_PUSH_QUEUE,
    OPT_PUSH_QUEUE_SIZE,
    OPT_QUIET
};

static const struct option long_options[] = {
    RECORD_OPTIONS,
    {"only", required_argument, NULL, OPT_ONLY},
    {"no-follow", no_argument, NULL, OPT_NO_FOLLOW},
    {"paused", no_argument, NULL, OPT_PAUSED},
    {"dormant", no_argument, NULL, OPT_DORMANT},
    {"sample", optional_argument, NULL, OPT_SAMPLE},
    {"no-scan", no_argument, NULL, OPT_NO_SCAN},
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
    {"merge", required_argument, NULL, OPT_MERGE},
    {"quiet", no_argument, NULL, OPT_QUIET},
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
    "                     '|command' pipes the finished recording to a shell command ('-' is\n"
    "                     refused: stdout belongs to the program)\n"
    "      --only NAME    record only processes whose program name contains NAME (repeatable)\n"
    "      --no-follow    do not record children\n"
    "      --paused       start with recording off; tide_resume() or 'tidemark ctl PID resume'\n"
    "                     turn it on\n"
    "      --dormant      load the recorder, inactive until 'tidemark ctl PID start'; 'stop'\n"
    "                     makes it dormant again\n"
    "      --sample[=BYTES]\n"
    "                     for production: record one allocation per BYTES allocated (default\n"
    "                     512KiB), at random; reports then show estimates with intervals\n"
    "      --scan=WHEN    scan for leaks at the end: 'auto' (the default) if that takes less than\n"
    "                     5 % of the run or 200 ms, 'full' however long it takes, 'off' never:\n"
    "                     blocks are then not classified as lost or reachable\n"
    "      --no-scan      the same as --scan=off\n"
    "      --cpu[=HZ]     also sample CPU time, with stacks, HZ times in each second of CPU time "
    "of\n"
    "                     each thread (default 999; by timers 99)\n"
    "      --cpu=timer    sample CPU time by timers in the program, with Python frames; --cpu "
    "does\n"
    "                     this itself for Python programs, and where perf events are forbidden\n"
    "      --cpu=perf     sample CPU time by perf events; do not start if they are forbidden\n"
    "      --cpu-signal N the real-time signal that the timers send (34 to 64; default: the "
    "highest\n"
    "                     that the program does not use)\n"
    "      --cpu=wall     also record time off the processor: waiting, or ready to run\n"
    "      --faults[=N]   also record every page fault, or every N-th, with its stack\n"
    "      --only-cpu[=HZ|wall], --only-faults[=N]\n"
    "                     sample only CPU time or page faults, not the heap; nothing is "
    "preloaded,\n"
    "                     so static programs work too\n"
    "      --all          sample all processes of this user (as root: of all users) until PROGRAM\n"
    "                     ends, or without PROGRAM until Ctrl-C; nothing is preloaded; with\n"
    "                     --only NAME only programs of that name\n"
    "      --mark-on FUNCTION\n"
    "                     make a mark at each entry of FUNCTION (repeatable): 'main', "
    "'_ZN1A1fEv',\n"
    "                     'Processor::event'; FUNCTION#50 is then a moment for reports\n"
    "      --plant-leak SIZE\n"
    "                     leak SIZE touched bytes at every mark of the program, to check the\n"
    "                     measurement: 'tidemark growth' must find this leak\n"
    "      --within REGEX, --ignore REGEX, --suppressions FILE\n"
    "                     defaults for all reports on this recording (repeatable): show only\n"
    "                     stacks with a matching function, leave them out, or leave out what a\n"
    "                     suppression file of LeakSanitizer or valgrind lists\n"
    "      --snapshot-every DURATION\n"
    "                     write the recording so far to a file of its own every 30s, 10m, 1h\n"
    "      --snapshot-at rss=SIZE|live+N%|peak|oom\n"
    "                     write such a file when a process's resident memory reaches SIZE, when\n"
    "                     the live heap is N % above that of the last snapshot, when it is 10 %\n"
    "                     above every earlier snapshot, or when memory is nearly used up "
    "(repeatable)\n"
    "      --keep N       keep only the N newest of these snapshots\n"
    "      --push URL     send what is live to Pyroscope at intervals and at the end, see\n"
    "                     tidemark-push(1)\n"
    "      --every DURATION, --push-label KEY=VALUE\n"
    "                     how often --push sends (default: 60s); a label of what it sends\n"
    "                     (repeatable)\n"
    "      --push-queue DIR, --push-queue-size SIZE\n"
    "                     the folder for profiles that --push could not send (default:\n"
    "                     ~/.cache/tidemark-push; off: none), and its largest size (default: 64M)\n"
    "      --on-full=wait|drop\n"
    "                     when a thread's buffer of marks and mappings is full: let it wait\n"
    "                     (default), or drop records and count them\n"
    "      --interval MS  length of the first intervals of the recording (default 1; 10 with\n"
    "                     --sample); intervals get longer as the run gets longer\n"
    "      --python=auto|off|objects\n"
    "                     auto (default): stacks have the frames of Python 3.8 to 3.15; off: only\n"
    "                     native frames; objects: as auto, and every Python object is a block\n"
    "      --merge FILE   in a parallel job (mpirun, srun): merge the recordings of the ranks "
    "into\n"
    "                     FILE as they end, or into one file per machine, see tidemark-merge(1);\n"
    "                     with -o the recordings of the ranks are kept\n"
    "      --quiet        no progress line, no summary (only rank 0 of a job prints them)\n"
    "      --help         this text\n"
    "\n"
    "TIDEMARK_OPTIONS in the environment holds further options, read before the command line.\n"
    "\n"
    "Examples:\n"
    "\n"
    "  tidemark run ./simulation --events 100\n"
    "  tidemark run python3 script.py\n"
    "  tidemark run --mark-on Processor::event ./simulation\n"
    "  tidemark run -o '/tmp/%n.%p.tide' --only cmsRun -- ./job.sh\n"
    "  tidemark run -o '|gzip > app.tide.gz' ./app\n"
    "  mpirun -n 64 tidemark run --merge job.tide ./solver\n";

static int add_pattern(struct run_options *o, enum default_kind kind, const char *text,
                       struct err *err)
{
    const char *option = kind == DEFAULT_WITHIN ? "--within" : "--ignore";
    struct pattern_list list = {0};
    int code = pattern_list_add(&list, text, option, err);
    pattern_list_release(&list);
    if (!code && !pattern_is_harmless(text))
        code =
            err_set(err, -EINVAL, "%s '%s' is too long, refers back or repeats too much to be kept",
                    option, text);
    if (code)
        return code;
    *vec_push(&o->defaults) = (struct recorded_default){kind, xstrdup(""), xstrdup(text)};
    return 0;
}

/* Reads the file now, so that errors in it are reported before the program starts. */
static int add_suppressions(struct run_options *o, const char *path, struct err *err)
{
    struct suppressions list = {0};
    struct strbuf text = {0};
    strbuf_puts(&text, "");
    int code = suppressions_read(&list, path, &text, err);
    suppressions_release(&list);
    if (code) {
        strbuf_release(&text);
        return code;
    }
    *vec_push(&o->defaults) =
        (struct recorded_default){DEFAULT_SUPPRESSIONS, xstrdup(path), strbuf_detach(&text)};
    return 0;
}

/* Checks what --sample cannot be combined with, and chooses the seed. */
static int prepare_sample(struct run_options *o, struct err *err)
{
    const char *seed = getenv("TIDEMARK_SAMPLE_SEED"); /* for tests: choose the same blocks again */
    struct timespec now;
    if (o->session.python_objects || o->session.sampling.fault_period ||
        o->session.plant_leak_bytes || o->session.full_scan)
        return err_set(err, -EINVAL,
                       "%s needs every allocation: it cannot be combined with --sample",
                       o->session.python_objects     ? "--python=objects"
                       : o->session.plant_leak_bytes ? "--plant-leak"
                       : o->session.full_scan        ? "--scan=full"
                                                     : "--faults");
    clock_gettime(CLOCK_REALTIME, &now);
    o->session.sample_seed =
        seed ? strtoull(seed, NULL, 10)
             : ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec) * 1000003 + (uint64_t)getpid();
    o->session.no_scan = true; /* a pointer to a block may be in a block that is not recorded */
    return 0;
}

static int take_sample(struct run_options *o, const char *value, struct err *err)
{
    int64_t bytes = (int64_t)512 << 10;
    if (value && (!amount_parse(value, &bytes) || bytes < SAMPLE_BYTES_LEAST ||
                  bytes > (int64_t)WIRE_PERIOD_MOST))
        return err_set(err, -EINVAL,
                       "--sample takes a size from 64 B to 1 GiB, such as 512KiB, not '%s'", value);
    o->session.sample_bytes = (uint64_t)bytes;
    return 0;
}

static int take_mark_on(struct run_options *o, const char *value, struct err *err)
{
    if (!*value || (value[strlen(value) - 1] == ')' && !strstr(value, "operator")))
        return err_set(err, -EINVAL,
                       "--mark-on takes the name of a function, without parameters, not '%s'",
                       value);
    *vec_push(&o->mark_on) = value;
    return 0;
}

static int take_plant_leak(struct run_options *o, const char *value, struct err *err)
{
    int64_t bytes;
    if (!amount_parse(value, &bytes) || bytes < 1)
        return err_set(err, -EINVAL, "--plant-leak takes a size such as 10MiB, not '%s'", value);
    o->session.plant_leak_bytes = (uint64_t)bytes;
    return 0;
}

static int take_every(uint64_t *out_ns, const char *option, const char *value, struct err *err)
{
    double ns;
    if (!duration_parse(value, &ns) || ns < LEAST_EVERY_NS)
        return err_set(err, -EINVAL,
                       "%s takes a duration such as 30s or 10m, 0.1s or more, not '%s'", option,
                       value);
    *out_ns = (uint64_t)ns;
    return 0;
}

/* Takes one option with its value. Returns 0, or -EINVAL and a sentence. */
static int take(void *context, int option, char *value, struct err *err)
{
    struct run_options *o = context;
    uint64_t n = 0;
    int code;
    switch (option) {
    case OPT_ONLY:
        if (!*value)
            return err_set(err, -EINVAL, "--only takes the name of a program, not ''");
        strbuf_printf(&o->only, "%s%s", o->only.size ? "\n" : "", value);
        return 0;
    case OPT_NO_FOLLOW:
        o->session.no_follow = true;
        return 0;
    case OPT_PAUSED:
        o->session.paused = true;
        return 0;
    case OPT_DORMANT:
        o->session.dormant = true;
        return 0;
    case OPT_SAMPLE:
        return take_sample(o, value, err);
    case OPT_NO_SCAN:
        return record_option_take(&o->session, OPT_SCAN, "off", err);
    case OPT_ONLY_CPU:
    case OPT_CPU:
        o->only_samples |= option == OPT_ONLY_CPU;
        return cpu_request_add(&o->cpu, value)
                   ? 0
                   : err_set(err, -EINVAL,
                             "--cpu takes samples per second, 1 to 10000, 'wall', 'timer' or "
                             "'perf', not '%s'",
                             value);
    case OPT_CPU_SIGNAL:
        return cpu_request_signal(&o->cpu, value)
                   ? 0
                   : err_set(err, -EINVAL,
                             "--cpu-signal takes the number of a real-time signal, 34 to 64, not "
                             "'%s'",
                             value);
    case OPT_ONLY_FAULTS:
    case OPT_FAULTS:
        o->only_samples |= option == OPT_ONLY_FAULTS;
        o->session.sampling.fault_period = 1;
        return value ? options_number("--faults", value, 1, FAULT_PERIOD_MOST,
                                      &o->session.sampling.fault_period, err)
                     : 0;
    case OPT_ALL:
        o->session.all = o->only_samples = true;
        return 0;
    case OPT_MARK_ON:
        return take_mark_on(o, value, err);
    case OPT_PLANT_LEAK:
        return take_plant_leak(o, value, err);
    case OPT_WITHIN:
        return add_pattern(o, DEFAULT_WITHIN, value, err);
    case OPT_IGNORE:
        return add_pattern(o, DEFAULT_IGNORE, value, err);
    case OPT_SUPPRESSIONS:
        return add_suppressions(o, value, err);
    case OPT_SNAPSHOT_EVERY:
        return take_every(&o->session.snapshot_every_ns, "--snapshot-every", value, err);
    case OPT_SNAPSHOT_AT:
        return trigger_parse(value, vec_push(&o->triggers))
                   ? 0
                   : err_set(err, -EINVAL,
                             "--snapshot-at takes rss=SIZE, live+N%%, peak or oom, not '%s'",
                             value);
    case OPT_KEEP:
        code = options_number("--keep", value, 1, 1000000, &n, err);
        o->session.keep_snapshots = (unsigned)n;
        return code;
    case OPT_MERGE:
        o->merge = value;
        return *value ? 0 : err_set(err, -EINVAL, "--merge takes a file name, not ''");
    case OPT_PUSH:
        return run_push_url(&o->push, value, err);
    case OPT_PUSH_LABEL:
        return run_push_label(&o->push, value, err);
    case OPT_PUSH_QUEUE:
        return run_push_queue(&o->push, value, err);
    case OPT_PUSH_QUEUE_SIZE:
        return run_push_queue_size(&o->push, value, err);
    case OPT_EVERY:
        return take_every(&o->push.every_ns, "--every", value, err);
    case OPT_QUIET:
        o->quiet = true;
        return 0;
    default:
        o->output_given |= option == OPT_OUTPUT;
        return record_option_take(&o->session, option, value, err);
    }
}

/* The option that only the recorder in the program could follow; NULL: none was given. */
static const char *recorder_option(const struct run_options *o)
{
    for (size_t i = 0; i < o->triggers.count; i++) {
        enum trigger_kind kind = o->triggers.items[i].kind;
        if (kind == TRIGGER_LIVE || kind == TRIGGER_PEAK)
            return kind == TRIGGER_LIVE ? "--snapshot-at live+N%" : "--snapshot-at peak";
    }
    return o->session.dormant            ? "--dormant"
           : o->session.sample_bytes     ? "--sample"
           : o->session.python_objects   ? "--python=objects"
           : o->session.plant_leak_bytes ? "--plant-leak"
           : o->mark_on.count            ? "--mark-on"
                                         : NULL;
}

/* Checks options that exclude or need each other. */
static int check(struct run_options *o, bool has_program, struct err *err)
{
    bool snapshots = o->triggers.count || o->session.snapshot_every_ns;
    if (o->output_given && *o->session.output == '|' && (o->merge || run_push_is_on(&o->push)))
        return err_set(err, -EINVAL, "%s needs a recording in a file; leave out -o '%s'",
                       o->merge ? "--merge" : "--push", o->session.output);
    int code = run_push_check(&o->push, snapshots, err);
    if (code)
        return code;
    if (o->session.keep_snapshots && !snapshots)
        return err_set(err, -EINVAL, "--keep is for --snapshot-every and --snapshot-at");
    if (!has_program && !o->session.all)
        return err_set(err, -EINVAL, "no program given: tidemark run [OPTIONS] [--] PROGRAM");
    if (o->session.all && o->cpu.wall)
        return err_set(err, -EINVAL, "--all cannot be combined with --cpu=wall");
    const char *needs = o->only_samples ? recorder_option(o) : NULL;
    if (needs)
        return err_set(err, -EINVAL,
                       "%s needs the recorder in the program: it cannot be combined with "
                       "--only-cpu, --only-faults or --all",
                       needs);
    if (o->session.sample_bytes && prepare_sample(o, err))
        return -EINVAL;
    const char *conflict = cpu_request_conflict(&o->cpu, o->only_samples);
    return conflict ? err_set(err, -EINVAL, "%s", conflict) : 0;
}

/* Passes the lists on to the session. `program` is empty if there is none. */
static void finish(struct run_options *o, char **program)
{
    static char *until_stopped[] = {"sleep", "infinity", NULL};
    o->cpu.asked |= o->session.all && !o->session.sampling.fault_period;
    if (!o->session.interval_ns)
        o->session.interval_ns = o->session.sample_bytes ? SAMPLE_INTERVAL_NS : RECORD_INTERVAL_NS;
    o->session.launcher = !*program;
    o->session.argv = *program ? program : until_stopped;
    o->session.defaults = o->defaults.items;
    o->session.default_count = o->defaults.count;
    o->session.only = o->only.size ? o->only.data : NULL;
    o->session.mark_on = o->mark_on.items;
    o->session.mark_on_count = o->mark_on.count;
    o->session.triggers = o->triggers.items;
    o->session.trigger_count = o->triggers.count;
    run_push_prepare(&o->push, &o->session);
}

/* The next word of *rest, divided and unquoted as by a shell, in place. NULL: no more words, or an
 * unclosed quote, at which *rest is left. */
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

/* Takes the words of TIDEMARK_OPTIONS, which are options and nothing else: a value that is missing
 * is not looked for on the command line, and a word that is no option would be run instead of the
 * program. */
static int take_environment(const struct options *options, char *name, struct run_options *o,
                            struct err *err)
{
    const char *given = getenv("TIDEMARK_OPTIONS");
    static VEC(char *) words; /* never released: the process ends */
    *vec_push(&words) = name;
    char *rest = given ? xstrdup(given) : NULL;
    for (char *word; rest && (word = next_word(&rest));)
        *vec_push(&words) = word;
    if (rest && rest[strspn(rest, " \t\n")])
        return err_set(err, -EINVAL, "a quote in TIDEMARK_OPTIONS is not closed: %s", given);
    int count = (int)words.count;
    *vec_push(&words) = NULL;
    int code = options_parse(options, count, words.items, o, err);
    if (code < 0) { /* nobody typed it */
        struct err why = *err;
        return err_set(err, code, "in TIDEMARK_OPTIONS: %s", why.text);
    }
    bool dashes = count > 1 && strcmp(words.items[count - 1], "--") == 0;
    int left = dashes && optind == count ? count - 1 : optind;
    if (!code && left < count)
        return err_set(err, -EINVAL, "'%s' in TIDEMARK_OPTIONS is no option", words.items[left]);
    return code;
}

int run_options_parse(struct run_options *o, int argc, char **argv, struct err *err)
{
    static const struct options options = {
        .command = "run", .help = help, .letters = "+:o:h", .table = long_options, .take = take};
    *o = (struct run_options){.session = {.output = RECORD_OUTPUT}};
    run_push_init(&o->push);
    int code = take_environment(&options, argv[0], o, err);
    if (!code)
        code = options_parse(&options, argc, argv, o, err);
    if (!code)
        code = check(o, optind < argc, err);
    if (!code)
        finish(o, argv + optind);
    return code;
}

void run_options_release(struct run_options *o)
{
    strbuf_release(&o->only);
    vec_release(&o->mark_on);
    vec_release(&o->triggers);
    vec_release(&o->defaults);
}
