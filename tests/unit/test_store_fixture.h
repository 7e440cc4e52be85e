/*
 * A recording with everything in it, for tests of the file: how to make it, whether two are the
 * same, and whether one points nowhere.
 */
#ifndef TIDE_TEST_STORE_FIXTURE_H
#define TIDE_TEST_STORE_FIXTURE_H

#include "unit.h"

#include "store/chunk.h"
#include "store/reader.h"
#include "store/rows.h"
#include "store/writer.h"
#include "../consistent.h"

/* --- a recording with everything in it -------------------------------------------------------- */

static inline struct row *add_row(struct profile *p, uint32_t site, uint64_t first)
{
    struct row *row = vec_push(&p->rows);
    *row = (struct row){.site = site};
    for (unsigned k = 0; k < COLUMNS; k++)
        row->columns[k] = first * (k + 1);
    return row;
}

static inline void add_interval(struct profile *p, struct interval v, size_t rows)
{
    v.first_row = p->rows.count - rows;
    v.row_count = rows;
    *vec_push(&p->intervals) = v;
}

static inline void add_frame(struct recording *r, struct profile *p, const char *function,
                             const char *module, const char *file, uint32_t line,
                             enum frame_kind kind)
{
    *vec_push(&p->frames) = (struct frame){.function = strpool_add(&r->strings, function),
                                           .module = strpool_add(&r->strings, module),
                                           .file = strpool_add(&r->strings, file),
                                           .line = line,
                                           .kind = kind};
}

static inline void end_run(struct profile *p, uint64_t address)
{
    if (!p->frame_runs.count)
        *vec_push(&p->frame_runs) = 0;
    *map_at(&p->symbols, address) = (uint32_t)p->frame_runs.count - 1;
    *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
}

static inline void fill_first(struct recording *r, struct profile *p)
{
    *p = (struct profile){.pid = 4711,
                          .ppid = 1,
                          .executable = xstrdup("/usr/bin/program with spaces"),
                          .host = xstrdup("host"),
                          .start_unix_ns = UINT64_C(1700000000123456789),
                          .duration_ns = 5000000001,
                          .exit_code = -1,
                          .signal = 11,
                          .complete = true,
                          .execed = false,
                          .peak_bytes = UINT64_C(1) << 40,
                          .peak_blocks = 77,
                          .peak_time_ns = 123,
                          .peak_skew_bytes = 4096,
                          .memory_peak_bytes = 123456789};
    *vec_push(&p->command) = xstrdup("./program");
    *vec_push(&p->command) = xstrdup("");
    *vec_push(&p->command) = xstrdup("--näme=\xff\n");
    struct module program = {.start = 0x555555554000,
                             .end = 0x555555560000,
                             .bias = 0x555555554000,
                             .path = xstrdup("/usr/bin/program"),
                             .build_id = {0, 1, 2, 3, 254, 255},
                             .build_id_size = 20};
    /* A file whose addresses are above those it is loaded at: its bias is "negative". */
    struct module odd = {.start = 0x1000,
                         .end = 0x2000,
                         .bias = UINT64_C(0) - 0x70000000,
                         .epoch = 4095,
                         .path = xstrdup("")};
    *vec_push(&p->modules) = program;
    *vec_push(&p->modules) = odd;

    static const struct node nodes[] = {{0, 0},
                                        {0, 0x555555555100},
                                        {1, 0x555555555200},
                                        {1, 0x555555555100},
                                        {3, UINT64_C(7) << 48 | 0x7fffffffffff},
                                        {0, NODE_TRUNCATED},
                                        {5, 0x555555555100},
                                        {0, NODE_INCOMPLETE}};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        *vec_push(&p->nodes) = nodes[i];
    *vec_push(&p->threads) = (struct thread){4711, xstrdup("main"), 0, 5000000000};
    *vec_push(&p->threads) = (struct thread){UINT32_MAX, xstrdup("wörker"), 9, 0};

    *vec_push(&p->sites) = (struct site){.node = 6,
                                         .thread = 1,
                                         .domain = DOMAIN_MAPPED,
                                         .at_peak_bytes = 10,
                                         .at_peak_blocks = 2,
                                         .at_peak_usable = 32,
                                         .own_peak_bytes = UINT64_MAX,
                                         .own_peak_blocks = 3,
                                         .largest_bytes = 1,
                                         .unit_bytes = 5,
                                         .unit_usable = 24};
    *vec_push(&p->sites) = (struct site){.node = 2, .largest_bytes = UINT64_C(1) << 60};
    *vec_push(&p->sites) = (struct site){.node = 7, .thread = 1, .unit_bytes = 1, .unit_usable = 1};

    add_row(p, 0, 1);
    add_row(p, 2, 1000);
    add_interval(p, (struct interval){.end_ns = 1000, .peak_bytes = 99}, 2);
    add_interval(p, (struct interval){.end_ns = 1000}, 0);
    add_row(p, 0, 3);
    add_row(p, 1, 0)->columns[COL_FREES] = UINT64_MAX; /* a free that was taken back */
    add_row(p, 2, UINT64_C(1) << 59);
    add_interval(p,
                 (struct interval){.end_ns = UINT64_C(1) << 62,
                                   .peak_bytes = UINT64_MAX,
                                   .unknown_frees = 1,
                                   .lost_events = 2,
                                   .truncated_stacks = 3,
                                   .incomplete_stacks = 4},
                 3);

    *vec_push(&p->stamps) = (struct stamp){1, 2, 3, 4, 5, 6, 7, 8, 9};
    *vec_push(&p->stamps) = (struct stamp){10, 1, 0, UINT64_MAX, 5, 6, 1, 0, 900};
    p->has_histograms = true;
    *vec_push(&p->sizes) = (struct bucket_row){1, 0, 1, 0};
    *vec_push(&p->sizes) = (struct bucket_row){1, 63, UINT64_MAX, UINT64_MAX};
    *vec_push(&p->sizes) = (struct bucket_row){2, 7, 5, 640};
    *vec_push(&p->lifetimes) = (struct bucket_row){2, 45, 3, 0};
    for (uint32_t i = 0; i < 2; i++) {
        struct footprint f = {.kind = FOOTPRINT_MARK + i,
                              .time_ns = i,
                              .exact = i,
                              .partial = !i,
                              .rss_bytes = UINT64_MAX,
                              .live_bytes = 5,
                              .trim_bytes = 6,
                              .arenas = 7,
                              .first_pin = p->pins.count,
                              .pin_count = i};
        for (uint64_t k = 0; k < FOOTPRINT_PARTS; k++)
            f.parts[k] = k * k + i;
        *vec_push(&p->footprints) = f;
    }
    *vec_push(&p->pins) = (struct pin){2, UINT64_MAX, 9};
    *vec_push(&p->freed_readings) = (struct freed_reading){0, 1, 2, 3, UINT64_MAX};
    *vec_push(&p->freed_readings) = (struct freed_reading){2, 5, 6, 7, 8};
    *vec_push(&p->chains) =
        (struct chain_row){0, {1, UINT64_MAX, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, UINT64_MAX}};
    *vec_push(&p->chains) = (struct chain_row){2, {.growths = 5}};
    *vec_push(&p->notes) = xstrdup("one sentence");
    *vec_push(&p->notes) = xstrdup("");

    add_frame(r, p, "std::vector<int>::push_back", "program", "/usr/include/c++/12/vector", 12,
              FRAME_INLINED);
    add_frame(r, p, "main", "program", "main.c", UINT32_MAX, FRAME_NATIVE);
    end_run(p, 0x555555555100);
    add_frame(r, p, "main", "program", "main.c", 7, FRAME_NATIVE);
    end_run(p, 0x555555555200);
    end_run(p, 0x1234); /* an address with nothing known of it */
    add_frame(r, p, "f", "<string>", "", 0, FRAME_PYTHON);
    end_run(p, UINT64_C(7) << 48 | 0x7fffffffffff);
}

/* A process that did next to nothing. */
static inline void fill_second(struct profile *p)
{
    *p = (struct profile){.pid = 4712,
                          .ppid = 4711,
                          .executable = xstrdup("/bin/true"),
                          .host = xstrdup("host"),
                          .exit_code = 3,
                          .execed = true};
    *vec_push(&p->nodes) = (struct node){0};
    *vec_push(&p->frame_runs) = 0;
}

static inline struct recording *sample(void)
{
    struct recording *r = recording_new();
    vec_reserve(&r->profiles, 2);
    r->profiles.count = 2;
    fill_first(r, &r->profiles.items[0]);
    fill_second(&r->profiles.items[1]);
    r->complete = true;
    return r;
}

/* --- equal, field by field -------------------------------------------------------------------- */

static inline void assert_process_equal(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->ppid, b->ppid);
    assert_int_equal(a->command.count, b->command.count);
    for (size_t i = 0; i < a->command.count; i++)
        assert_string_equal(a->command.items[i], b->command.items[i]);
    assert_string_equal(a->executable, b->executable);
    assert_string_equal(a->host, b->host);
    assert_u64_equal(a->start_unix_ns, b->start_unix_ns);
    assert_u64_equal(a->duration_ns, b->duration_ns);
    assert_int_equal(a->exit_code, b->exit_code);
    assert_int_equal(a->signal, b->signal);
    assert_int_equal(a->complete, b->complete);
    assert_int_equal(a->execed, b->execed);
    assert_u64_equal(a->peak_bytes, b->peak_bytes);
    assert_u64_equal(a->peak_blocks, b->peak_blocks);
    assert_u64_equal(a->peak_time_ns, b->peak_time_ns);
    assert_u64_equal(a->peak_skew_bytes, b->peak_skew_bytes);
    assert_u64_equal(a->memory_peak_bytes, b->memory_peak_bytes);
}

static inline void assert_code_equal(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->modules.count, b->modules.count);
    for (size_t i = 0; i < a->modules.count; i++) {
        const struct module *m = &a->modules.items[i], *n = &b->modules.items[i];
        assert_u64_equal(m->start, n->start);
        assert_u64_equal(m->end, n->end);
        assert_u64_equal(m->bias, n->bias);
        assert_int_equal(m->epoch, n->epoch);
        assert_string_equal(m->path, n->path);
        assert_int_equal(m->build_id_size, n->build_id_size);
        assert_memory_equal(m->build_id, n->build_id, sizeof m->build_id);
    }
    assert_int_equal(a->nodes.count, b->nodes.count);
    for (size_t i = 0; i < a->nodes.count; i++) {
        assert_int_equal(a->nodes.items[i].parent, b->nodes.items[i].parent);
        assert_u64_equal(a->nodes.items[i].address, b->nodes.items[i].address);
    }
    assert_int_equal(a->threads.count, b->threads.count);
    for (size_t i = 0; i < a->threads.count; i++) {
        const struct thread *t = &a->threads.items[i], *u = &b->threads.items[i];
        assert_int_equal(t->tid, u->tid);
        assert_string_equal(t->name, u->name);
        assert_u64_equal(t->start_ns, u->start_ns);
        assert_u64_equal(t->end_ns, u->end_ns);
    }
}

static inline void assert_counts_equal(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->sites.count, b->sites.count);
    for (size_t i = 0; i < a->sites.count; i++) {
        const struct site *s = &a->sites.items[i], *t = &b->sites.items[i];
        assert_int_equal(s->node, t->node);
        assert_int_equal(s->thread, t->thread);
        assert_int_equal(s->domain, t->domain);
        assert_u64_equal(s->at_peak_bytes, t->at_peak_bytes);
        assert_u64_equal(s->at_peak_blocks, t->at_peak_blocks);
        assert_u64_equal(s->at_peak_usable, t->at_peak_usable);
        assert_u64_equal(s->own_peak_bytes, t->own_peak_bytes);
        assert_u64_equal(s->own_peak_blocks, t->own_peak_blocks);
        assert_u64_equal(s->largest_bytes, t->largest_bytes);
        assert_u64_equal(s->unit_bytes, t->unit_bytes);
        assert_u64_equal(s->unit_usable, t->unit_usable);
    }
    assert_int_equal(a->intervals.count, b->intervals.count);
    for (size_t i = 0; i < a->intervals.count; i++) {
        const struct interval *v = &a->intervals.items[i], *w = &b->intervals.items[i];
        assert_u64_equal(v->end_ns, w->end_ns);
        assert_u64_equal(v->peak_bytes, w->peak_bytes);
        assert_u64_equal(v->unknown_frees, w->unknown_frees);
        assert_u64_equal(v->lost_events, w->lost_events);
        assert_u64_equal(v->truncated_stacks, w->truncated_stacks);
        assert_u64_equal(v->incomplete_stacks, w->incomplete_stacks);
        assert_int_equal(v->first_row, w->first_row);
        assert_int_equal(v->row_count, w->row_count);
    }
    assert_int_equal(a->rows.count, b->rows.count);
    for (size_t i = 0; i < a->rows.count; i++) {
        assert_int_equal(a->rows.items[i].site, b->rows.items[i].site);
        for (unsigned k = 0; k < COLUMNS; k++)
            assert_u64_equal(a->rows.items[i].columns[k], b->rows.items[i].columns[k]);
    }
}

static inline void assert_buckets_equal(const struct bucket_rows *a, const struct bucket_rows *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        assert_memory_equal(&a->items[i], &b->items[i], sizeof *a->items);
}

static inline void assert_histograms_equal(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->has_histograms, b->has_histograms);
    assert_buckets_equal(&a->sizes, &b->sizes);
    assert_buckets_equal(&a->lifetimes, &b->lifetimes);
    assert_int_equal(a->footprints.count, b->footprints.count);
    for (size_t i = 0; i < a->footprints.count; i++) {
        const struct footprint *k = &a->footprints.items[i], *m = &b->footprints.items[i];
        assert_true(k->kind == m->kind && k->time_ns == m->time_ns && k->exact == m->exact &&
                    k->partial == m->partial && k->rss_bytes == m->rss_bytes &&
                    k->live_bytes == m->live_bytes && k->trim_bytes == m->trim_bytes &&
                    k->arenas == m->arenas && k->first_pin == m->first_pin &&
                    k->pin_count == m->pin_count);
        assert_memory_equal(k->parts, m->parts, sizeof k->parts);
    }
    assert_int_equal(a->pins.count, b->pins.count);
    for (size_t i = 0; i < a->pins.count; i++)
        assert_true(a->pins.items[i].site == b->pins.items[i].site &&
                    a->pins.items[i].pinned == b->pins.items[i].pinned &&
                    a->pins.items[i].bytes == b->pins.items[i].bytes);
    assert_int_equal(a->freed_readings.count, b->freed_readings.count);
    for (size_t i = 0; i < a->freed_readings.count; i++) {
        const struct freed_reading *k = &a->freed_readings.items[i],
                                   *m = &b->freed_readings.items[i];
        assert_int_equal(k->site, m->site);
        assert_u64_equal(k->blocks, m->blocks);
        assert_u64_equal(k->bytes, m->bytes);
        assert_u64_equal(k->untouched_blocks, m->untouched_blocks);
        assert_u64_equal(k->untouched, m->untouched);
    }
    assert_int_equal(a->chains.count, b->chains.count);
    for (size_t i = 0; i < a->chains.count; i++) {
        assert_int_equal(a->chains.items[i].site, b->chains.items[i].site);
        assert_memory_equal(&a->chains.items[i].of, &b->chains.items[i].of,
                            sizeof a->chains.items[i].of);
    }
}

static inline void assert_rest_equal(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->stamps.count, b->stamps.count);
    for (size_t i = 0; i < a->stamps.count; i++)
        assert_memory_equal(&a->stamps.items[i], &b->stamps.items[i], sizeof(struct stamp));
    assert_int_equal(a->notes.count, b->notes.count);
    for (size_t i = 0; i < a->notes.count; i++)
        assert_string_equal(a->notes.items[i], b->notes.items[i]);
    assert_int_equal(a->frames.count, b->frames.count);
    for (size_t i = 0; i < a->frames.count; i++) {
        assert_int_equal(a->frames.items[i].function, b->frames.items[i].function);
        assert_int_equal(a->frames.items[i].module, b->frames.items[i].module);
        assert_int_equal(a->frames.items[i].file, b->frames.items[i].file);
        assert_int_equal(a->frames.items[i].line, b->frames.items[i].line);
        assert_int_equal(a->frames.items[i].kind, b->frames.items[i].kind);
    }
    assert_int_equal(a->frame_runs.count, b->frame_runs.count);
    for (size_t i = 0; i < a->frame_runs.count; i++)
        assert_int_equal(a->frame_runs.items[i], b->frame_runs.items[i]);
    assert_int_equal(a->symbols.count, b->symbols.count);
    for (size_t i = 0; i < a->symbols.size; i++)
        if (a->symbols.slots[i].value != MAP_NONE)
            assert_int_equal(map_get(&b->symbols, a->symbols.slots[i].key),
                             a->symbols.slots[i].value);
}

static inline void assert_recordings_equal(const struct recording *a, const struct recording *b)
{
    assert_int_equal(a->profiles.count, b->profiles.count);
    for (size_t i = 0; i < a->profiles.count; i++) {
        assert_process_equal(&a->profiles.items[i], &b->profiles.items[i]);
        assert_code_equal(&a->profiles.items[i], &b->profiles.items[i]);
        assert_counts_equal(&a->profiles.items[i], &b->profiles.items[i]);
        assert_histograms_equal(&a->profiles.items[i], &b->profiles.items[i]);
        assert_rest_equal(&a->profiles.items[i], &b->profiles.items[i]);
    }
    assert_int_equal(a->strings.strings.count, b->strings.strings.count);
    for (uint32_t i = 0; i < a->strings.strings.count; i++)
        assert_string_equal(strpool_get(&a->strings, i), strpool_get(&b->strings, i));
    assert_int_equal(a->complete, b->complete);
}

/* --- nothing points nowhere ------------------------------------------------------------------- */

/* What src/model takes for granted of any recording that opens. */
static inline void check_consistent(const struct recording *r)
{
    assert_true(r->profiles.count > 0);
    assert_int_equal(r->complete, r->incomplete == NULL);
    for (size_t n = 0; n < r->profiles.count; n++)
        assert_true(profile_is_consistent(&r->profiles.items[n]));
}

#endif
