#include "import/memray_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/events.h"
#include "import/figures.h"

#define THREADS_MAX 4096

struct reader {
    struct import *m;
    struct events events;
    struct figures figures; /* for files that hold sums */
    VEC(uint32_t) runs;     /* of "F" */
    VEC(uint32_t) nodes;    /* of "K" */
    VEC(uint64_t) last;     /* by thread: address of its last allocation, if it did nothing since */
    char *version;
    uint64_t start_ms, end_ms;
    bool sums, singles, ended, mapped;
};

static bool next(const char **at, uint64_t *out)
{
    while (**at == ' ')
        ++*at;
    return import_number(at, out);
}

static bool next_address(const char **at, uint64_t *out)
{
    while (**at == ' ')
        ++*at;
    return import_hex(at, out);
}

static bool add_frame(struct reader *r, char *rest)
{
    const char *at = rest;
    uint64_t line;
    if (!next(&at, &line) || *at++ != ' ')
        return false;
    char *kind = strsep(&rest, "\t"), *function = strsep(&rest, "\t"), *file = rest;
    if (!kind || !function || !file)
        return false;
    uint32_t run = stacks_frame(
        &r->m->stacks, &(struct imported_frame){.function = function,
                                                .file = file,
                                                .line = line > UINT32_MAX ? 0 : (uint32_t)line,
                                                .kind = *at == 'p' ? FRAME_PYTHON : FRAME_NATIVE});
    *vec_push(&r->runs) = run;
    return true;
}

static bool add_stack(struct reader *r, const char *at)
{
    VEC(uint32_t) runs = {0};
    uint64_t number;
    uint32_t node = 0;
    bool good = true;
    while (good && next(&at, &number)) {
        good = number < r->runs.count && runs.count < IMPORT_DEPTH;
        if (good)
            *vec_push(&runs) = r->runs.items[number];
    }
    for (size_t i = runs.count; i-- > 0;)
        node = stacks_node(&r->m->stacks, node, runs.items[i]);
    vec_release(&runs);
    *vec_push(&r->nodes) = node;
    return good && !*at;
}

static bool add_thread(struct reader *r, const char *at)
{
    struct profile *p = r->m->profile;
    uint64_t number, tid;
    if (!next(&at, &number) || !next(&at, &tid) || number > p->threads.count ||
        number >= THREADS_MAX || (*at && *at++ != ' '))
        return false;
    if (number == p->threads.count) {
        *vec_push(&p->threads) = (struct thread){.tid = (uint32_t)tid, .name = xstrdup(at)};
        *vec_push(&r->last) = 0;
    } else if (*at) {
        free(p->threads.items[number].name);
        p->threads.items[number].name = xstrdup(at);
    }
    return true;
}

static bool site_of(struct reader *r, const char **at, uint32_t *site, uint64_t *thread)
{
    uint64_t stack;
    if (!next(at, thread) || !next(at, &stack) || *thread >= r->m->profile->threads.count ||
        stack >= r->nodes.count)
        return false;
    uint32_t node = r->nodes.items[stack];
    *site = r->sums ? figures_site(&r->figures, node, (uint32_t)*thread, DOMAIN_HEAP)
                    : events_site(&r->events, node, (uint32_t)*thread, DOMAIN_HEAP);
    return true;
}

static bool allocation(struct reader *r, const char *at)
{
    uint64_t address, size, thread;
    uint32_t site;
    struct block old;
    r->singles = true;
    if (!next_address(&at, &address) || !next(&at, &size) || !site_of(r, &at, &site, &thread))
        return false;
    if (blocks_put(&r->events.blocks,
                   &(struct block){.address = address, .size = size, .usable = size, .site = site},
                   &old))
        events_free(&r->events, old.site, old.size, false); /* its free was not recorded */
    events_alloc(&r->events, site, size);
    r->last.items[thread] = address;
    return true;
}

static bool freed(struct reader *r, const char *at)
{
    uint64_t address, thread;
    struct block b;
    if (!next_address(&at, &address) || !next(&at, &thread) || thread >= r->last.count)
        return false;
    if (!blocks_take(&r->events.blocks, address, &b)) {
        r->events.ledger.unknown_frees++;
        return true;
    }
    bool temporary = address && r->last.items[thread] == address;
    r->last.items[thread] = 0;
    events_free(&r->events, b.site, b.size, temporary);
    return true;
}

static bool unmapped(struct reader *r, const char *at)
{
    uint64_t address, size;
    struct block b;
    if (!next_address(&at, &address) || !next(&at, &size))
        return false;
    if (!blocks_take(&r->events.blocks, address, &b))
        return true;
    if (size >= b.size) {
        events_free(&r->events, b.site, b.size, false);
    } else { /* keeps its end */
        ledger_shrink(&r->events.ledger, b.site, size);
        b.address += size;
        b.size -= size;
        b.usable = b.size;
        if (blocks_put(&r->events.blocks, &b, &b))
            events_free(&r->events, b.site, b.size, false);
    }
    return true;
}

/* A record of a file that holds sums. */
static bool sum(struct reader *r, const char *at, bool peak)
{
    struct figure v = {0};
    uint64_t size, count, thread;
    uint32_t site;
    r->sums = true;
    while (*at == ' ')
        at++;
    r->mapped |= *at == 'm';
    if (!*at++ || !next(&at, &size) || !next(&at, &count) || !site_of(r, &at, &site, &thread))
        return false;
    if (peak) {
        v.peak_bytes = size;
        v.peak_blocks = count;
        r->m->profile->peak_bytes += size;
        r->m->profile->peak_blocks += count;
    } else {
        v.bytes = v.live_bytes = size;
        v.blocks = v.live_blocks = count;
    }
    figures_add(&r->figures, site, &v);
    return true;
}

static bool stamp(struct reader *r, const char *at)
{
    uint64_t time, rss, heap;
    if (!next(&at, &time) || !next(&at, &rss) || !next(&at, &heap))
        return false;
    uint64_t ms = time > r->start_ms ? time - r->start_ms : 0;
    if (ms > UINT64_MAX / 1000000)
        return false;
    if (ms * 1000000 > r->events.now_ns)
        r->events.now_ns = ms * 1000000; /* allocations have no times: no interval ends here */
    events_stamp(&r->events, rss);
    vec_last(&r->m->profile->stamps)->live_bytes = heap;
    return true;
}

static bool times(struct reader *r, const char *at)
{
    return next(&at, &r->start_ms) && next(&at, &r->end_ms) && r->start_ms < UINT64_MAX / 1000000 &&
           r->end_ms < UINT64_MAX / 1000000;
}

static bool take_line(struct reader *r, char *line)
{
    const char *at = line[0] ? line + 1 : line;
    uint64_t number;
    bool mixed = (r->sums && (line[0] == '+' || line[0] == 'm')) ||
                 (r->singles && (line[0] == 'H' || line[0] == 'L'));
    if (mixed)
        return false;
    switch (line[0]) {
    case 'v':
        free(r->version);
        r->version = xstrdup(at + (*at == ' '));
        return true;
    case 'P':
        if (!next(&at, &number))
            return false;
        r->m->profile->pid = (uint32_t)number;
        return true;
    case 'X':
        if (!r->m->profile->command.count)
            import_command(r->m, at);
        return true;
    case 'T':
        return times(r, at);
    case 'R':
        return stamp(r, at);
    case 'F':
        return add_frame(r, line + 1);
    case 'K':
        return add_stack(r, at);
    case 'N':
        return add_thread(r, at);
    case '+':
        return allocation(r, at);
    case 'm': /* memray counts mappings like blocks, so its peak includes them */
        r->mapped = true;
        return allocation(r, at);
    case '-':
        return freed(r, at);
    case 'u':
        return unmapped(r, at);
    case 'H':
    case 'L':
        return sum(r, at, line[0] == 'H');
    case 'E':
        r->ended = true;
        return true;
    default:
        return false;
    }
}

static void finish(struct reader *r)
{
    struct profile *p = r->m->profile;
    uint32_t unknown = UNKNOWN_REALLOCATIONS | UNKNOWN_USABLE | UNKNOWN_LOSSES | UNKNOWN_HISTORY |
                       UNKNOWN_PEAK_TIME | UNKNOWN_MAPPED;
    uint64_t duration =
        r->end_ms > r->start_ms ? (r->end_ms - r->start_ms) * 1000000 : r->events.now_ns;
    if (r->sums)
        unknown |= UNKNOWN_TOTALS | UNKNOWN_TEMPORARY | UNKNOWN_OWN_PEAK | UNKNOWN_LARGEST;
    if (!duration)
        unknown |= UNKNOWN_TIME;
    if (!p->pid)
        unknown |= UNKNOWN_PROCESS;
    if (!p->command.count)
        unknown |= UNKNOWN_COMMAND;
    if (!p->threads.count) {
        import_no_threads(r->m);
        unknown |= UNKNOWN_THREADS;
    }
    if (r->mapped)
        *vec_push(&p->notes) = xstrdup("memray counts mappings (mmap) as blocks of the heap: so do "
                                       "these figures");
    p->start_unix_ns = r->start_ms * 1000000;
    import_from(r->m, unknown, "memray %s", r->version ? r->version : "?");
    if (r->sums) {
        p->duration_ns = duration ? duration : 1;
        figures_finish(&r->figures);
        return;
    }
    r->events.now_ns = duration > r->events.now_ns ? duration : r->events.now_ns;
    r->events.peak_time_ns = r->events.now_ns;
    events_finish(&r->events);
}

static int read_lines(struct reader *r, struct err *err)
{
    char *line;
    int code;
    while ((code = input_line(r->m->in, &line, err)) > 0 && !r->ended) {
        if (strcmp(line, "!no memray") == 0)
            return -ENOPKG;
        if (line[0] == '!')
            return err_set(err, -EBADMSG, "memray cannot read %s: %.300s", r->m->in->name,
                           line + 1);
        if (!take_line(r, line))
            return import_bad_line(r->m, "this is no record of memray's", err);
        uint64_t kept = events_memory(&r->events) + figures_memory(&r->figures) +
                        (r->runs.count + r->nodes.count) * 4;
        if ((code = import_check(r->m, kept, err)))
            return code;
    }
    return code < 0 ? code
           : !r->ended
               ? err_set(err, -EBADMSG, "memray stopped before the end of %s", r->m->in->name)
               : 0;
}

int memray_records_import(struct import *m, struct err *err)
{
    struct reader r = {.m = m};
    events_init(&r.events, m);
    figures_init(&r.figures, m);
    int code = read_lines(&r, err);
    if (!code)
        finish(&r);
    events_release(&r.events);
    figures_release(&r.figures);
    vec_release(&r.runs);
    vec_release(&r.nodes);
    vec_release(&r.last);
    free(r.version);
    return code;
}
