/* Kinds of mappings and differences of captures, on mappings made up for it. */
#include "unit.h"

#include <errno.h>

#include "model/mappings.h"
#include "store/reader.h"
#include "store/writer.h"

#define MIB (UINT64_C(1) << 20)

enum { R = MAPPING_READ, W = MAPPING_WRITE, X = MAPPING_EXECUTE, S = MAPPING_SHARED };

struct given {
    uint64_t start, size;
    const char *name;
    uint32_t flags;
    uint64_t rss_kib, anonymous_kib;
    enum mapping_kind kind;
};

static void add_capture(struct profile *p, enum capture_kind kind, uint64_t time_ns,
                        const struct given *g, size_t count)
{
    *vec_push(&p->captures) = (struct capture){
        .kind = kind, .time_ns = time_ns, .first = p->mappings.count, .count = count};
    for (size_t i = 0; i < count; i++) {
        struct mapping m = {.start = g[i].start,
                            .end = g[i].start + g[i].size,
                            .flags = g[i].flags,
                            .name = strpool_add(&p->map_names, g[i].name),
                            .policy = strpool_add(&p->map_names, "default"),
                            .first_node = p->map_nodes.count,
                            .node_count = 1};
        m.kib[MAPPING_RSS] = g[i].rss_kib;
        m.kib[MAPPING_ANONYMOUS] = g[i].anonymous_kib;
        *vec_push(&p->map_nodes) = (struct mapping_node){.node = i % 2, .kib = g[i].rss_kib};
        *vec_push(&p->mappings) = m;
    }
}

static struct recording *new_recording(void)
{
    struct recording *r = recording_new();
    struct profile *p = vec_push(&r->profiles);
    *p = (struct profile){
        .pid = 1, .executable = xstrdup("/bin/app"), .host = xstrdup(""), .duration_ns = 1000};
    *vec_push(&p->nodes) = (struct node){0};
    *vec_push(&p->intervals) = (struct interval){.end_ns = 1000};
    strpool_add(&p->map_names, "");
    r->complete = true;
    return r;
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct given g[] = {
        {0x400000, 0x1000, "/bin/app", R, 4, 0, KIND_PROGRAM_TEXT},
        {0x401000, 0x1000, "/bin/app", R | X, 4, 4, KIND_PROGRAM_TEXT}, /* a breakpoint */
        {0x402000, 0x1000, "/bin/app", R, 4, 4, KIND_PROGRAM_DATA},     /* relocated */
        {0x403000, 0x1000, "/bin/app", R | W, 4, 4, KIND_PROGRAM_DATA},
        {0x404000, 0x9000, "", R | W | MAPPING_ZEROED | MAPPING_BLOCKS, 4, 4, KIND_PROGRAM_DATA},
        {0x500000, 0x1000, "[heap]", R | W, 4, 4, KIND_HEAP},
        /* Two arenas of glibc, side by side: the reserve of the first is no guard. */
        {64 * MIB, MIB, "", R | W, 4, 4, KIND_HEAP},
        {65 * MIB, 63 * MIB, "", 0, 0, 0, KIND_HEAP},
        {128 * MIB, MIB, "", R | W, 4, 4, KIND_HEAP},
        {129 * MIB, 63 * MIB, "", 0, 0, 0, KIND_HEAP},
        /* Stacks: a guard below; known; too large a guard; writable and executable. */
        {300 * MIB, 0x1000, "", 0, 0, 0, KIND_STACK},
        {300 * MIB + 0x1000, MIB, "", R | W, 4, 4, KIND_STACK},
        {310 * MIB, MIB, "", R | W | MAPPING_STACK, 4, 4, KIND_STACK},
        {320 * MIB, MIB, "", 0, 0, 0, KIND_ANONYMOUS},
        {321 * MIB, MIB, "", R | W, 4, 4, KIND_ANONYMOUS},
        {330 * MIB, 0x1000, "", 0, 0, 0, KIND_ANONYMOUS},
        {330 * MIB + 0x1000, MIB, "", R | W | X, 4, 4, KIND_ANONYMOUS},
        {340 * MIB, MIB, "", R | W | MAPPING_BLOCKS | MAPPING_STACK, 4, 4, KIND_HEAP},
        {350 * MIB, MIB, "[anon:arena]", R | W | MAPPING_BLOCKS, 4, 4, KIND_HEAP},
        {360 * MIB, MIB, "[anon:other]", R | W, 4, 4, KIND_ANONYMOUS},
        {400 * MIB, 0x1000, "/lib/liba.so", R, 4, 0, KIND_LIBRARY_TEXT},
        {400 * MIB + 0x1000, 0x1000, "/lib/liba.so", R | X, 4, 0, KIND_LIBRARY_TEXT},
        {400 * MIB + 0x2000, 0x1000, "/lib/liba.so", R | W, 4, 4, KIND_LIBRARY_DATA},
        {400 * MIB + 0x3000, 0x1000, "", R | W | MAPPING_ZEROED, 4, 4, KIND_LIBRARY_DATA},
        {400 * MIB + 0x4000, 0x1000, "", R | W, 4, 4, KIND_ANONYMOUS},
        {410 * MIB, 0x1000, "/lib/libdata.so", R, 4, 0, KIND_LIBRARY_TEXT}, /* a known module */
        {420 * MIB, MIB, "/usr/share/locale", R, 4, 0, KIND_FILE},
        {430 * MIB, MIB, "/tmp/db", R | W | S, 4, 0, KIND_FILE},
        {440 * MIB, MIB, "/memfd:x (deleted)", R | W | S, 4, 0, KIND_SHARED},
        {450 * MIB, MIB, "/SYSV00000001 (deleted)", R | W | S, 4, 0, KIND_SHARED},
        {460 * MIB, MIB, "/dev/shm/y", R | W | S, 4, 0, KIND_SHARED},
        {470 * MIB, MIB, "/dev/zero (deleted)", R | W | S, 4, 0, KIND_SHARED},
        {480 * MIB, MIB, "/lib/libtidemark.so", R | X | MAPPING_OWN, 4, 0, KIND_OWN},
        {490 * MIB, MIB, "", R | W | MAPPING_OWN | MAPPING_BLOCKS, 4, 0, KIND_OWN},
        {500 * MIB, 0x1000, "[vvar]", R, 0, 0, KIND_KERNEL},
        {510 * MIB, 0x1000, "[vdso]", R | X, 0, 0, KIND_KERNEL},
        {520 * MIB, 0x1000, "[stack]", R | W, 4, 4, KIND_STACK},
    };
    enum { COUNT = sizeof g / sizeof *g };
    struct recording *r = new_recording();
    struct profile *p = &r->profiles.items[0];
    *vec_push(&p->modules) = (struct module){.path = xstrdup("/lib/libdata.so")};
    add_capture(p, CAPTURE_EXIT, 900, g, COUNT);
    enum mapping_kind *kinds = mapping_kinds(p, &p->captures.items[0]);
    for (size_t i = 0; i < COUNT; i++)
        if (kinds[i] != g[i].kind)
            fail_msg("mapping %zu at %llx is %s, should be %s", i, (unsigned long long)g[i].start,
                     mapping_kind_name(kinds[i]), mapping_kind_name(g[i].kind));
    free(kinds);

    struct mappings m;
    assert_int_equal(mappings_init(&m, r, p, NULL, NULL, BY_KIND, SIZE_MAX, NULL), 0);
    assert_int_equal(m.rows.count, MAPPING_KINDS);
    assert_int_equal(m.totals.count, COUNT);
    uint64_t expected = 0;
    for (size_t i = 0; i < COUNT; i++)
        expected += g[i].rss_kib * 1024;
    assert_u64_equal((uint64_t)m.totals.bytes[MAPPING_RSS], expected);
    assert_int_equal(m.own.count, 2);
    assert_int_equal(m.totals.nodes.count, 2);
    mappings_release(&m);

    /* The zeroed data of a library is the library's. */
    assert_int_equal(mappings_init(&m, r, p, NULL, NULL, BY_MAPPED_FILE, SIZE_MAX, NULL), 0);
    size_t found = 0;
    for (size_t i = 0; i < m.rows.count; i++)
        if (strcmp(m.rows.items[i].name, "/lib/liba.so") == 0 &&
            m.rows.items[i].kind == KIND_LIBRARY_DATA) {
            assert_int_equal(m.rows.items[i].count, 2);
            assert_int_equal(m.rows.items[i].size_bytes, 0x2000);
            found++;
        }
    assert_int_equal(found, 1);
    mappings_release(&m);
    recording_free(r);
}

static const struct mapping_row *row_at(const struct mappings *m, uint64_t start)
{
    for (size_t i = 0; i < m->rows.count; i++)
        if (m->rows.items[i].mapping && m->rows.items[i].mapping->start == start)
            return &m->rows.items[i];
    return NULL;
}

static void test_difference(void **state)
{
    (void)state;
    static const struct given before[] = {{0x1000, 0x1000, "[heap]", R | W, 4, 4, 0},
                                          {0x10000, 0x4000, "", R | W, 16, 16, 0},
                                          {0x20000, 0x1000, "/a", R, 4, 0, 0},
                                          {0x30000, 0x1000, "/same", R, 4, 0, 0},
                                          {0x50000, 0x1000, "[stack]", R | W, 4, 4, 0}};
    static const struct given now[] = {{0x1000, 0x3000, "[heap]", R | W, 12, 12, 0},
                                       {0x10000, 0x1000, "", R | W, 4, 4, 0},
                                       {0x20000, 0x1000, "/b", R, 8, 0, 0},
                                       {0x30000, 0x1000, "/same", R, 4, 0, 0},
                                       {0x4d000, 0x4000, "[stack]", R | W, 16, 16, 0}};
    struct recording *r = new_recording();
    struct profile *p = &r->profiles.items[0];
    add_capture(p, CAPTURE_START, 100, before, 5);
    add_capture(p, CAPTURE_EXIT, 900, now, 5);
    struct mappings m;
    assert_int_equal(mappings_init(&m, r, p, "start", "end", BY_MAPPING, SIZE_MAX, NULL), 0);
    assert_true(m.is_difference);
    assert_int_equal(m.rows.count, 5); /* not the one that is the same; /a and /b are two */
    static const struct {
        uint64_t start;
        enum mapping_change change;
        int64_t size, rss;
    } wanted[] = {{0x1000, CHANGE_GROWN, 0x2000, 8192},
                  {0x10000, CHANGE_SHRUNK, -0x3000, -12288},
                  {0x4d000, CHANGE_GROWN, 0x3000, 12288}}; /* found by its end */
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct mapping_row *row = row_at(&m, wanted[i].start);
        assert_non_null(row);
        assert_int_equal(row->change, wanted[i].change);
        assert_int_equal(row->size_bytes, wanted[i].size);
        assert_int_equal(row->bytes[MAPPING_RSS], wanted[i].rss);
    }
    int seen = 0;
    for (size_t i = 0; i < m.rows.count; i++) {
        const struct mapping_row *row = &m.rows.items[i];
        if (strcmp(row->name, "/a") == 0)
            seen += row->change == CHANGE_GONE && row->count == -1 && row->size_bytes == -0x1000 &&
                    row->nodes.count == 1 && (int64_t)row->nodes.items[0].kib == -4;
        if (strcmp(row->name, "/b") == 0)
            seen += row->change == CHANGE_NEW && row->bytes[MAPPING_RSS] == 8192;
    }
    assert_int_equal(seen, 2);
    assert_int_equal(m.totals.bytes[MAPPING_RSS], (44 - 32) * 1024);
    assert_int_equal(m.totals.count, 0);
    mappings_release(&m);
    assert_int_equal(mappings_init(&m, r, p, "start", "end", BY_MAPPING, 2, NULL), 0);
    assert_int_equal(m.rows.count, 2);
    assert_int_equal(m.cut, 3);
    assert_int_equal(m.totals.bytes[MAPPING_RSS], (44 - 32) * 1024); /* also of those left out */
    mappings_release(&m);
    recording_free(r);
}

static void test_nearest_capture(void **state)
{
    (void)state;
    static const struct given one = {0x1000, 0x1000, "", R | W, 4, 4, 0};
    struct recording *r = new_recording();
    struct profile *p = &r->profiles.items[0];
    struct mappings m;
    struct err err;
    assert_int_equal(mappings_init(&m, r, p, NULL, NULL, BY_KIND, SIZE_MAX, &err), -ENODATA);
    static const uint64_t times[] = {100, 300, 300, 900};
    for (size_t i = 0; i < 4; i++)
        add_capture(p, i == 2 ? CAPTURE_SNAPSHOT : CAPTURE_PERIODIC, times[i], &one, 1);
    static const char *const names[] = {"snapshot", "event", "snapshot"};
    for (size_t i = 0; i < 3; i++)
        *vec_push(&p->marks) = (struct mark){
            .name = names[i], .intervals = 1, .stamp = {.time_ns = 150 * i}}; /* 0, 150, 300 */
    static const struct {
        const char *at;
        size_t capture;
    } wanted[] = {{"start", 0}, {"150ns", 0}, {"201ns", 2}, {"snapshot#2", 2},
                  {"599ns", 2}, {"601ns", 3}, {"end", 3}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_int_equal(mappings_init(&m, r, p, NULL, wanted[i].at, BY_KIND, SIZE_MAX, &err), 0);
        assert_int_equal(m.at.capture - p->captures.items, wanted[i].capture);
        struct strbuf label = {0};
        mappings_label(&m, m.at.capture, &label);
        assert_string_equal(label.data, wanted[i].capture == 2 ? "snapshot#2" : "periodic");
        strbuf_release(&label);
        mappings_release(&m);
    }
    recording_free(r);
}

static void test_in_a_file(void **state)
{
    (void)state;
    static const struct given g[] = {{0x1000, 0x1000, "[heap]", R | W, 4, 3, 0},
                                     {0x2000, 0x5000, "/x y", R | S, 16, 15, 0},
                                     {0xffffffffff600000, 0x1000, "[vsyscall]", X, 0, 0, 0}};
    struct recording *r = new_recording(), *copy = NULL;
    add_capture(&r->profiles.items[0], CAPTURE_START, 100, g, 2);
    add_capture(&r->profiles.items[0], CAPTURE_EXIT, 900, g, 3);
    struct strbuf bytes = {0};
    struct err err;
    recording_write(&bytes, r);
    assert_int_equal(recording_parse(bytes.data, bytes.size, "x", &copy, &err), 0);
    const struct profile *p = &r->profiles.items[0], *q = &copy->profiles.items[0];
    assert_true(copy->complete);
    assert_int_equal(q->captures.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct capture *a = &p->captures.items[i], *b = &q->captures.items[i];
        assert_true(a->kind == b->kind && a->time_ns == b->time_ns && a->first == b->first &&
                    a->count == b->count);
    }
    assert_int_equal(q->mappings.count, 5);
    assert_memory_equal(q->mappings.items, p->mappings.items, 5 * sizeof *q->mappings.items);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(strpool_get(&q->map_names, q->mappings.items[i].name),
                            g[i < 2 ? i : i - 2].name);
        assert_u64_equal(q->map_nodes.items[i].kib, p->map_nodes.items[i].kib);
        assert_int_equal(q->map_nodes.items[i].node, p->map_nodes.items[i].node);
    }
    strbuf_release(&bytes);
    recording_free(r);
    recording_free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_nearest_capture),
        cmocka_unit_test(test_in_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
