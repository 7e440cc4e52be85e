/*
 * The text of `perf script`: samples with their stacks, threads and times.
 *
 *     app  1234/1240  [003]  56.789012:   250000 cpu-clock:u:
 *             55d0c0ffee f+0x1f (/usr/bin/app)
 *             ...
 *                                              an empty line ends the sample
 *
 * CPU time is known of the events cpu-clock and task-clock, whose period is in ns; of others the
 * samples are counted. Files and lines are not in it, unless the user asked perf for them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "import/events.h"

#define THREADS_MAX 4096

struct sample {
    char *comm; /* in the line */
    uint64_t pid, tid, time_ns, period;
    bool is_time; /* the period is in ns */
};

struct reader {
    struct import *m;
    struct events events;
    struct map threads; /* tid -> thread */
    VEC(uint32_t) runs; /* frames of the current sample, innermost first */
    struct sample sample;
    uint32_t thread;
    bool open;    /* a sample has begun */
    bool counted; /* for some samples the time is not known */
    bool several; /* there are several processes */
    uint64_t first_ns;
    uint64_t samples;
};

/* Parses "56.789012:" to ns; false: something else. */
static bool parse_time(const char *word, uint64_t *ns)
{
    uint64_t seconds, part, digits = 1000000000;
    if (!import_number(&word, &seconds) || *word++ != '.' || seconds > 1000000000)
        return false;
    const char *begin = word;
    if (!import_number(&word, &part) || word - begin > 9 || strcmp(word, ":") != 0)
        return false;
    for (long i = word - begin; i > 0; i--)
        digits /= 10;
    *ns = seconds * 1000000000 + part * digits;
    return true;
}

/* Parses the first line of a sample, and cuts it into words. */
static bool parse_heading(char *line, struct sample *s)
{
    VEC(char *) words = {0};
    size_t time = 0;
    bool good = false;
    *s = (struct sample){.comm = line, .period = 1};
    for (char *rest = line, *word; (word = strsep(&rest, " \t"));)
        if (*word)
            *vec_push(&words) = word;
    for (size_t i = 1; i < words.count && !time; i++)
        if (parse_time(words.items[i], &s->time_ns))
            time = i;
    size_t id = time;
    if (time > 1 && words.items[time - 1][0] == '[') /* the processor */
        id--;
    if (id > 1) {
        const char *at = words.items[id - 1];
        good = import_number(&at, &s->pid);
        s->tid = s->pid;
        if (good && *at == '/')
            at++, good = import_number(&at, &s->tid);
        /* a single number is the thread's */
        else
            s->pid = 0;
        good = good && !*at;
        s->comm = words.items[0];
    }
    if (good && time + 1 < words.count) {
        const char *at = words.items[time + 1];
        uint64_t period;
        bool has_period = import_number(&at, &period) && !*at && time + 2 < words.count;
        const char *event = words.items[time + 1 + has_period];
        if (has_period)
            s->period = period;
        s->is_time =
            has_period && (!strncmp(event, "cpu-clock", 9) || !strncmp(event, "task-clock", 10));
    }
    vec_release(&words);
    return good;
}

bool perf_script_is(const char *bytes, size_t size)
{
    struct sample s;
    while (*bytes == '#' || *bytes == '\n') { /* perf's own header */
        const char *end = memchr(bytes, '\n', size);
        if (!end)
            return false;
        size -= (size_t)(end + 1 - bytes);
        bytes = end + 1;
    }
    char *line = xstrndup(bytes, strcspn(bytes, "\n"));
    bool is = parse_heading(line, &s);
    free(line);
    return is;
}

static uint32_t thread_of(struct reader *r, const struct sample *s)
{
    struct profile *p = r->m->profile;
    uint32_t *known = map_at(&r->threads, s->tid);
    if (*known == MAP_NONE) {
        bool full = p->threads.count >= THREADS_MAX;
        *known = full ? THREADS_MAX : (uint32_t)p->threads.count;
        if (p->threads.count <= THREADS_MAX)
            *vec_push(&p->threads) =
                (struct thread){.tid = full ? 0 : (uint32_t)s->tid,
                                .name = xstrdup(full ? "(other threads)" : s->comm),
                                .start_ns = s->time_ns - r->first_ns};
    }
    return *known;
}

static void end_sample(struct reader *r)
{
    if (!r->open)
        return;
    uint32_t node = 0;
    for (size_t i = r->runs.count; i-- > 0;)
        node = stacks_node(&r->m->stacks, node, r->runs.items[i]);
    if (!r->runs.count)
        node =
            stacks_node(&r->m->stacks, 0, stacks_frame(&r->m->stacks, &(struct imported_frame){0}));
    ledger_sample(&r->events.ledger, events_site(&r->events, node, r->thread, DOMAIN_CPU), 1,
                  r->sample.is_time ? r->sample.period : 1, COLUMNS);
    r->open = false;
    r->runs.count = 0;
    r->samples++;
}

static bool begin_sample(struct reader *r, char *line)
{
    struct sample s;
    struct profile *p = r->m->profile;
    end_sample(r);
    if (!parse_heading(line, &s))
        return false;
    if (!r->samples) {
        r->first_ns = s.time_ns;
        p->pid = (uint32_t)s.pid;
        import_command(r->m, s.comm);
    }
    r->several |= p->pid != (uint32_t)s.pid;
    r->counted |= !s.is_time;
    if (s.time_ns < r->first_ns)
        s.time_ns = r->first_ns;
    r->sample = s;
    r->thread = thread_of(r, &s);
    r->open = true;
    events_time(&r->events, s.time_ns - r->first_ns);
    return true;
}

/* "55d0c0ffee f+0x1f (/usr/bin/app)" */
static bool add_frame(struct reader *r, char *line)
{
    const char *at = line;
    uint64_t address;
    if (!r->open)
        return false;
    if (!import_hex(&at, &address) || (*at && *at != ' ')) /* a source line: srcline */
        return true;
    while (*at == ' ')
        at++;
    char *name = line + (at - line), *module = NULL, *open = strrchr(name, '(');
    size_t size = strlen(name);
    if (open && size && name[size - 1] == ')') {
        name[size - 1] = '\0';
        module = open + 1;
        while (open > name && open[-1] == ' ')
            open--;
        *open = '\0';
    }
    char *offset = strrchr(name, '+');
    if (offset && text_begins(offset, "+0x"))
        *offset = '\0';
    bool inlined = module && strcmp(module, "inlined") == 0;
    if (r->runs.count >= IMPORT_DEPTH)
        return false;
    uint32_t run = stacks_frame(
        &r->m->stacks,
        &(struct imported_frame){.function = name,
                                 .module = module && !inlined ? path_base(module) : NULL,
                                 .kind = inlined ? FRAME_INLINED : FRAME_NATIVE});
    *vec_push(&r->runs) = run;
    return true;
}

static bool take_line(struct reader *r, char *line)
{
    char *at = line + strspn(line, " \t");
    if (*at == '#')
        return true;
    if (!*at) {
        end_sample(r);
        return true;
    }
    return at == line || !r->open ? begin_sample(r, at) : add_frame(r, at);
}

/* While times were not known, each sample counted as one ns; if any time is unknown, all samples
 * do. */
static void finish(struct reader *r)
{
    struct profile *p = r->m->profile;
    end_sample(r);
    events_finish(&r->events);
    p->sampling = (struct sampling){.alone = true, .cpu_period_ns = 1};
    if (r->counted)
        p->imported.unknown |= UNKNOWN_CPU_TIME;
    else
        p->sampling.cpu_period_ns = r->sample.period;
    if (r->several || !p->pid)
        p->imported.unknown |= UNKNOWN_PROCESS;
    if (r->several)
        *vec_push(&p->notes) = xstrdup("the samples are of several processes: their threads are "
                                       "told apart, the processes are not");
}

int perf_script_import(struct import *m, struct err *err)
{
    struct reader r = {.m = m};
    char *line;
    int code;
    import_from(m,
                UNKNOWN_TOTALS | UNKNOWN_LIVE | UNKNOWN_PEAK | UNKNOWN_COUNTS | UNKNOWN_PEAK_TIME |
                    UNKNOWN_TEMPORARY | UNKNOWN_REALLOCATIONS | UNKNOWN_USABLE | UNKNOWN_OWN_PEAK |
                    UNKNOWN_LARGEST | UNKNOWN_LOSSES | UNKNOWN_MAPPED,
                "perf script");
    events_init(&r.events, m);
    while ((code = input_line(m->in, &line, err)) > 0) {
        if (!take_line(&r, line)) {
            code = import_bad_line(m, "this is no line of perf script's text", err);
            break;
        }
        if ((code = import_check(m, events_memory(&r.events) + r.runs.count * 4, err)))
            break;
    }
    if (!code && !r.samples && !r.open)
        code = err_set(err, -ENODATA, "%s has no samples", m->in->name);
    if (!code)
        finish(&r);
    events_release(&r.events);
    map_release(&r.threads);
    vec_release(&r.runs);
    return code;
}
