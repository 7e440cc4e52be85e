#include "store/writer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
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

#define WORTH_A_THREAD 20000 /* nodes: below, all is packed in a few milliseconds */

static void put_string(struct strbuf *b, const char *s)
{
    size_t size = s ? strlen(s) : 0;
    strbuf_varint(b, size);
    strbuf_add(b, s ? s : "", size);
}

static void put_process(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->pid);
    strbuf_varint(b, p->ppid);
    strbuf_varint(b, p->command.count);
    for (size_t i = 0; i < p->command.count; i++)
        put_string(b, p->command.items[i]);
    put_string(b, p->executable);
    put_string(b, p->host);
    strbuf_varint(b, p->start_unix_ns);
    strbuf_varint(b, p->duration_ns);
    strbuf_varint(b, zigzag(p->exit_code));
    strbuf_varint(b, (uint64_t)p->signal);
    strbuf_varint(b, (uint64_t)p->complete | (uint64_t)p->execed << 1);
    strbuf_varint(b, p->peak_bytes);
    strbuf_varint(b, p->peak_blocks);
    strbuf_varint(b, p->peak_time_ns);
    strbuf_varint(b, p->peak_skew_bytes);
    strbuf_varint(b, p->memory_peak_bytes);
}

static void put_modules(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->modules.count);
    for (size_t i = 0; i < p->modules.count; i++) {
        const struct module *m = &p->modules.items[i];
        strbuf_varint(b, m->start);
        strbuf_varint(b, m->end - m->start);
        strbuf_varint(b, zigzag((int64_t)(m->start - m->bias)));
        strbuf_varint(b, m->epoch);
        put_string(b, m->path);
        strbuf_varint(b, m->build_id_size);
        strbuf_add(b, m->build_id, m->build_id_size);
    }
}

struct distinct {
    uint64_t address;
    uint32_t number; /* in the order in which they were first seen */
};

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct distinct *)a)->address, y = ((const struct distinct *)b)->address;
    return (x > y) - (x < y);
}

/* The distinct addresses in order, as differences; then each node as (own number - parent,
 * address's place). */
static void put_nodes(struct strbuf *b, const struct profile *p)
{
    size_t n = p->nodes.count;
    struct map numbers = {0};
    VEC(struct distinct) sorted = {0};
    uint32_t *number = xmalloc(n * sizeof *number);
    for (size_t i = 1; i < n; i++) {
        uint32_t *known = map_at(&numbers, p->nodes.items[i].address);
        if (*known == MAP_NONE) {
            *known = (uint32_t)sorted.count;
            *vec_push(&sorted) = (struct distinct){p->nodes.items[i].address, *known};
        }
        number[i] = *known;
    }
    if (sorted.count)
        qsort(sorted.items, sorted.count, sizeof *sorted.items, by_address);
    uint32_t *place = xmalloc(sorted.count * sizeof *place);
    strbuf_varint(b, sorted.count);
    for (size_t i = 0; i < sorted.count; i++) {
        strbuf_varint(b, sorted.items[i].address - (i ? sorted.items[i - 1].address : 0));
        place[sorted.items[i].number] = (uint32_t)i;
    }
    strbuf_varint(b, n ? n - 1 : 0);
    for (size_t i = 1; i < n; i++)
        strbuf_varint(b, i - p->nodes.items[i].parent);
    for (size_t i = 1; i < n; i++)
        strbuf_varint(b, place[number[i]]);
    free(place);
    free(number);
    map_release(&numbers);
    vec_release(&sorted);
}

static void put_threads(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->threads.count);
    for (size_t i = 0; i < p->threads.count; i++) {
        const struct thread *t = &p->threads.items[i];
        strbuf_varint(b, t->tid);
        put_string(b, t->name);
        strbuf_varint(b, t->start_ns);
        strbuf_varint(b, t->end_ns);
    }
}

/* A column of numbers that are often equal or zero packs better alone than among others. */
#define PUT_COLUMN(b, vec, field)                                                                  \
    for (size_t i = 0; i < (vec).count; i++)                                                       \
    strbuf_varint(b, (vec).items[i].field)

static void put_sites(struct strbuf *b, const struct profile *p)
{
    uint32_t previous = 0;
    strbuf_varint(b, p->sites.count);
    for (size_t i = 0; i < p->sites.count; i++) {
        strbuf_varint(b, zigzag((int64_t)p->sites.items[i].node - previous));
        previous = p->sites.items[i].node;
    }
    PUT_COLUMN(b, p->sites, thread);
    PUT_COLUMN(b, p->sites, domain);
    PUT_COLUMN(b, p->sites, unit_bytes);
    for (size_t i = 0; i < p->sites.count; i++)
        strbuf_varint(b, p->sites.items[i].unit_usable - p->sites.items[i].unit_bytes);
    PUT_COLUMN(b, p->sites, at_peak_blocks);
    PUT_COLUMN(b, p->sites, at_peak_bytes);
    for (size_t i = 0; i < p->sites.count; i++)
        strbuf_varint(b, p->sites.items[i].at_peak_usable - p->sites.items[i].at_peak_bytes);
    PUT_COLUMN(b, p->sites, own_peak_blocks);
    PUT_COLUMN(b, p->sites, own_peak_bytes);
    for (size_t i = 0; i < p->sites.count; i++)
        strbuf_varint(
            b, zigzag((int64_t)(p->sites.items[i].largest_bytes - p->sites.items[i].unit_bytes)));
}

static void put_intervals(struct strbuf *b, const struct profile *p,
                          const struct packed_rows *packed)
{
    uint64_t previous = 0;
    strbuf_varint(b, p->intervals.count);
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *v = &p->intervals.items[i];
        strbuf_varint(b, v->end_ns - previous);
        previous = v->end_ns;
        strbuf_varint(b, v->peak_bytes);
        strbuf_varint(b, v->unknown_frees);
        strbuf_varint(b, v->lost_events);
        strbuf_varint(b, v->truncated_stacks);
        strbuf_varint(b, v->incomplete_stacks);
        strbuf_varint(b, packed ? packed->counts[i] : v->row_count);
    }
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *v = &p->intervals.items[i];
        if (packed) {
            strbuf_add(b, packed->rows[i]->data ? packed->rows[i]->data : "",
                       packed->rows[i]->size);
            continue;
        }
        uint32_t from = UINT32_MAX;
        for (size_t k = 0; k < v->row_count; k++) {
            const struct row *row = &p->rows.items[v->first_row + k];
            row_put(b, &from, row, &p->sites.items[row->site].unit);
        }
    }
}

/* As differences from the one before. */
static void put_stamp(struct strbuf *b, const struct stamp *s, struct stamp *previous)
{
    const uint64_t *now = (const uint64_t *)s, *before = (const uint64_t *)previous;
    for (size_t k = 0; k < sizeof *s / 8; k++)
        strbuf_varint(b, zigzag((int64_t)(now[k] - before[k])));
    *previous = *s;
}

static void put_stamps(struct strbuf *b, const struct profile *p)
{
    struct stamp previous = {0};
    strbuf_varint(b, p->stamps.count);
    for (size_t i = 0; i < p->stamps.count; i++)
        put_stamp(b, &p->stamps.items[i], &previous);
}

static void put_marks(struct strbuf *b, const struct profile *p)
{
    struct stamp previous = {0};
    size_t intervals = 0;
    strbuf_varint(b, p->marks.count);
    for (size_t i = 0; i < p->marks.count; i++) {
        const struct mark *m = &p->marks.items[i];
        strbuf_varint(b, m->label);
        strbuf_varint(b, m->thread);
        strbuf_varint(b, m->intervals - intervals);
        intervals = m->intervals;
        put_stamp(b, &m->stamp, &previous);
    }
    strbuf_varint(b, p->mark_values.count);
    for (size_t i = 0; i < p->mark_values.count; i++) {
        strbuf_varint(b, p->mark_values.items[i].mark);
        strbuf_varint(b, p->mark_values.items[i].key);
        strbuf_add(b, &p->mark_values.items[i].value, sizeof(double));
    }
}

static void put_notes(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->notes.count);
    for (size_t i = 0; i < p->notes.count; i++)
        put_string(b, p->notes.items[i]);
}

static void put_inherited(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->inherited.parent);
    strbuf_varint(b, p->inherited.blocks);
    strbuf_varint(b, p->inherited.bytes);
    strbuf_varint(b, p->inherited.freed_blocks);
    strbuf_varint(b, p->inherited.freed_bytes);
}

static void put_sampling(struct strbuf *b, const struct profile *p)
{
    const struct sampling *g = &p->sampling;
    strbuf_varint(b, (uint64_t)g->alone | (uint64_t)g->counted << 1 | (uint64_t)g->wall << 2 |
                         (uint64_t)g->kernel << 3);
    strbuf_varint(b, g->cpu_period_ns);
    strbuf_varint(b, g->fault_period);
    strbuf_varint(b, g->lost);
    strbuf_varint(b, g->user_ns);
    strbuf_varint(b, g->system_ns);
    strbuf_varint(b, g->minor_faults);
    strbuf_varint(b, g->major_faults);
}

/* The addresses, the length of each one's run, then all frames column by column. */
static void put_frames(struct strbuf *b, const struct profile *p)
{
    size_t runs = p->frame_runs.count ? p->frame_runs.count - 1 : 0;
    strbuf_varint(b, runs);
    uint64_t *address = xcalloc(runs, sizeof *address);
    for (size_t i = 0; i < p->symbols.size; i++)
        if (p->symbols.slots[i].value < runs)
            address[p->symbols.slots[i].value] = p->symbols.slots[i].key;
    uint64_t previous = 0;
    for (size_t i = 0; i < runs; i++) {
        strbuf_varint(b, zigzag((int64_t)(address[i] - previous)));
        previous = address[i];
    }
    free(address);
    for (size_t i = 0; i < runs; i++)
        strbuf_varint(b, p->frame_runs.items[i + 1] - p->frame_runs.items[i]);
    PUT_COLUMN(b, p->frames, function);
    PUT_COLUMN(b, p->frames, module);
    PUT_COLUMN(b, p->frames, file);
    PUT_COLUMN(b, p->frames, line);
    PUT_COLUMN(b, p->frames, kind);
}

void writer_begin(struct strbuf *out)
{
    uint32_t version[2] = {FILE_VERSION, 0};
    strbuf_add(out, FILE_MAGIC, 8);
    strbuf_add(out, version, 8);
}

/* --- the chunks of a profile, packed on several processors ------------------------------------ */

/* In the order of the file. */
static const struct part {
    enum chunk_type type;
    enum profile_part part;
    void (*put)(struct strbuf *b, const struct profile *p); /* NULL: put_intervals */
} parts[] = {{CHUNK_PROCESS, PROFILE_ENDING, put_process},
             {CHUNK_SAMPLING, PROFILE_ENDING, put_sampling},
             {CHUNK_NOTES, PROFILE_ENDING, put_notes},
             {CHUNK_THREADS, PROFILE_FIGURES, put_threads},
             {CHUNK_NODES, PROFILE_FIGURES, put_nodes},
             {CHUNK_SITES, PROFILE_FIGURES, put_sites},
             {CHUNK_INTERVALS, PROFILE_FIGURES, NULL},
             {CHUNK_STAMPS, PROFILE_FIGURES, put_stamps},
             {CHUNK_MARKS, PROFILE_FIGURES, put_marks},
             {CHUNK_INHERITED, PROFILE_FIGURES, put_inherited},
             {CHUNK_LIVE, PROFILE_FIGURES, living_put},
             {CHUNK_MAPS, PROFILE_FIGURES, captures_put},
             {CHUNK_FOOTPRINTS, PROFILE_FIGURES, footprints_put},
             {CHUNK_PYTHON, PROFILE_FIGURES, python_put},
             {CHUNK_HISTOGRAMS, PROFILE_FIGURES, histograms_put},
             {CHUNK_CHAINS, PROFILE_FIGURES, chain_rows_put},
             {CHUNK_MODULES, PROFILE_NAMES, put_modules},
             {CHUNK_FRAMES, PROFILE_NAMES, put_frames}};
#define PARTS (sizeof parts / sizeof *parts)

struct packing {
    uint32_t process;
    unsigned wanted; /* of profile_part */
    const struct profile *profile;
    const struct packed_rows *packed;
    _Atomic size_t next; /* the part that nobody has taken yet */
    struct strbuf out[PARTS];
};

/* What a reader makes of the chunk, where it is far more than its bytes. */
static uint64_t memory_of(const struct packing *k, enum chunk_type type)
{
    const struct profile *p = k->profile;
    uint64_t rows = 0;
    switch (type) {
    case CHUNK_NODES: /* each may have an address of its own */
        return p->nodes.count * (sizeof(struct node) + sizeof(uint64_t));
    case CHUNK_SITES:
        return p->sites.count * sizeof(struct site);
    case CHUNK_INTERVALS:
        for (size_t i = 0; i < p->intervals.count; i++)
            rows += k->packed ? k->packed->counts[i] : p->intervals.items[i].row_count;
        return rows * sizeof(struct row) + p->intervals.count * sizeof(struct interval);
    case CHUNK_LIVE:
        return p->live.count * sizeof(struct live_row);
    case CHUNK_HISTOGRAMS:
        return (p->sizes.count + p->lifetimes.count) * sizeof(struct bucket_row) +
               p->looks.count * sizeof(struct freed_look);
    case CHUNK_FRAMES:
        return p->frame_runs.count * SYMBOL_BYTES + p->frames.count * sizeof(struct frame);
    default:
        return 0;
    }
}

static void *pack_parts(void *arg)
{
    struct packing *k = arg;
    struct strbuf b = {0};
    for (size_t i; (i = atomic_fetch_add(&k->next, 1)) < PARTS;) {
        if (!(parts[i].part & k->wanted) ||
            (parts[i].type == CHUNK_NOTES && !k->profile->notes.count) ||
            (parts[i].type == CHUNK_MARKS && !k->profile->marks.count) ||
            (parts[i].type == CHUNK_HISTOGRAMS && !k->profile->has_histograms) ||
            (parts[i].type == CHUNK_CHAINS && !k->profile->chains.count) ||
            (parts[i].type == CHUNK_LIVE && !k->profile->scans.count) ||
            (parts[i].type == CHUNK_FOOTPRINTS && !k->profile->footprints.count) ||
            (parts[i].type == CHUNK_MAPS && !k->profile->captures.count) ||
            (parts[i].type == CHUNK_PYTHON && !k->profile->python_version) ||
            (parts[i].type == CHUNK_INHERITED && !k->profile->inherited.parent) ||
            (parts[i].type == CHUNK_SAMPLING && !profile_is_sampled(k->profile)))
            continue;
        strbuf_clear(&b);
        if (parts[i].put)
            parts[i].put(&b, k->profile);
        else
            put_intervals(&b, k->profile, k->packed);
        chunk_append_large(&k->out[i], parts[i].type, k->process, &b, memory_of(k, parts[i].type));
    }
    strbuf_release(&b);
    return NULL;
}

void writer_parts(struct strbuf *out, uint32_t process, const struct profile *p, unsigned wanted,
                  const struct packed_rows *packed)
{
    struct packing k = {.process = process, .wanted = wanted, .profile = p, .packed = packed};
    pthread_t helper;
    bool helped = wanted != PROFILE_ENDING && p->nodes.count > WORTH_A_THREAD &&
                  pthread_create(&helper, NULL, pack_parts, &k) == 0;
    pack_parts(&k);
    if (helped)
        pthread_join(helper, NULL);
    for (size_t i = 0; i < PARTS; i++) {
        strbuf_add(out, k.out[i].data ? k.out[i].data : "", k.out[i].size);
        strbuf_release(&k.out[i]);
    }
}

void writer_profile(struct strbuf *out, uint32_t process, const struct profile *p,
                    const struct packed_rows *packed)
{
    writer_parts(out, process, p, PROFILE_ENDING | PROFILE_FIGURES | PROFILE_NAMES, packed);
}

static void put_defaults(struct strbuf *b, const struct recording *r)
{
    strbuf_varint(b, r->defaults.count);
    for (size_t i = 0; i < r->defaults.count; i++) {
        strbuf_varint(b, (uint64_t)r->defaults.items[i].kind);
        put_string(b, r->defaults.items[i].name);
        put_string(b, r->defaults.items[i].text);
    }
}

void writer_end(struct strbuf *out, const struct recording *r)
{
    struct strbuf b = {0};
    strbuf_varint(&b, r->strings.strings.count);
    for (size_t i = 0; i < r->strings.strings.count; i++)
        put_string(&b, r->strings.strings.items[i]);
    chunk_append(out, CHUNK_STRINGS, 0, &b);
    strbuf_clear(&b);
    if (r->defaults.count) {
        put_defaults(&b, r);
        chunk_append(out, CHUNK_DEFAULTS, 0, &b);
        strbuf_clear(&b);
    }
    if (r->complete)
        chunk_append(out, CHUNK_DONE, 0, &b);
    strbuf_release(&b);
}

void recording_write(struct strbuf *out, const struct recording *r)
{
    writer_begin(out);
    for (size_t i = 0; i < r->profiles.count; i++)
        writer_profile(out, (uint32_t)i, &r->profiles.items[i], NULL);
    writer_end(out, r);
}
