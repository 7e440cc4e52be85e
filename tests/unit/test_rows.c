/* The interval log's rows as bytes: what goes in comes out, and merging adds up. */
#include "unit.h"

#include "store/rows.h"

static struct cursor cursor_of(const struct strbuf *b)
{
    const uint8_t *bytes = (const uint8_t *)b->data;
    return (struct cursor){.at = bytes, .end = bytes + b->size};
}

static void assert_rows_equal(const struct row *a, const struct row *b)
{
    assert_int_equal(a->site, b->site);
    for (unsigned k = 0; k < COLUMNS; k++)
        assert_u64_equal(a->columns[k], b->columns[k]);
}

/* The common case takes three bytes, whatever the size of the blocks. */
static void test_one_size_is_small(void **state)
{
    (void)state;
    const struct site site = {.unit_bytes = 1234567, .unit_usable = 1234576};
    struct row row = {.site = 0};
    row.columns[COL_ALLOCS] = row.columns[COL_FREES] = 50;
    row.columns[COL_BYTES] = row.columns[COL_FREED] = UINT64_C(50) * 1234567;
    row.columns[COL_USABLE] = row.columns[COL_USABLE_FREED] = UINT64_C(50) * 1234576;
    struct strbuf b = {0};
    uint32_t previous = UINT32_MAX;
    row_put(&b, &previous, &row, &site.unit);
    assert_int_equal(b.size, 3);
    assert_memory_equal(b.data, "\x01\x01\x64", 3); /* site 0, only the allocations, 50 of them */
    struct cursor c = cursor_of(&b);
    struct row got;
    previous = UINT32_MAX;
    assert_true(row_take(&c, &previous, &got, &UNITS_OF(&site, 1)));
    assert_rows_equal(&row, &got);
    strbuf_release(&b);
}

static void test_any_numbers(void **state)
{
    (void)state;
    enum { SITES = 3000 };
    static struct site sites[SITES];
    static struct row rows[SITES];
    uint64_t seed = 99;
    struct strbuf b = {0};
    uint32_t previous = UINT32_MAX;
    size_t n = 0;
    for (uint32_t i = 0; i < SITES; i++) {
        sites[i].unit_bytes = unit_random(&seed) >> unit_random(&seed) % 64;
        sites[i].unit_usable = unit_random(&seed) >> unit_random(&seed) % 64;
        if (i && i != SITES - 1 && unit_random(&seed) % 3)
            continue;
        struct row *row = &rows[n++];
        row->site = i;
        for (unsigned k = 0; k < COLUMNS; k++)
            row->columns[k] =
                unit_random(&seed) % 2 ? unit_random(&seed) >> unit_random(&seed) % 64 : 0;
        row_put(&b, &previous, row, &sites[i].unit);
        assert_int_equal(previous, i);
    }
    struct cursor c = cursor_of(&b);
    previous = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        struct row got;
        assert_true(row_take(&c, &previous, &got, &UNITS_OF(sites, SITES)));
        assert_rows_equal(&rows[i], &got);
    }
    assert_ptr_equal(c.at, c.end);
    assert_false(c.bad);
    struct row more;
    assert_false(row_take(&c, &previous, &more, &UNITS_OF(sites, SITES)));
    assert_true(c.bad);
    strbuf_release(&b);
}

static bool takes(const char *bytes, size_t size, uint32_t previous, size_t site_count)
{
    static const struct site sites[8];
    struct cursor c = {.at = (const uint8_t *)bytes, .end = (const uint8_t *)bytes + size};
    struct row row;
    bool taken = row_take(&c, &previous, &row, &UNITS_OF(sites, site_count));
    assert_int_equal(taken, !c.bad);
    return taken;
}

static void test_damage(void **state)
{
    (void)state;
    assert_true(takes("\x01\x00", 2, UINT32_MAX, 8));
    assert_true(takes("\x08\x00", 2, UINT32_MAX, 8));
    assert_false(takes("\x09\x00", 2, UINT32_MAX, 8)); /* site 8 of 8 */
    assert_false(takes("\x01\x00", 2, UINT32_MAX, 0));
    assert_false(takes("\x00\x00", 2, UINT32_MAX, 8)); /* no step */
    assert_false(takes("\x00\x00", 2, 3, 8));
    assert_true(takes("\x04\x00", 2, 3, 8));
    assert_false(takes("\x05\x00", 2, 3, 8));
    assert_false(takes("\x01\x80\x08", 3, UINT32_MAX, 8)); /* one bit more than there are */
    assert_true(takes("\x01\x80\x02\x05", 4, UINT32_MAX, 8));
    assert_false(takes("\x01\x80\x02", 3, UINT32_MAX, 8)); /* the column is missing */
    assert_false(takes("\x01", 1, UINT32_MAX, 8));
    assert_false(takes("", 0, UINT32_MAX, 8));
    /* 2^64 - 1: after site 3 it would come out at site 2, out of order */
    assert_false(takes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 11, 3, 8));
    assert_false(takes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 11, UINT32_MAX, 8));
}

/* --- merging ---------------------------------------------------------------------------------- */

enum { MERGE_SITES = 200 };

/* A packed random interval; `sums` gets what is in it added. */
static size_t random_interval(struct strbuf *out, uint64_t *seed, const struct site *sites,
                              unsigned one_in, uint64_t sums[MERGE_SITES][COLUMNS],
                              bool present[MERGE_SITES])
{
    uint32_t previous = UINT32_MAX;
    size_t n = 0;
    for (uint32_t i = 0; i < MERGE_SITES; i++) {
        if (unit_random(seed) % one_in)
            continue;
        struct row row = {.site = i};
        for (unsigned k = 0; k < COLUMNS; k++) {
            row.columns[k] = unit_random(seed) % 1000;
            sums[i][k] += row.columns[k];
        }
        present[i] = true;
        row_put(out, &previous, &row, &sites[i].unit);
        n++;
    }
    return n;
}

static void check_merged(const struct strbuf *b, size_t count, const struct site *sites,
                         uint64_t sums[MERGE_SITES][COLUMNS], const bool present[MERGE_SITES])
{
    struct cursor c = cursor_of(b);
    uint32_t previous = UINT32_MAX;
    size_t wanted = 0;
    for (uint32_t i = 0; i < MERGE_SITES; i++) {
        if (!present[i])
            continue;
        struct row row;
        assert_true(row_take(&c, &previous, &row, &UNITS_OF(sites, MERGE_SITES)));
        assert_int_equal(row.site, i);
        for (unsigned k = 0; k < COLUMNS; k++)
            assert_u64_equal(row.columns[k], sums[i][k]);
        wanted++;
    }
    assert_ptr_equal(c.at, c.end);
    assert_int_equal(count, wanted);
}

static void test_merge_adds_up(void **state)
{
    (void)state;
    static struct site sites[MERGE_SITES];
    uint64_t seed = 5;
    for (uint32_t i = 0; i < MERGE_SITES; i++)
        sites[i] = (struct site){.unit_bytes = unit_random(&seed) % 100,
                                 .unit_usable = unit_random(&seed) % 100};
    for (int round = 0; round < 200; round++) {
        uint64_t sums[MERGE_SITES][COLUMNS] = {0};
        bool present[MERGE_SITES] = {0};
        struct strbuf a = {0}, b = {0}, ab = {0};
        size_t n;
        random_interval(&a, &seed, sites, 1 + (unsigned)round % 7, sums, present);
        random_interval(&b, &seed, sites, 1 + (unsigned)round % 11, sums, present);
        rows_merge(&ab, &n, &a, &b, &UNITS_OF(sites, MERGE_SITES));
        check_merged(&ab, n, sites, sums, present);
        strbuf_release(&a);
        strbuf_release(&b);
        strbuf_release(&ab);
    }
}

static void test_merge_with_nothing(void **state)
{
    (void)state;
    static const struct site sites[MERGE_SITES] = {{.unit_bytes = 3}};
    uint64_t sums[MERGE_SITES][COLUMNS] = {0}, seed = 1;
    bool present[MERGE_SITES] = {0};
    struct strbuf a = {0}, none = {0}, out = {0};
    size_t n = 7;
    rows_merge(&out, &n, &none, &none, &UNITS_OF(sites, MERGE_SITES));
    assert_int_equal(n, 0);
    assert_int_equal(out.size, 0);
    random_interval(&a, &seed, sites, 3, sums, present);
    rows_merge(&out, &n, &a, &none, &UNITS_OF(sites, MERGE_SITES));
    check_merged(&out, n, sites, sums, present);
    assert_int_equal(out.size, a.size);
    assert_memory_equal(out.data, a.data, a.size);
    strbuf_clear(&out);
    rows_merge(&out, &n, &none, &a, &UNITS_OF(sites, MERGE_SITES));
    assert_int_equal(out.size, a.size);
    assert_memory_equal(out.data, a.data, a.size);
    strbuf_release(&a);
    strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_size_is_small),
        cmocka_unit_test(test_any_numbers),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_merge_adds_up),
        cmocka_unit_test(test_merge_with_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
