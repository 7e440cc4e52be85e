/*
 * chrome: the trace events of Chrome's about:tracing and of Perfetto (ui.perfetto.dev). It holds
 * the live bytes of every process and thread over time, resident memory, marks, and when threads
 * ran. It loses stacks. Times count from the start of the recording's first process.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/threads.h"
#include "base/json.h"
#include "base/say.h"
#include "export/export.h"
#include "model/combined_profile.h"
#include "model/mark_rows.h"

struct chrome {
    struct export *e;
    struct json j;
    const struct profile *profile;
    uint64_t offset_ns; /* of the process's start */
};

/* Opens an event; the caller adds `args` and closes it. */
static void event(struct chrome *c, const char *kind, const char *name, uint64_t time_ns,
                  uint32_t tid)
{
    json_object(&c->j, NULL);
    json_string(&c->j, "ph", kind);
    json_string(&c->j, "name", name);
    json_double(&c->j, "ts", (double)(c->offset_ns + time_ns) / 1000);
    json_u64(&c->j, "pid", c->profile->pid);
    json_u64(&c->j, "tid", tid);
}

static void event_end(struct chrome *c)
{
    json_end(&c->j);
    report_flush(c->e->sink, c->e->out);
}

static void put_name(struct chrome *c, const char *what, uint32_t tid, const char *name)
{
    event(c, "M", what, 0, tid);
    json_object(&c->j, "args");
    json_string(&c->j, "name", name);
    json_end(&c->j);
    event_end(c);
}

static void put_counter(struct chrome *c, const char *name, uint64_t time_ns, const char *key,
                        int64_t value)
{
    event(c, "C", name, time_ns, c->profile->pid);
    json_object(&c->j, "args");
    json_i64(&c->j, key, value);
    json_end(&c->j);
    event_end(c);
}

static void put_threads(struct chrome *c, const struct threads *t)
{
    for (size_t i = 0; i < t->moments; i++)
        put_counter(c, "live heap", t->time_ns[i], "bytes", t->total[i]);
    for (size_t l = 0; l < t->lines.count; l++) {
        const struct timeline_line *line = &t->lines.items[l];
        uint64_t end = line->info->end_ns ? line->info->end_ns : c->profile->duration_ns;
        struct strbuf name = {0};
        put_name(c, "thread_name", line->info->tid, line->name);
        event(c, "X", line->name, line->info->start_ns, line->info->tid);
        json_double(&c->j, "dur",
                    end > line->info->start_ns ? (double)(end - line->info->start_ns) / 1000 : 0);
        json_object(&c->j, "args");
        json_i64(&c->j, "allocations", line->allocations);
        json_i64(&c->j, "allocated_bytes", line->allocated_bytes);
        json_i64(&c->j, "live_bytes", line->live_bytes);
        json_end(&c->j);
        event_end(c);
        strbuf_printf(&name, "live heap of %s", line->name);
        for (size_t i = 0; i < t->moments; i++)
            if (!i || line->live[i] != line->live[i - 1])
                put_counter(c, name.data, t->time_ns[i], "bytes", line->live[i]);
        strbuf_release(&name);
    }
}

static bool is_inside(const struct threads *t, uint64_t time_ns)
{
    bool whole = window_is_whole(t->profile, &t->window);
    return whole || (time_ns >= t->window.since.time_ns && time_ns <= t->window.at.time_ns);
}

static void put_stamps(struct chrome *c, const struct threads *t)
{
    const struct profile *p = c->profile;
    struct mark_rows marks;
    for (size_t i = 0; i < p->stamps.count; i++) {
        const struct stamp *s = &p->stamps.items[i];
        if (!is_inside(t, s->time_ns))
            continue;
        put_counter(c, "RSS", s->time_ns, "bytes", (int64_t)s->rss_bytes);
        put_counter(c, "page faults", s->time_ns, "faults",
                    (int64_t)(s->minor_faults + s->major_faults));
    }
    if (mark_rows_init(&marks, c->e->recording, p, NULL, false, NULL))
        return;
    for (size_t i = 0; i < marks.rows.count; i++) {
        const struct mark_row *r = &marks.rows.items[i];
        uint32_t thread = i < p->marks.count ? p->marks.items[i].thread : 0;
        if (!is_inside(t, r->stamp->time_ns))
            continue;
        event(c, "i", r->label, r->stamp->time_ns,
              thread < p->threads.count ? p->threads.items[thread].tid : p->pid);
        json_string(&c->j, "s", "p");
        json_object(&c->j, "args");
        json_u64(&c->j, "index", r->index);
        json_u64(&c->j, "live_bytes", r->stamp->live_bytes);
        json_u64(&c->j, "rss_bytes", r->stamp->rss_bytes);
        for (size_t v = r->first; v < r->first + r->count; v++)
            json_double(&c->j, strpool_get(&c->e->recording->strings, marks.values[v].key),
                        marks.values[v].value);
        json_end(&c->j);
        event_end(c);
    }
    mark_rows_release(&marks);
}

static int put_process(struct chrome *c, const struct query *q, struct err *err)
{
    struct threads threads;
    struct strbuf command = {0};
    int code = threads_init(&threads, c->e->recording, q, err);
    if (code)
        return code;
    profile_command(c->profile, &command);
    put_name(c, "process_name", c->profile->pid, command.data);
    put_threads(c, &threads);
    put_stamps(c, &threads);
    strbuf_release(&command);
    threads_release(&threads);
    return 0;
}

/* Writes every process, if none is selected. */
static int put_all(struct chrome *c, struct err *err)
{
    const struct recording *r = c->e->recording;
    size_t without = 0;
    for (size_t i = 0; i < r->profiles.count; i++) {
        struct query q = *c->e->query;
        struct err why;
        c->profile = &r->profiles.items[i];
        c->offset_ns = c->profile->start_unix_ns > r->profiles.items[0].start_unix_ns
                           ? c->profile->start_unix_ns - r->profiles.items[0].start_unix_ns
                           : 0;
        char *word = answer_process_word(r, c->profile);
        q.process = word;
        q.filter.lenient = true; /* another process may have such stacks */
        int code = put_process(c, &q, &why);
        free(word);
        if (code && r->profiles.count == 1)
            return err_set(err, code, "%s", why.text);
        without += code != 0;
    }
    if (without)
        say(c->e->notes,
            "tidemark export: chrome holds no lines of %N process(es) that have no heap\n",
            without);
    return 0;
}

int export_chrome(struct export *e, struct err *err)
{
    const char *process = e->query->process;
    struct chrome c = {.e = e};
    int code = 0;
    json_init(&c.j, e->out);
    json_object(&c.j, NULL);
    json_string(&c.j, "displayTimeUnit", "ms");
    json_array(&c.j, "traceEvents");
    if (!process || strcmp(process, COMBINED_PROFILE_WORD) == 0) {
        code = put_all(&c, err);
    } else {
        code = answer_process(e->recording, e->query, &c.profile, err);
        if (!code)
            code = put_process(&c, e->query, err);
    }
    json_end(&c.j);
    json_end(&c.j);
    strbuf_putc(e->out, '\n');
    return code;
}
