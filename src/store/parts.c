#include "store/parts.h"

#include <stdlib.h>
#include <string.h>

#include "store/captures.h"
#include "store/chain_rows.h"
#include "store/chunk.h"
#include "store/footprints.h"
#include "store/histograms.h"
#include "store/living.h"
#include "store/python_part.h"
#include "store/rows.h"

#define PROCESSES_MAX 1000000 /* more in one file is damage */
#define DEFAULTS_MAX  100
#define LEAST_FRAME   5 /* bytes that one takes at the least */

static void take_process(struct cursor *c, struct profile *p)
{
    p->pid = (uint32_t)cursor_varint(c);
    p->ppid = (uint32_t)cursor_varint(c);
    for (uint64_t n = cursor_count(c, 1); n > 0 && !c->bad; n--)
        *vec_push(&p->command) = cursor_string(c);
    free(p->executable);
    p->executable = cursor_string(c);
    free(p->host);
    p->host = cursor_string(c);
    p->start_unix_ns = cursor_varint(c);
    p->duration_ns = cursor_varint(c);
    p->exit_code = (int)unzigzag(cursor_varint(c));
    p->signal = (int)cursor_varint(c) & 0xff;
    uint64_t flags = cursor_varint(c);
    p->complete = flags & 1;
    p->execed = flags >> 1 & 1;
    p->peak_bytes = cursor_varint(c);
    p->peak_blocks = cursor_varint(c);
    p->peak_time_ns = cursor_varint(c);
    p->peak_skew_bytes = cursor_varint(c);
    p->memory_peak_bytes = c->at < c->end ? cursor_varint(c) : 0;
}

static void take_modules(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_items(c, 6, sizeof(struct module)); n > 0 && !c->bad; n--) {
        struct module *m = vec_push(&p->modules);
        *m = (struct module){.start = cursor_varint(c)};
        m->end = m->start + cursor_varint(c);
        m->bias = m->start - (uint64_t)unzigzag(cursor_varint(c));
        m->epoch = (uint32_t)cursor_varint(c);
        m->path = cursor_string(c);
        uint64_t size = cursor_count(c, 1);
        if (size > sizeof m->build_id) {
            c->bad = true;
            return;
        }
        m->build_id_size = (uint32_t)size;
        memcpy(m->build_id, c->at, size);
        c->at += size;
    }
}

static void take_nodes(struct cursor *c, struct profile *p)
{
    VEC(uint64_t) addresses = {0};
    uint64_t address = 0;
    for (uint64_t n = cursor_items(c, 1, sizeof address); n > 0; n--)
        *vec_push(&addresses) = address += cursor_varint(c);
    uint64_t n = cursor_items(c, 2, sizeof(struct node));
    vec_reserve(&p->nodes, n + 1);
    *vec_push(&p->nodes) = (struct node){0};
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t up = cursor_varint(c);
        if (up == 0 || up > i) /* a parent comes before its child: no cycles */
            c->bad = true;
        *vec_push(&p->nodes) = (struct node){.parent = c->bad ? 0 : (uint32_t)(i - up)};
    }
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t place = cursor_varint(c);
        if (place >= addresses.count)
            c->bad = true;
        else
            p->nodes.items[i].address = addresses.items[place];
    }
    vec_release(&addresses);
}

static void take_threads(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_items(c, 4, sizeof(struct thread)); n > 0 && !c->bad; n--) {
        struct thread *t = vec_push(&p->threads);
        *t = (struct thread){.tid = (uint32_t)cursor_varint(c)};
        t->name = cursor_string(c);
        t->start_ns = cursor_varint(c);
        t->end_ns = cursor_varint(c);
    }
}

#define TAKE_COLUMN(c, items, n, field)                                                            \
    for (uint64_t i = 0; i < (n); i++)                                                             \
    (items)[i].field = cursor_varint(c)

static void take_sites(struct cursor *c, struct profile *p)
{
    uint64_t n = cursor_items(c, 11, sizeof(struct site));
    vec_reserve(&p->sites, n);
    if (n)
        memset(p->sites.items, 0, n * sizeof *p->sites.items);
    p->sites.count = n;
    struct site *s = p->sites.items;
    uint64_t previous = 0;
    for (uint64_t i = 0; i < n; i++)
        s[i].node = (uint32_t)(previous += (uint64_t)unzigzag(cursor_varint(c)));
    for (uint64_t i = 0; i < n; i++)
        s[i].thread = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < n; i++)
        s[i].domain = (uint32_t)cursor_varint(c);
    TAKE_COLUMN(c, s, n, unit_bytes);
    TAKE_COLUMN(c, s, n, unit_usable);
    TAKE_COLUMN(c, s, n, at_peak_blocks);
    TAKE_COLUMN(c, s, n, at_peak_bytes);
    TAKE_COLUMN(c, s, n, at_peak_usable);
    TAKE_COLUMN(c, s, n, own_peak_blocks);
    TAKE_COLUMN(c, s, n, own_peak_bytes);
    for (uint64_t i = 0; i < n; i++) {
        s[i].unit_usable += s[i].unit_bytes;
        s[i].at_peak_usable += s[i].at_peak_bytes;
        s[i].largest_bytes = s[i].unit_bytes + (uint64_t)unzigzag(cursor_varint(c));
        if (s[i].node >= p->nodes.count || s[i].thread >= p->threads.count ||
            s[i].domain >= DOMAIN_COUNT)
            c->bad = true;
    }
}

static void take_intervals(struct cursor *c, struct profile *p)
{
    const struct units units = UNITS_OF(p->sites.items, p->sites.count);
    uint64_t n = cursor_items(c, 7, sizeof(struct interval)), end = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct interval *v = vec_push(&p->intervals);
        *v = (struct interval){.end_ns = end += cursor_varint(c)};
        v->peak_bytes = cursor_varint(c);
        v->unknown_frees = cursor_varint(c);
        v->lost_events = cursor_varint(c);
        v->truncated_stacks = cursor_varint(c);
        v->incomplete_stacks = cursor_varint(c);
        v->row_count = cursor_items(c, 2, sizeof(struct row));
    }
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        struct interval *v = &p->intervals.items[i];
        uint32_t previous = UINT32_MAX;
        v->first_row = p->rows.count;
        for (size_t k = 0; k < v->row_count; k++) {
            struct row row;
            if (!row_take(c, &previous, &row, &units)) {
                v->row_count = k;
                break;
            }
            *vec_push(&p->rows) = row;
        }
    }
    if (c->bad) /* intervals whose rows were not reached have none */
        for (size_t i = 0; i < p->intervals.count; i++)
            if (p->intervals.items[i].first_row + p->intervals.items[i].row_count > p->rows.count)
                p->intervals.items[i].row_count = 0;
}

/* *s is the one before. */
static void take_stamp(struct cursor *c, struct stamp *s)
{
    uint64_t *field = (uint64_t *)s;
    for (size_t k = 0; k < sizeof *s / 8; k++)
        field[k] += (uint64_t)unzigzag(cursor_varint(c));
}

static void take_stamps(struct cursor *c, struct profile *p)
{
    struct stamp s = {0};
    for (uint64_t n = cursor_items(c, sizeof s / 8, sizeof s); n > 0 && !c->bad; n--) {
        take_stamp(c, &s);
        *vec_push(&p->stamps) = s;
    }
}

static void take_marks(struct cursor *c, struct profile *p)
{
    struct mark m = {0};
    for (uint64_t n = cursor_items(c, 3 + sizeof m.stamp / 8, sizeof m); n > 0 && !c->bad; n--) {
        m.label = (uint32_t)cursor_varint(c);
        m.thread = (uint32_t)cursor_varint(c);
        m.intervals += cursor_varint(c);
        take_stamp(c, &m.stamp);
        if (m.intervals > p->intervals.count || m.thread >= p->threads.count)
            c->bad = true;
        else
            *vec_push(&p->marks) = m;
    }
    for (uint64_t n = cursor_items(c, 10, sizeof(struct mark_value)); n > 0 && !c->bad; n--) {
        struct mark_value v = {.mark = (uint32_t)cursor_varint(c),
                               .key = (uint32_t)cursor_varint(c)};
        if (v.mark >= p->marks.count || (size_t)(c->end - c->at) < sizeof v.value) {
            c->bad = true;
            return;
        }
        memcpy(&v.value, c->at, sizeof v.value);
        c->at += sizeof v.value;
        *vec_push(&p->mark_values) = v;
    }
}

static void take_inherited(struct cursor *c, struct profile *p)
{
    p->inherited.parent = (uint32_t)cursor_varint(c);
    p->inherited.blocks = cursor_varint(c);
    p->inherited.bytes = cursor_varint(c);
    p->inherited.freed_blocks = cursor_varint(c);
    p->inherited.freed_bytes = cursor_varint(c);
}

static void take_sampling(struct cursor *c, struct profile *p)
{
    struct sampling *g = &p->sampling;
    uint64_t flags = cursor_varint(c);
    g->alone = flags & 1;
    g->counted = flags >> 1 & 1;
    g->wall = flags >> 2 & 1;
    g->kernel = flags >> 3 & 3;
    c->bad |= g->kernel > KERNEL_ESTIMATED;
    g->cpu_period_ns = cursor_varint(c);
    g->fault_period = cursor_varint(c);
    g->lost = cursor_varint(c);
    g->user_ns = cursor_varint(c);
    g->system_ns = cursor_varint(c);
    g->minor_faults = cursor_varint(c);
    g->major_faults = cursor_varint(c);
}

static void take_notes(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_count(c, 1); n > 0 && !c->bad; n--)
        *vec_push(&p->notes) = cursor_string(c);
}

static void take_frames(struct cursor *c, struct profile *p)
{
    uint64_t runs = cursor_items(c, 2, SYMBOL_BYTES), address = 0, total = 0;
    for (uint64_t i = 0; i < runs; i++)
        *map_at(&p->symbols, address += (uint64_t)unzigzag(cursor_varint(c))) = (uint32_t)i;
    *vec_push(&p->frame_runs) = 0;
    for (uint64_t i = 0; i < runs; i++) {
        total += cursor_varint(c);
        if (total > (uint64_t)(c->end - c->at) / LEAST_FRAME) {
            c->bad = true;
            total = 0;
        }
        *vec_push(&p->frame_runs) = (uint32_t)total;
    }
    if (!cursor_room(c, total, sizeof(struct frame)))
        return;
    vec_reserve(&p->frames, total);
    p->frames.count = total;
    struct frame *f = p->frames.items;
    for (uint64_t i = 0; i < total; i++)
        f[i].function = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].module = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].file = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].line = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].kind = (enum frame_kind)(cursor_varint(c) % 3);
}

static void take_strings(struct cursor *c, struct recording *r)
{
    for (uint64_t n = cursor_items(c, 1, STRING_INDEX); n > 0 && !c->bad; n--) {
        char *s = cursor_string(c);
        strpool_add(&r->strings, s); /* numbers are their order: the writer has no string twice */
        free(s);
    }
}

static int by_epoch(const void *a, const void *b)
{
    const struct module *x = a, *y = b;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

void parts_make_consistent(struct profile *p, struct recording *r)
{
    if (!p->nodes.count)
        *vec_push(&p->nodes) = (struct node){0};
    if (!p->frame_runs.count)
        *vec_push(&p->frame_runs) = 0;
    for (size_t i = 0; i + 1 < p->frame_runs.count; i++)
        if (p->frame_runs.items[i + 1] < p->frame_runs.items[i])
            p->frame_runs.items[i + 1] = p->frame_runs.items[i];
    for (size_t i = 0; i < p->frame_runs.count; i++)
        if (p->frame_runs.items[i] > p->frames.count)
            p->frame_runs.items[i] = (uint32_t)p->frames.count;
    if (p->modules.count)
        qsort(p->modules.items, p->modules.count, sizeof *p->modules.items, by_epoch);
    size_t strings = r->strings.strings.count;
    for (size_t i = 0; i < p->frames.count; i++) {
        struct frame *f = &p->frames.items[i];
        if (f->function >= strings)
            f->function = 0;
        if (f->module >= strings)
            f->module = 0;
        if (f->file >= strings)
            f->file = 0;
    }
    for (size_t i = 0; i < p->marks.count; i++) {
        struct mark *m = &p->marks.items[i];
        m->label = m->label < strings ? m->label : 0;
        m->name = strpool_get(&r->strings, m->label);
    }
    for (size_t i = 0; i < p->mark_values.count; i++)
        if (p->mark_values.items[i].key >= strings)
            p->mark_values.items[i].key = 0;
    for (size_t i = 0; i < p->sites.count; i++) {
        struct site *s = &p->sites.items[i];
        if (s->node >= p->nodes.count || s->domain >= DOMAIN_COUNT)
            s->node = s->domain = 0;
        if (s->thread >= p->threads.count) {
            if (!p->threads.count)
                *vec_push(&p->threads) = (struct thread){.name = xstrdup("unknown")};
            s->thread = 0;
        }
    }
}

static void take_defaults(struct cursor *c, struct recording *r)
{
    uint64_t n = cursor_count(c, 3);
    for (c->bad |= n > DEFAULTS_MAX; n > 0 && !c->bad; n--) {
        uint64_t kind = cursor_varint(c);
        char *name = cursor_string(c), *text = cursor_string(c);
        if (c->bad || kind >= DEFAULT_KINDS) { /* of a later version: skipped */
            free(name);
            free(text);
            continue;
        }
        *vec_push(&r->defaults) = (struct recorded_default){(enum default_kind)kind, name, text};
    }
}

void parts_take(const struct chunk *chunk, struct cursor *c, struct recording *r)
{
    if (chunk->type == CHUNK_STRINGS) {
        take_strings(c, r);
        return;
    }
    if (chunk->type == CHUNK_DEFAULTS) {
        if (!r->defaults.count)
            take_defaults(c, r);
        return;
    }
    if (chunk->process > r->profiles.count || chunk->process > PROCESSES_MAX) {
        c->bad = true;
        return;
    }
    if (chunk->process == r->profiles.count && !cursor_room(c, 1, sizeof(struct profile)))
        return;
    if (chunk->process == r->profiles.count)
        *vec_push(&r->profiles) = (struct profile){.exit_code = -1};
    struct profile *p = &r->profiles.items[chunk->process];
    switch (chunk->type) {
    case CHUNK_PROCESS:
        take_process(c, p);
        break;
    case CHUNK_MODULES:
        take_modules(c, p);
        break;
    case CHUNK_NODES:
        if (!p->nodes.count)
            take_nodes(c, p);
        break;
    case CHUNK_THREADS:
        if (!p->threads.count)
            take_threads(c, p);
        break;
    case CHUNK_SITES:
        if (!p->sites.count)
            take_sites(c, p);
        break;
    case CHUNK_INTERVALS:
        if (!p->intervals.count)
            take_intervals(c, p);
        break;
    case CHUNK_STAMPS:
        take_stamps(c, p);
        break;
    case CHUNK_MARKS:
        if (!p->marks.count)
            take_marks(c, p);
        break;
    case CHUNK_INHERITED:
        take_inherited(c, p);
        break;
    case CHUNK_SAMPLING:
        take_sampling(c, p);
        break;
    case CHUNK_LIVE:
        if (!p->scans.count)
            living_take(c, p);
        break;
    case CHUNK_MAPS:
        if (!p->captures.count)
            captures_take(c, p);
        break;
    case CHUNK_FOOTPRINTS:
        if (!p->footprints.count)
            footprints_take(c, p);
        break;
    case CHUNK_PYTHON:
        if (!p->arenas.count)
            python_take(c, p);
        break;
    case CHUNK_HISTOGRAMS:
        if (!p->has_histograms)
            histograms_take(c, p);
        break;
    case CHUNK_CHAINS:
        if (!p->chains.count)
            chain_rows_take(c, p);
        break;
    case CHUNK_NOTES:
        take_notes(c, p);
        break;
    case CHUNK_FRAMES:
        if (!p->frame_runs.count)
            take_frames(c, p);
        break;
    default:
        break; /* from a later version: skipped */
    }
}

bool parts_know(uint32_t type)
{
    switch (type) {
    case CHUNK_PROCESS:
    case CHUNK_MODULES:
    case CHUNK_NODES:
    case CHUNK_THREADS:
    case CHUNK_SITES:
    case CHUNK_INTERVALS:
    case CHUNK_STAMPS:
    case CHUNK_MARKS:
    case CHUNK_INHERITED:
    case CHUNK_SAMPLING:
    case CHUNK_LIVE:
    case CHUNK_MAPS:
    case CHUNK_FOOTPRINTS:
    case CHUNK_PYTHON:
    case CHUNK_HISTOGRAMS:
    case CHUNK_CHAINS:
    case CHUNK_NOTES:
    case CHUNK_DEFAULTS:
    case CHUNK_STRINGS:
    case CHUNK_FRAMES:
        return true;
    default:
        return false;
    }
}
