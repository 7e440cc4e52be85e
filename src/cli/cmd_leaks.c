/* tidemark leaks FILE: what was never freed, and whether anything still points to it. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse_amount.h"
#include "base/say.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "model/combined_profile.h"
#include "model/not_recorded.h"
#include "answer/leaks.h"

#define TEXT_ENTRIES 10
#define EXIT_LOST    3

enum { OPT_ALL = QUERY_EXTRA, OPT_KIND, OPT_OLDER, OPT_FREED, OPT_FAIL };

enum fail_on { FAIL_NEVER, FAIL_LOST, FAIL_ALL };

struct wanted {
    unsigned kinds; /* 0: not given */
    uint64_t older_ns;
    bool freed;
    enum fail_on fail;
};

static void print_help(void)
{
    puts("usage: tidemark leaks FILE [OPTIONS]\n"
         "\n"
         "Shows what was allocated and never freed, and whether anything still points to it: lost\n"
         "(nothing does), indirect (only lost blocks do), reachable (a variable, a stack or a\n"
         "reachable block does). Blocks with the same stack are one entry.\n"
         "\n"
         "Which blocks:\n"
         "  --all            also list reachable blocks (text only counts them)\n"
         "  --kind KINDS     list only some kinds: lost,indirect,reachable,unclassified\n"
         "  --older DURATION only blocks allocated at least this long before the scan (500ms, 5m)\n"
         "  --since WHEN     only blocks allocated after a mark or a time: event#50, 12.5s, 50%\n"
         "  --at WHEN        end (default), exit (before destructors ran), leaks#N (the N-th scan\n"
         "                   on request), or a mark at which there was a scan\n"
         "  --freed-at-exit  also list what destructors and exit handlers freed\n"
         "  --process PID    another process of the recording (PID#N: its N-th program), or all\n"
         "\n"
         "Which stacks:\n" QUERY_PRESETS_FOCUS_HELP
         "  --thread NAME    only what this thread allocated\n"
         "  --python-only, --native-only   list only Python, or only native, frames\n"
         "\n"
         "How it is shown:\n"
         "  --fail[=lost|all]  exit with 3 if anything is lost or indirect; with all, also\n"
         "                   if unclassified. All processes count unless --process is given\n"
         "  --top N          at most N entries, 0: all (text: 10, otherwise all)\n"
         "  --min PERCENT    only entries with at least this share of what is listed\n"
         "  --json, --csv    exact numbers for scripts, all kinds, largest first\n"
         "  --help           this text\n"
         "\n"
         "Examples:\n"
         "  tidemark leaks app.tide                       what was lost, largest first\n"
         "  tidemark leaks app.tide --fail --ignore Cache  in a test: exit status 3 on a leak\n"
         "  tidemark leaks app.tide --since event#50      what events from the 51st on left\n"
         "  tidemark leaks app.tide --kind reachable --older 1m");
}

static int take_older(struct wanted *w, const char *text, struct err *err)
{
    double ns;
    if (!duration_parse(text, &ns) || ns >= 1e19)
        return err_set(err, -EINVAL, "--older '%s' is not a duration such as 10s, 500ms or 5m",
                       text);
    w->older_ns = (uint64_t)ns;
    return 0;
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    switch (val) {
    case OPT_ALL:
        w->kinds = LEAKS_ALL;
        return 0;
    case OPT_KIND:
        return leak_kinds_parse(argument, &w->kinds, err);
    case OPT_OLDER:
        return take_older(w, argument, err);
    case OPT_FREED:
        w->freed = true;
        return 0;
    default:
        if (argument && strcmp(argument, "lost") != 0 && strcmp(argument, "all") != 0)
            return err_set(err, -EINVAL, "--fail '%s' is not known; it is one of lost, all",
                           argument);
        w->fail = argument && *argument == 'a' ? FAIL_ALL : FAIL_LOST;
        return 0;
    }
}

static int print_leaks(const struct leaks *l, const struct query_options *o)
{
    struct strbuf out = {0};
    if (o->output == OUTPUT_JSON) {
        leaks_json(l, &command_sink, &out);
    } else if (o->output == OUTPUT_CSV) {
        leaks_csv(l, &command_sink, &out);
    } else {
        struct style style = style_of_stdout();
        leaks_text(l, o->files.items[0], &style, &out);
    }
    return command_print("leaks", &out);
}

/* --- --fail ----------------------------------------------------------------------------------- */

/* Does it count for --fail? Says so on stderr, because people read a test's log. */
static bool judge(const struct leaks *l, enum fail_on fail)
{
    const struct leak_sum *s = l->sums;
    bool all = fail == FAIL_ALL;
    uint64_t blocks =
        s[REACH_LOST].blocks + s[REACH_INDIRECT].blocks + (all ? s[REACH_UNKNOWN].blocks : 0);
    uint64_t bytes =
        s[REACH_LOST].bytes + s[REACH_INDIRECT].bytes + (all ? s[REACH_UNKNOWN].bytes : 0);
    struct strbuf text = {0};
    if (blocks)
        say(&text, "tidemark leaks: process %d %r %B in %N block(s)\n", l->profile->pid,
            all ? "did not free" : "lost", bytes, blocks);
    else if (l->may_match.blocks)
        say(&text,
            "tidemark leaks: process %d lost %B in %N block(s) whose stacks were cut off: they may "
            "match\n",
            l->profile->pid, l->may_match.bytes, l->may_match.blocks);
    bool failed = text.size > 0;
    if (failed)
        fputs(text.data, stderr);
    strbuf_release(&text);
    return failed;
}

/* The exit status of --fail: for one process if the question names it, otherwise for all of
 * them. */
static int judge_all(const struct leaks *l, enum fail_on fail)
{
    bool failed = judge(l, fail);
    size_t unknown = l->sums[REACH_UNKNOWN].blocks != 0;
    const char *why = l->scan->unreachable;
    for (size_t i = 0; i < l->recording->profiles.count && !l->question->query.process; i++) {
        const struct profile *p = &l->recording->profiles.items[i];
        struct leaks_question q = *l->question;
        struct leaks other;
        if (p == l->profile || p->execed)
            continue;
        char *process = answer_process_word(l->recording, p);
        q.query.process = process;
        q.query.top = 0;
        if (leaks_find(&other, l->recording, &q, NULL) == 0) {
            failed |= judge(&other, fail);
            unknown += other.sums[REACH_UNKNOWN].blocks != 0;
            why = why ? why : other.scan->unreachable;
            leaks_release(&other);
        }
        free(process);
    }
    if (fail == FAIL_LOST && unknown) {
        struct strbuf text = {0};
        say(&text,
            "tidemark leaks: whether %N process(es) lost anything is not known (%r); --fail=all "
            "counts what is unclassified\n",
            unknown, why ? why : "there was no leak scan");
        fputs(text.data, stderr);
        strbuf_release(&text);
    }
    if (not_recorded(l->profile, &(size_t){0}) == RECORDED_NOTHING) {
        fprintf(stderr,
                "tidemark leaks: process %u was not recorded, so what it lost is not known\n",
                l->profile->pid);
        failed |= fail == FAIL_ALL;
    }
    return failed ? EXIT_LOST : 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static struct leaks_question question_of(const struct query_options *o, const struct wanted *w)
{
    bool text = o->output == OUTPUT_TEXT;
    struct leaks_question q = {
        .query = o->query, .older_ns = w->older_ns, .freed = w->freed, .by_size = !text};
    /* Text is for a screen, so it shows what matters; data is complete. */
    q.kinds = w->kinds ? w->kinds : text ? LEAKS_NOT_FREED : LEAKS_ALL;
    q.whole = text && (!w->kinds || w->kinds == LEAKS_ALL);
    return q;
}

/* Without --process, the text is about all processes together if others lost something too. */
static int print_text(const struct leaks *l, const struct query_options *o,
                      struct recording *recording)
{
    const struct query *asked = &l->question->query;
    struct leaks all;
    struct leaks_question q = *l->question;
    q.query.process = COMBINED_PROFILE_WORD;
    if (o->output != OUTPUT_TEXT || asked->process || asked->at || asked->since ||
        !leaks_of_others(l, 0).processes || combined_profile_make(recording, NULL) ||
        leaks_find(&all, recording, &q, NULL))
        return print_leaks(l, o);
    int status = print_leaks(&all, o);
    leaks_release(&all);
    return status;
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    const struct wanted *w = o->command->context;
    struct leaks leaks;
    const struct leaks_question q = question_of(o, w);
    int code = leaks_find(&leaks, r, &q, err);
    if (code)
        return code;
    int status = print_text(&leaks, o, r);
    if (w->fail && !status)
        status = judge_all(&leaks, w->fail);
    leaks_release(&leaks);
    return status;
}

int cmd_leaks(int argc, char **argv)
{
    static const struct option extra[] = {
        {"all", no_argument, NULL, OPT_ALL},
        {"kind", required_argument, NULL, OPT_KIND},
        {"older", required_argument, NULL, OPT_OLDER},
        {"freed-at-exit", no_argument, NULL, OPT_FREED},
        {"fail", optional_argument, NULL, OPT_FAIL},
        {0},
    };
    static const char *const common[] = {
        "at",          "since",       "top",         "min",  "within",  "ignore", "suppressions",
        "presets",     "no-presets",  "no-defaults", "fold", "no-fold", "merge",  "thread",
        "python-only", "native-only", "process",     "json", "csv",     "help",   NULL};
    struct wanted wanted = {0};
    const struct query_command command = {.name = "leaks",
                                          .help = print_help,
                                          .files = 1,
                                          .text_rows = TEXT_ENTRIES,
                                          .presets = true,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &wanted};
    return command_ask(argc, argv, &command, ask);
}
