/* A recording as a file and back; files that are cut, flipped or made to hurt. */
#include "unit.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "store/chunk.h"
#include "store/reader.h"
#include "store/rows.h"
#include "store/writer.h"

/* --- a recording with everything in it -------------------------------------------------------- */

static struct row *add_row(struct profile *p, uint32_t site, uint64_t first)
{
    struct row *row = vec_push(&p->rows);
    *row = (struct row){.site = site};
    for (unsigned k = 0; k < COLUMNS; k++)
        row->columns[k] = first * (k + 1);
    return row;
}

static void add_interval(struct profile *p, struct interval v, size_t rows)
{
    v.first_row = p->rows.count - rows;
    v.row_count = rows;
    *vec_push(&p->intervals) = v;
}

static void add_frame(struct recording *r, struct profile *p, const char *function,
                      const char *module, const char *file, uint32_t line, enum frame_kind kind)
{
    *vec_push(&p->frames) = (struct frame){.function = strpool_add(&r->strings, function),
                                           .module = strpool_add(&r->strings, module),
                                           .file = strpool_add(&r->strings, file),
                                           .line = line,
                                           .kind = kind};
}

static void end_run(struct profile *p, uint64_t address)
{
    if (!p->frame_runs.count)
        *vec_push(&p->frame_runs) = 0;
    *map_at(&p->symbols, address) = (uint32_t)p->frame_runs.count - 1;
    *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
}

static void fill_first(struct recording *r, struct profile *p)
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
    *vec_push(&p->looks) = (struct freed_look){0, 1, 2, 3, UINT64_MAX};
    *vec_push(&p->looks) = (struct freed_look){2, 5, 6, 7, 8};
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
static void fill_second(struct profile *p)
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

static struct recording *sample(void)
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

static void assert_process_equal(const struct profile *a, const struct profile *b)
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

static void assert_code_equal(const struct profile *a, const struct profile *b)
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

static void assert_counts_equal(const struct profile *a, const struct profile *b)
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

static void assert_buckets_equal(const struct bucket_rows *a, const struct bucket_rows *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        assert_memory_equal(&a->items[i], &b->items[i], sizeof *a->items);
}

static void assert_histograms_equal(const struct profile *a, const struct profile *b)
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
    assert_int_equal(a->looks.count, b->looks.count);
    for (size_t i = 0; i < a->looks.count; i++) {
        const struct freed_look *k = &a->looks.items[i], *m = &b->looks.items[i];
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

static void assert_rest_equal(const struct profile *a, const struct profile *b)
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

static void assert_recordings_equal(const struct recording *a, const struct recording *b)
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
static void check_consistent(const struct recording *r)
{
    assert_true(r->profiles.count > 0);
    assert_int_equal(r->complete, r->incomplete == NULL);
    for (size_t n = 0; n < r->profiles.count; n++) {
        const struct profile *p = &r->profiles.items[n];
        assert_true(p->nodes.count > 0 && p->frame_runs.count > 0);
        for (size_t i = 1; i < p->nodes.count; i++)
            assert_true(p->nodes.items[i].parent < i);
        for (size_t i = 0; i < p->sites.count; i++) {
            assert_true(p->sites.items[i].node < p->nodes.count);
            assert_true(p->sites.items[i].thread < p->threads.count);
            assert_true(p->sites.items[i].domain < DOMAIN_COUNT);
        }
        for (size_t i = 0; i < p->intervals.count; i++)
            assert_true(p->intervals.items[i].first_row + p->intervals.items[i].row_count <=
                        p->rows.count);
        for (size_t i = 0; i < p->rows.count; i++)
            assert_true(p->rows.items[i].site < p->sites.count);
        for (size_t i = 0; i < p->sizes.count; i++)
            assert_true(p->sizes.items[i].site < p->sites.count);
        for (size_t i = 0; i < p->lifetimes.count; i++)
            assert_true(p->lifetimes.items[i].site < p->sites.count);
        for (size_t i = 0; i < p->looks.count; i++)
            assert_true(p->looks.items[i].site < p->sites.count);
        for (size_t i = 0; i < p->chains.count; i++)
            assert_true(p->chains.items[i].site < p->sites.count);
        for (size_t i = 0; i + 1 < p->frame_runs.count; i++)
            assert_true(p->frame_runs.items[i] <= p->frame_runs.items[i + 1]);
        assert_true(*vec_last(&p->frame_runs) <= p->frames.count);
        for (size_t i = 0; i < p->threads.count; i++)
            assert_non_null(p->threads.items[i].name);
        for (size_t i = 0; i < p->modules.count; i++)
            assert_non_null(p->modules.items[i].path);
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_round_trip(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0}, again = {0};
    struct err err;
    recording_write(&file, r);
    assert_int_equal(recording_parse(file.data, file.size, "x", &got, &err), 0);
    assert_null(got->incomplete);
    check_consistent(got);
    assert_recordings_equal(r, got);
    recording_write(&again, got);
    assert_int_equal(again.size, file.size);
    assert_memory_equal(again.data, file.data, file.size);
    recording_free(got);
    recording_free(r);
    strbuf_release(&file);
    strbuf_release(&again);
}

/* Of processes that were not chosen it is known who they are, what was noted of them and which
 * marks they have: enough to choose one, and for the head of a report. */
static void test_one_process_of_several(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    static const uint32_t choices[] = {READER_NONE, 0, 1};
    for (size_t k = 0; k < 3; k++) {
        const struct reader_choice choice = {.process = choices[k], .most = UINT64_MAX};
        assert_int_equal(recording_parse_some(file.data, file.size, "x", &choice, &got, &err), 0);
        assert_null(got->incomplete);
        check_consistent(got);
        assert_int_equal(got->profiles.count, r->profiles.count);
        for (size_t i = 0; i < r->profiles.count; i++) {
            const struct profile *a = &r->profiles.items[i], *b = &got->profiles.items[i];
            assert_process_equal(a, b);
            assert_int_equal(a->notes.count, b->notes.count);
            assert_int_equal(a->marks.count, b->marks.count);
            assert_int_equal(b->sites.count, choices[k] == i ? a->sites.count : 0);
            assert_int_equal(b->frames.count, choices[k] == i ? a->frames.count : 0);
        }
        recording_free(got);
    }
    recording_free(r);
    strbuf_release(&file);
}

/* As the collector writes it: rows packed already. */
static void test_packed_rows(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    const struct profile *p = &r->profiles.items[0];
    struct strbuf file = {0}, rows[3] = {0};
    const struct strbuf *list[3] = {&rows[0], &rows[1], &rows[2]};
    size_t counts[3];
    struct err err;
    for (size_t i = 0; i < 3; i++) {
        uint32_t previous = UINT32_MAX;
        const struct interval *v = &p->intervals.items[i];
        counts[i] = v->row_count;
        for (size_t k = 0; k < v->row_count; k++) {
            const struct row *row = &p->rows.items[v->first_row + k];
            row_put(&rows[i], &previous, row, &p->sites.items[row->site].unit);
        }
    }
    const struct packed_rows packed = {.rows = list, .counts = counts};
    writer_begin(&file);
    writer_profile(&file, 0, p, &packed);
    writer_profile(&file, 1, &r->profiles.items[1], NULL);
    writer_end(&file, r);
    assert_int_equal(recording_parse(file.data, file.size, "x", &got, &err), 0);
    assert_recordings_equal(r, got);
    recording_free(got);
    recording_free(r);
    strbuf_release(&file);
    for (size_t i = 0; i < 3; i++)
        strbuf_release(&rows[i]);
}

static void test_read_from_disk(void **state)
{
    (void)state;
    char path[] = "/tmp/tidemark-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    assert_int_equal(write(fd, file.data, file.size), file.size);
    close(fd);
    assert_int_equal(recording_read(path, &got, &err), 0);
    assert_recordings_equal(r, got);
    recording_free(got);
    unlink(path);
    assert_int_equal(recording_read(path, &got, &err), -2);
    assert_non_null(strstr(err.text, path));
    assert_true(recording_read("/tmp", &got, &err) < 0);
    recording_free(r);
    strbuf_release(&file);
}

/* One chunk more, of a type from the future, at the beginning, between others and at the end. */
static void test_unknown_chunks_are_skipped(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0}, payload = {0}, unknown = {0};
    struct err err;
    recording_write(&file, r);
    strbuf_puts(&payload, "from the future");
    chunk_append(&unknown, (enum chunk_type)CHUNK_TYPE('N', 'E', 'W', '!'), 12345, &payload);
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(file.data, file.size);
    size_t offset, places = 0;
    source.offset = FILE_HEADER;
    struct chunk chunk;
    do {
        offset = (size_t)source.offset;
        struct strbuf longer = {0};
        strbuf_add(&longer, file.data, offset);
        strbuf_add(&longer, unknown.data, unknown.size);
        strbuf_add(&longer, file.data + offset, file.size - offset);
        assert_int_equal(recording_parse(longer.data, longer.size, "x", &got, &err), 0);
        assert_null(got->incomplete);
        assert_recordings_equal(r, got);
        recording_free(got);
        strbuf_release(&longer);
        places++;
    } while (chunk_next(&source, &chunk, &err) > 0);
    chunk_source_release(&source);
    assert_int_equal(offset, file.size);
    assert_int_equal(
        places,
        12 + 8 + 2 +
            1); /* the second has no accounts, histograms, chains or notes; strings, the end */
    recording_free(r);
    strbuf_release(&file);
    strbuf_release(&payload);
    strbuf_release(&unknown);
}

static void test_not_ours(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    assert_true(recording_parse("", 0, "nothing", &got, &err) < 0);
    assert_string_equal(err.text, "nothing is empty, not a tidemark recording");
    assert_true(recording_parse("#!/bin/sh\necho hello world\n", 27, "a.sh", &got, &err) < 0);
    assert_string_equal(err.text, "a.sh is not a tidemark recording");
    file.data[8] = 2;
    assert_true(recording_parse(file.data, file.size, "new.tide", &got, &err) < 0);
    assert_string_equal(err.text, "new.tide has format version 2; this tidemark reads version 1");
    file.data[8] = 1;
    assert_true(recording_parse(file.data, FILE_HEADER, "head.tide", &got, &err) < 0);
    assert_string_equal(err.text, "head.tide holds no whole profile");
    assert_null(got);
    recording_free(r);
    strbuf_release(&file);
}

/* The bytes in a place of their own, so that a read beyond them is seen (by ASan and valgrind). */
static int parse_exactly(const char *bytes, size_t size, struct recording **got, struct err *err)
{
    char *exact = xmalloc(size);
    memcpy(exact, bytes, size);
    err->text[0] = '\0';
    *got = NULL;
    int status = recording_parse(exact, size, "cut.tide", got, err);
    free(exact);
    return status;
}

static void test_cut_at_every_length(void **state)
{
    (void)state;
    struct recording *r = sample(), *got;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(file.data, file.size);
    struct chunk chunk;
    source.offset = FILE_HEADER;
    chunk_next(&source, &chunk, &err);
    size_t first_chunk = (size_t)source.offset, opened = 0;
    chunk_source_release(&source);
    for (size_t size = 0; size < file.size; size++) {
        int status = parse_exactly(file.data, size, &got, &err);
        assert_int_equal(status == 0, size >= first_chunk);
        if (status) {
            assert_null(got);
            assert_true(strlen(err.text) > 10 && !strchr(err.text, '\n'));
            continue;
        }
        opened++;
        assert_false(got->complete);
        assert_non_null(got->incomplete);
        assert_true(strlen(got->incomplete) > 10 && !strchr(got->incomplete, '\n'));
        check_consistent(got);
        /* What came before the cut is there as it was. */
        assert_process_equal(&got->profiles.items[0], &r->profiles.items[0]);
        if (got->profiles.items[0].intervals.count)
            assert_counts_equal(&got->profiles.items[0], &r->profiles.items[0]);
        if (got->profiles.count == 2) {
            assert_code_equal(&got->profiles.items[0], &r->profiles.items[0]);
            assert_process_equal(&got->profiles.items[1], &r->profiles.items[1]);
        }
        recording_free(got);
    }
    assert_true(opened > 500);
    recording_free(r);
    strbuf_release(&file);
}

static void test_every_bit_flipped(void **state)
{
    (void)state;
    struct recording *r = sample(), *got;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    for (size_t bit = 0; bit < file.size * 8; bit++) {
        file.data[bit / 8] ^= (char)(1 << bit % 8);
        int status = recording_parse(file.data, file.size, "x", &got, &err);
        if (bit / 8 >= 12 && bit / 8 < FILE_HEADER) { /* set aside, and not looked at */
            assert_int_equal(status, 0);
            assert_recordings_equal(got, r);
        } else if (status == 0) {
            assert_false(got->complete);
            assert_non_null(strstr(got->incomplete, "; what came before it is shown"));
            check_consistent(got);
            assert_process_equal(&got->profiles.items[0], &r->profiles.items[0]);
        }
        if (status == 0)
            recording_free(got);
        file.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    recording_free(r);
    strbuf_release(&file);
}

/* --- hostile: the checksums are right, the contents are not ----------------------------------- */

static const enum chunk_type types[] = {CHUNK_PROCESS, CHUNK_MODULES,   CHUNK_THREADS, CHUNK_NODES,
                                        CHUNK_SITES,   CHUNK_INTERVALS, CHUNK_STAMPS,  CHUNK_NOTES,
                                        CHUNK_FRAMES,  CHUNK_STRINGS};
enum { TYPES = sizeof types / sizeof *types };

/* The sample, chunk by chunk, with the chunk number `which` replaced by `payload`. */
static int parse_replaced(const struct strbuf *file, size_t which, const struct strbuf *payload,
                          struct recording **got)
{
    struct strbuf other = {0};
    struct chunk chunk;
    struct err err;
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(file->data, file->size);
    size_t before = (size_t)(source.offset = FILE_HEADER);
    strbuf_add(&other, file->data, FILE_HEADER);
    for (size_t n = 0; chunk_next(&source, &chunk, &err) > 0; n++) {
        if (n == which)
            chunk_append(&other, (enum chunk_type)chunk.type, chunk.process, payload);
        else
            strbuf_add(&other, file->data + before, (size_t)source.offset - before);
        before = (size_t)source.offset;
    }
    chunk_source_release(&source);
    int status = parse_exactly(other.data, other.size, got, &err);
    strbuf_release(&other);
    return status;
}

/* Every byte of every chunk's content, one at a time, made something else. */
static void test_contents_changed(void **state)
{
    (void)state;
    struct recording *r = sample(), *got;
    struct strbuf file = {0}, raw = {0};
    struct chunk chunk;
    struct err err;
    size_t opened = 0;
    recording_write(&file, r);
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(file.data, file.size);
    source.offset = FILE_HEADER;
    for (size_t n = 0; chunk_next(&source, &chunk, &err) > 0; n++) {
        assert_int_equal(chunk_unpack(&chunk, &raw, &err), 0);
        for (size_t at = 0; at < raw.size; at++) {
            static const unsigned char others[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
            char was = raw.data[at];
            for (size_t k = 0; k < sizeof others; k++) {
                raw.data[at] = (char)others[k];
                if (parse_replaced(&file, n, &raw, &got) == 0) {
                    check_consistent(got);
                    recording_free(got);
                    opened++;
                }
            }
            raw.data[at] = was;
        }
        for (size_t size = 0; size < raw.size; size++) { /* and cut */
            struct strbuf shorter = {.data = raw.data, .size = size, .capacity = raw.capacity};
            if (parse_replaced(&file, n, &shorter, &got) == 0) {
                check_consistent(got);
                recording_free(got);
                opened++;
            }
        }
    }
    assert_true(opened > 1000);
    chunk_source_release(&source);
    recording_free(r);
    strbuf_release(&file);
    strbuf_release(&raw);
}

static uint64_t peak_kilobytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss;
}

/* Counts and sizes that promise far more than there is. */
static void test_hostile_counts(void **state)
{
    (void)state;
    static const uint64_t counts[] = {
        UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 32, UINT32_MAX, 1 << 30, 1 << 20, 60};
    uint64_t before = peak_kilobytes();
    for (size_t t = 0; t < TYPES; t++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (unsigned where = 0; where < 40; where++) { /* the number is the where-th of it */
                struct strbuf file = {0}, payload = {0}, empty = {0};
                struct recording *got;
                struct err err;
                for (unsigned k = 0; k < 50; k++)
                    strbuf_varint(&payload, k == where ? counts[i] : 1);
                writer_begin(&file);
                chunk_append(&file, CHUNK_PROCESS, 0, &empty);
                chunk_append(&file, types[t], 0, &payload);
                if (parse_exactly(file.data, file.size, &got, &err) == 0) {
                    check_consistent(got);
                    recording_free(got);
                }
                strbuf_clear(&file);
                writer_begin(&file);
                chunk_append(&file, types[t], 0, &payload);
                if (parse_exactly(file.data, file.size, &got, &err) == 0) {
                    check_consistent(got);
                    recording_free(got);
                }
                strbuf_release(&file);
                strbuf_release(&payload);
            }
    if (!UNIT_SANITIZED) /* which keeps what was freed for a while */
        assert_true(peak_kilobytes() - before < 16 * 1024);
}

/* A header that promises more than the payload unpacks to, and processes that are not there. */
static void test_hostile_headers(void **state)
{
    (void)state;
    struct strbuf file = {0}, payload = {0}, empty = {0};
    struct recording *got;
    struct err err;
    strbuf_puts(&payload, "\x01");
    writer_begin(&file);
    chunk_append(&file, CHUNK_PROCESS, 0, &empty);
    assert_true(parse_exactly(file.data, file.size, &got, &err) ==
                0); /* nothing in it, but there */
    assert_string_equal(got->incomplete, "a chunk before byte 49 makes no sense; what came before "
                                         "it is shown");
    recording_free(got);
    strbuf_clear(&file);
    writer_begin(&file);
    chunk_append(&file, CHUNK_PROCESS, 1, &payload); /* the second comes first */
    assert_true(parse_exactly(file.data, file.size, &got, &err) < 0);
    strbuf_clear(&file);
    writer_begin(&file);
    chunk_append(&file, CHUNK_STRINGS, 0, &payload);
    assert_true(parse_exactly(file.data, file.size, &got, &err) < 0);
    assert_string_equal(err.text, "cut.tide holds no whole profile");
    strbuf_release(&file);
    strbuf_release(&payload);
}

static void put_zeros(struct strbuf *b, size_t size)
{
    strbuf_reserve(b, size);
    memset(b->data + b->size, 0, size);
    b->size += size;
}

/* A recording may be as regular as can be: what is written can be read, though it packs into less
 * than a reader would believe. */
static void test_regular_contents(void **state)
{
    (void)state;
    enum { NODES = 1 << 20, SITES = 1 << 17, INTERVALS = 8 };
    struct recording *r = recording_new(), *got;
    struct profile *p = vec_push(&r->profiles);
    *p = (struct profile){.executable = xstrdup("x"), .host = xstrdup("")};
    *vec_push(&p->threads) = (struct thread){.name = xstrdup("x")};
    for (uint32_t i = 0; i < NODES; i++)
        *vec_push(&p->nodes) = (struct node){.address = i ? 4711 : 0, .parent = i ? i - 1 : 0};
    for (uint32_t i = 0; i < SITES; i++)
        *vec_push(&p->sites) = (struct site){.node = i, .unit_bytes = 8, .unit_usable = 8};
    for (uint32_t i = 0; i < INTERVALS; i++) {
        for (uint32_t k = 0; k < SITES; k++)
            *vec_push(&p->rows) = (struct row){.site = k};
        add_interval(p, (struct interval){.end_ns = i + 1}, SITES);
    }
    r->complete = true;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    recording_free(r);
    uint64_t memory = NODES * sizeof(struct node) + SITES * sizeof(struct site) +
                      INTERVALS * SITES * sizeof(struct row);
    assert_true(memory > MEMORY_FREE);
    assert_in_range(file.size, memory / MEMORY_RATIO, memory / MEMORY_RATIO * 2);
    assert_int_equal(recording_parse(file.data, file.size, "x", &got, &err), 0);
    assert_null(got->incomplete);
    assert_int_equal(got->profiles.items[0].rows.count, INTERVALS * SITES);
    recording_free(got);
    strbuf_release(&file);
}

/* As chunk_append, but packed as well as can be. */
static void append_packed(struct strbuf *out, enum chunk_type type, const struct strbuf *payload)
{
    size_t bound = ZSTD_compressBound(payload->size);
    strbuf_reserve(out, CHUNK_HEADER + bound);
    char *header = out->data + out->size;
    size_t stored = ZSTD_compress(header + CHUNK_HEADER, bound, payload->data, payload->size, 6);
    uint32_t words[4] = {type, 0, (uint32_t)stored, (uint32_t)payload->size};
    memcpy(header, words, sizeof words);
    uint64_t checksum = XXH64(header + CHUNK_HEADER, stored, XXH64(header, 16, 0));
    memcpy(header + 16, &checksum, 8);
    out->size += CHUNK_HEADER + stored;
}

/* A hundred megabytes of zeros pack into 4 KiB: opening it in a child that may have 512 MiB. */
static void test_bomb(void **state)
{
    (void)state;
    struct strbuf zeros = {0}, count = {0}, file = {0};
    const size_t size = 100u << 20;
    strbuf_varint(&count, size - 16);
    put_zeros(&zeros, size);
    memcpy(zeros.data, count.data, count.size);
    struct strbuf process = {0};
    put_zeros(&process, 15);
    writer_begin(&file);
    chunk_append(&file, CHUNK_PROCESS, 0, &process);
    append_packed(&file, CHUNK_NOTES, &zeros); /* a hundred million empty sentences */
    assert_true(file.size < 64 * 1024);
    strbuf_release(&zeros);
    strbuf_release(&count);
    strbuf_release(&process);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {512u << 20, 512u << 20};
        setrlimit(RLIMIT_AS, &limit);
        struct recording *got;
        struct err err;
        close(2);
        _exit(recording_parse(file.data, file.size, "x", &got, &err) == 0 && got->incomplete ? 0
                                                                                             : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    strbuf_release(&file);
}

/* --- few bytes that become much memory -------------------------------------------------------- */

static void put_repeated(struct strbuf *b, const void *item, size_t size, size_t count)
{
    strbuf_reserve(b, size * count);
    for (size_t i = 0; i < count; i++, b->size += size)
        memcpy(b->data + b->size, item, size);
}

enum { SPREAD_SITES = 10000 };

/* What a chunk needs to be believed: a thread, a node, sites. */
static void begin_spread(struct strbuf *file)
{
    struct strbuf b = {0};
    writer_begin(file);
    put_zeros(&b, 15);
    chunk_append(file, CHUNK_PROCESS, 0, &b);
    strbuf_clear(&b);
    strbuf_varint(&b, 1);
    put_zeros(&b, 4);
    chunk_append(file, CHUNK_THREADS, 0, &b);
    strbuf_release(&b);
}

static void add_sites(struct strbuf *file)
{
    struct strbuf b = {0};
    put_zeros(&b, 2); /* no address, and no node but the root */
    chunk_append(file, CHUNK_NODES, 0, &b);
    strbuf_clear(&b);
    strbuf_varint(&b, SPREAD_SITES);
    put_zeros(&b, 11 * SPREAD_SITES);
    chunk_append(file, CHUNK_SITES, 0, &b);
    strbuf_release(&b);
}

/* Of each kind, the items that take least in the file, as many as `bytes` hold. */
static void spread(enum chunk_type type, size_t bytes, struct strbuf *b)
{
    static const uint8_t nothing[64];
    switch (type) {
    case CHUNK_PROCESS: /* arguments without a letter */
        put_zeros(b, 2);
        strbuf_varint(b, bytes);
        put_zeros(b, bytes + 32);
        break;
    case CHUNK_NODES:
        strbuf_varint(b, 1);
        strbuf_varint(b, 4711);
        strbuf_varint(b, bytes / 2);
        put_repeated(b, "\1", 1, bytes / 2);
        put_zeros(b, bytes / 2);
        break;
    case CHUNK_INTERVALS: {
        size_t count = bytes / (SPREAD_SITES * 2 + 9);
        strbuf_varint(b, count);
        for (size_t i = 0; i < count; i++) {
            put_zeros(b, 6);
            strbuf_varint(b, SPREAD_SITES);
        }
        put_repeated(b, "\1\0", 2, count * SPREAD_SITES);
        break;
    }
    case CHUNK_FRAMES:
        strbuf_varint(b, bytes / 2);
        put_repeated(b, "\2", 1, bytes / 2);
        put_zeros(b, bytes / 2);
        break;
    case CHUNK_LIVE:
        strbuf_varint(b, 1);
        put_zeros(b, 6);
        strbuf_varint(b, bytes / 9);
        put_repeated(b, nothing, 9, bytes / 9);
        break;
    case CHUNK_HISTOGRAMS:
        strbuf_varint(b, bytes / 4);
        put_repeated(b, "\0\1\1\1", 4, bytes / 4);
        break;
    default: /* a count of things that may be all zero, of 12 bytes at most */
        strbuf_varint(b, bytes / (type == CHUNK_NOTES     ? 1
                                  : type == CHUNK_THREADS ? 4
                                  : type == CHUNK_MODULES ? 6
                                  : type == CHUNK_SITES   ? 11
                                  : type == CHUNK_STAMPS  ? 12
                                                          : 16));
        put_zeros(b, bytes);
    }
}

/* A file of 256 KiB may unpack to 20 MiB. What it becomes then must be in proportion too. */
static void test_hostile_contents(void **state)
{
    (void)state;
    static const enum chunk_type spreading[] = {
        CHUNK_PROCESS, CHUNK_MODULES, CHUNK_NODES,     CHUNK_THREADS, CHUNK_SITES,
        CHUNK_STAMPS,  CHUNK_MARKS,   CHUNK_INTERVALS, CHUNK_LIVE,    CHUNK_HISTOGRAMS,
        CHUNK_NOTES,   CHUNK_FRAMES,  CHUNK_STRINGS};
    const size_t stored = 256u << 10, bytes = 18u << 20;
    const uint64_t may = MEMORY_FREE + stored * MEMORY_RATIO;
    for (size_t i = 0; i < sizeof spreading / sizeof *spreading; i++) {
        enum chunk_type type = spreading[i];
        struct strbuf file = {0}, b = {0};
        begin_spread(&file);
        if (type != CHUNK_NODES && type != CHUNK_SITES)
            add_sites(&file);
        spread(type, bytes, &b);
        chunk_append(&file, type, 0, &b);
        strbuf_release(&b);
        assert_in_range(file.size, stored, stored * 2);
        pid_t child = fork();
        if (child == 0) {
            struct recording *got;
            struct err err;
            uint64_t before = peak_kilobytes();
            bool parsed = recording_parse(file.data, file.size, "x", &got, &err) == 0;
            uint64_t more = (peak_kilobytes() - before) * 1024;
            /* What was unpacked, and what the allocator adds to small things, come on top. */
            _exit(!parsed ? 2 : !UNIT_SANITIZED && more > may * 3 / 2 ? 1 : 0);
        }
        int status;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            fprintf(stderr, "chunk %.4s: %d\n", (const char *)&type, status);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        strbuf_release(&file);
    }
}

/* What reports leave out by default; kinds of later versions are skipped. */
static void test_defaults(void **state)
{
    (void)state;
    static const char *const texts[] = {"^main$", "", "leak:x\nleak:y\n"};
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0}, b = {0};
    struct err err;
    for (int i = 0; i < 3; i++)
        *vec_push(&r->defaults) = (struct recorded_default){
            (enum default_kind)i, xstrdup(i == 2 ? "x.supp" : ""), xstrdup(texts[i])};
    *vec_push(&r->defaults) =
        (struct recorded_default){(enum default_kind)99, xstrdup("later"), xstrdup("z")};
    recording_write(&file, r);
    assert_int_equal(recording_parse(file.data, file.size, "x", &got, &err), 0);
    assert_null(got->incomplete);
    assert_int_equal(got->defaults.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(got->defaults.items[i].kind, i);
        assert_string_equal(got->defaults.items[i].text, texts[i]);
        assert_string_equal(got->defaults.items[i].name, i == 2 ? "x.supp" : "");
    }
    recording_free(got);
    recording_free(r);
    strbuf_varint(&b, 101); /* more than anyone gives */
    for (int i = 0; i < 303; i++)
        strbuf_varint(&b, 0);
    r = sample();
    strbuf_clear(&file);
    recording_write(&file, r);
    recording_free(r);
    chunk_append(&file, CHUNK_DEFAULTS, 0, &b);
    assert_int_equal(recording_parse(file.data, file.size, "x", &got, &err), 0);
    assert_non_null(got->incomplete);
    assert_int_equal(got->defaults.count, 0);
    recording_free(got);
    strbuf_release(&b);
    strbuf_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_one_process_of_several),
        cmocka_unit_test(test_packed_rows),
        cmocka_unit_test(test_read_from_disk),
        cmocka_unit_test(test_unknown_chunks_are_skipped),
        cmocka_unit_test(test_not_ours),
        cmocka_unit_test(test_cut_at_every_length),
        cmocka_unit_test(test_every_bit_flipped),
        cmocka_unit_test(test_contents_changed),
        cmocka_unit_test(test_hostile_counts),
        cmocka_unit_test(test_hostile_contents),
        cmocka_unit_test(test_hostile_headers),
        cmocka_unit_test(test_regular_contents),
        cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
