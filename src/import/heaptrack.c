/*
 * heaptrack's files (1.0 to 1.5): every allocation with its stack, and every free; time to 10 ms,
 * and resident memory. Not in them: threads, what realloc did, usable sizes, addresses of frees
 * that heaptrack does not know itself.
 *
 * A file is text, one event a line, numbers in hexadecimal. The recorder writes a raw file, with
 * addresses; heaptrack_interpret makes another one of it, with names, which is what the script
 * `heaptrack` keeps:
 *
 *     v VERSION FORMAT    X COMMAND    I PAGESIZE PAGES    c MS    R PAGES (resident)
 *
 *     raw                                 interpreted
 *     x SIZE PATH (the program)           s SIZE STRING, numbered from 1
 *     m SIZE PATH|x|- BASE (START SIZE)*  i IP MODULE (FUNCTION (FILE LINE))*, inlined ones first
 *     t IP PARENT                         t I PARENT, numbered from 1
 *     + SIZE T POINTER                    a SIZE T, numbered from 0; + A
 *     - POINTER                           - A
 *
 * The sizes before strings are there from format 3 on. heaptrack calls an allocation temporary if
 * the next event that allocates or frees is the free of one with the same stack and size (number
 * A); after a free it takes 0 for the number, so a later free of number 0 counts, too. Its sums and
 * ours must be equal, so it is the same here.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "import/events.h"
#include "import/heaptrack_modules.h"

/* One (size, stack): "a" in interpreted files. */
struct kind_of_block {
    uint32_t site;
    uint32_t trace;      /* of raw files */
    uint64_t size, live; /* live: blocks of this kind */
};

struct reader {
    struct import *m;
    struct events events;
    VEC(uint32_t) strings; /* indexes into the recording's strings */
    VEC(uint32_t) runs;    /* of "i" */
    VEC(uint32_t) nodes;   /* of "t" */
    VEC(struct kind_of_block) kinds;
    struct map kind_of; /* trace and size -> kind, of raw files */
    struct heaptrack_modules modules;
    uint64_t version, format, page_size;
    uint64_t last; /* kind of the last allocation; 0 after a free */
    bool raw;
};

bool heaptrack_is(const char *bytes, size_t size)
{
    uint64_t version, format;
    const char *at = bytes + 2;
    return size > 4 && memcmp(bytes, "v ", 2) == 0 && import_hex(&at, &version) && *at++ == ' ' &&
           import_hex(&at, &format) && *at == '\n';
}

/* Parses the next hexadecimal number of a line; false: there is none. */
static bool next(const char **at, uint64_t *out)
{
    while (**at == ' ')
        ++*at;
    return import_hex(at, out);
}

/* The rest of the line, after its size. */
static const char *text_of(const struct reader *r, const char *at)
{
    uint64_t size;
    while (*at == ' ')
        at++;
    if (r->format >= 3 && import_hex(&at, &size) && *at == ' ')
        at++;
    return at;
}

static bool add_string(struct reader *r, const char *at)
{
    uint32_t number = stacks_string(&r->m->stacks, text_of(r, at));
    *vec_push(&r->strings) = number;
    return true;
}

static bool string_at(const struct reader *r, uint64_t number, uint32_t *out)
{
    if (number > r->strings.count)
        return false;
    *out = number ? r->strings.items[number - 1] : 0;
    return true;
}

/* "i": an address with its frames, innermost first. */
static bool add_address(struct reader *r, const char *at)
{
    VEC(struct frame) frames = {0};
    uint64_t ip, module, function, file, line;
    uint32_t in = 0, unknown = stacks_string(&r->m->stacks, "[unknown]");
    bool good = next(&at, &ip) && next(&at, &module) && string_at(r, module, &in);
    while (good && next(&at, &function)) {
        struct frame f = {.module = in, .kind = FRAME_INLINED};
        good = string_at(r, function, &f.function);
        if (good && next(&at, &file) && next(&at, &line)) {
            good = string_at(r, file, &f.file);
            f.line = (uint32_t)line;
        }
        if (!f.function)
            f.function = unknown;
        *vec_push(&frames) = f;
    }
    if (!frames.count)
        *vec_push(&frames) = (struct frame){.function = unknown, .module = in};
    vec_last(&frames)->kind = FRAME_NATIVE;
    uint32_t run = good ? stacks_run(&r->m->stacks, frames.items, frames.count) : 0;
    *vec_push(&r->runs) = run;
    vec_release(&frames);
    return good;
}

static bool add_trace(struct reader *r, const char *at)
{
    uint64_t ip, parent;
    uint32_t run;
    if (!next(&at, &ip) || !next(&at, &parent) || parent > r->nodes.count)
        return false;
    if (r->raw)
        run = heaptrack_modules_run(&r->modules, ip, &r->m->stacks);
    else if (ip && ip <= r->runs.count)
        run = r->runs.items[ip - 1];
    else
        return false;
    uint32_t node = stacks_node(&r->m->stacks, parent ? r->nodes.items[parent - 1] : 0, run);
    *vec_push(&r->nodes) = node;
    return true;
}

static bool trace_site(struct reader *r, uint64_t trace, uint32_t *site)
{
    if (trace > r->nodes.count) /* 0: heaptrack has no stack for it */
        return false;
    *site = events_site(&r->events, trace ? r->nodes.items[trace - 1] : 0, 0, DOMAIN_HEAP);
    return true;
}

static bool add_kind(struct reader *r, const char *at)
{
    struct kind_of_block k = {0};
    uint64_t trace;
    if (!next(&at, &k.size) || !next(&at, &trace) || !trace_site(r, trace, &k.site))
        return false;
    *vec_push(&r->kinds) = k;
    return true;
}

static void allocated(struct reader *r, uint64_t kind)
{
    struct kind_of_block *k = &r->kinds.items[kind];
    k->live++;
    events_alloc(&r->events, k->site, k->size);
    r->last = kind;
}

static void freed(struct reader *r, uint64_t kind)
{
    struct kind_of_block *k = &r->kinds.items[kind];
    bool temporary = r->last == kind;
    r->last = 0;
    if (k->live) {
        k->live--;
        events_free(&r->events, k->site, k->size, temporary);
    } else {
        r->events.ledger.unknown_frees++;
    }
}

/* For raw files: gives each (size, stack) a number, as heaptrack_interpret does. */
static uint32_t kind_at(struct reader *r, uint32_t site, uint32_t trace, uint64_t size)
{
    uint64_t hash = (size * UINT64_C(0x9e3779b97f4a7c15)) ^ trace;
    for (;; hash++) {
        uint32_t *known = map_at(&r->kind_of, hash);
        if (*known == MAP_NONE) {
            *known = (uint32_t)r->kinds.count;
            *vec_push(&r->kinds) = (struct kind_of_block){site, trace, size, 0};
            return (uint32_t)r->kinds.count - 1;
        }
        const struct kind_of_block *k = &r->kinds.items[*known];
        if (k->trace == trace && k->size == size)
            return *known;
    }
}

static bool raw_allocation(struct reader *r, const char *at)
{
    uint64_t size, trace, pointer;
    uint32_t site;
    struct block old;
    if (!next(&at, &size) || !next(&at, &trace) || !next(&at, &pointer) ||
        !trace_site(r, trace, &site))
        return false;
    uint32_t kind = kind_at(r, site, (uint32_t)trace, size);
    /* A block stores the number of its kind instead of a site. If the address is already there, the
     * old block was freed without heaptrack noticing. */
    if (blocks_put(&r->events.blocks, &(struct block){.address = pointer, .site = kind}, &old))
        freed(r, old.site);
    allocated(r, kind);
    return true;
}

static bool raw_free(struct reader *r, const char *at)
{
    uint64_t pointer;
    struct block b;
    if (!next(&at, &pointer))
        return false;
    if (blocks_take(&r->events.blocks, pointer, &b))
        freed(r, b.site);
    else
        r->last = 0;
    return true;
}

static bool allocation(struct reader *r, const char *at, bool free)
{
    uint64_t kind;
    if (r->raw)
        return free ? raw_free(r, at) : raw_allocation(r, at);
    if (!next(&at, &kind) || kind >= r->kinds.count)
        return false;
    if (free)
        freed(r, kind);
    else
        allocated(r, kind);
    return true;
}

static bool module_line(struct reader *r, const char *at)
{
    r->raw = true;
    return heaptrack_modules_line(&r->modules, text_of(r, at));
}

static bool take_line(struct reader *r, const char *line)
{
    uint64_t number;
    const char *at = line[0] ? line + 1 : line;
    switch (line[0]) {
    case 's':
        return add_string(r, at);
    case 'i':
        return add_address(r, at);
    case 't':
        return add_trace(r, at);
    case 'a':
        return add_kind(r, at);
    case '+':
        return allocation(r, at, false);
    case '-':
        return allocation(r, at, true);
    case 'c':
        if (!next(&at, &number) || number > UINT64_MAX / 1000000)
            return false;
        events_time(&r->events, number * 1000000);
        return true;
    case 'R':
        if (!next(&at, &number))
            return false;
        events_stamp(&r->events, number * r->page_size);
        return true;
    case 'I':
        return next(&at, &r->page_size);
    case 'x':
        r->raw = true;
        heaptrack_modules_program(&r->modules, text_of(r, at));
        return true;
    case 'X':
        if (!r->m->profile->command.count)
            import_command(r->m, at);
        return true;
    case 'm':
        return module_line(r, at);
    default: /* comments, suppressions, additions of later versions */
        return true;
    }
}

static uint64_t memory_of(const struct reader *r)
{
    return events_memory(&r->events) + (r->strings.count + r->runs.count + r->nodes.count) * 4 +
           r->kinds.count * (sizeof *r->kinds.items + 16) + r->modules.memory;
}

int heaptrack_import(struct import *m, struct err *err)
{
    struct reader r = {.m = m, .page_size = 4096};
    char *line;
    int code = input_line(m->in, &line, err);
    const char *at = code > 0 ? line + 1 : "";
    if (code < 0)
        return code;
    if (code == 0)
        return err_set(err, -ENODATA, "%s is empty", m->in->name);
    if (line[0] != 'v' || !next(&at, &r.version) || !next(&at, &r.format))
        return import_bad_line(m, "a heaptrack file begins with its version: 'v 10400 3'", err);
    if (r.format < 1)
        return import_bad_line(m, "the file is older than heaptrack 1.0: interpret it again", err);
    import_from(m,
                UNKNOWN_THREADS | UNKNOWN_REALLOCATIONS | UNKNOWN_USABLE | UNKNOWN_PROCESS |
                    UNKNOWN_MAPPED | UNKNOWN_LOSSES,
                "heaptrack %" PRIu64 ".%" PRIu64 ".%" PRIu64, r.version >> 16 & 0xff,
                r.version >> 8 & 0xff, r.version & 0xff);
    events_init(&r.events, m);
    import_no_threads(m);
    while ((code = input_line(m->in, &line, err)) > 0) {
        if (!take_line(&r, line)) {
            code = import_bad_line(
                m,
                "this is not a line of a heaptrack file, or it refers to something that is missing",
                err);
            break;
        }
        if ((code = import_check(m, memory_of(&r), err)))
            break;
    }
    if (!code)
        events_finish(&r.events);
    if (!code && !m->profile->command.count)
        m->profile->imported.unknown |= UNKNOWN_COMMAND;
    if (!code && !r.events.timed)
        m->profile->imported.unknown |= UNKNOWN_TIME | UNKNOWN_PEAK_TIME | UNKNOWN_HISTORY;
    events_release(&r.events);
    heaptrack_modules_release(&r.modules);
    vec_release(&r.strings);
    vec_release(&r.runs);
    vec_release(&r.nodes);
    vec_release(&r.kinds);
    map_release(&r.kind_of);
    return code;
}
