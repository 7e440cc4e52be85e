/* The interval log: what goes into it comes out, however often neighbours are merged. */
#include "unit.h"

#include "collect/counting/interval_log.h"
#include "store/rows.h"

enum { SITES = 40, LENGTH = 1000 };

struct sums {
    uint64_t columns[SITES][COLUMNS];
    uint64_t unknown, lost, truncated, incomplete, peak;
};

static void open_accounts(struct ledger *l)
{
    ledger_init(l);
    for (uint32_t i = 0; i < SITES; i++)
        ledger_account(l, i, 0, DOMAIN_HEAP,
                       i % 10 == 3   ? STACK_TRUNCATED
                       : i % 10 == 7 ? STACK_INCOMPLETE
                                     : STACK_WHOLE);
}

/* Something happens in an interval; `sums` is told. */
static void live_a_little(struct ledger *l, uint64_t *seed, struct sums *sums)
{
    for (uint64_t n = unit_random(seed) % 50; n > 0; n--) {
        uint32_t site = (uint32_t)(unit_random(seed) % SITES);
        uint64_t size = unit_random(seed) % 5 ? 32 : unit_random(seed) % 1000;
        ledger_alloc(l, site, size, size + 8, false);
        sums->columns[site][COL_ALLOCS]++;
        sums->columns[site][COL_BYTES] += size;
        sums->columns[site][COL_USABLE] += size + 8;
        sums->truncated += site % 10 == 3;
        sums->incomplete += site % 10 == 7;
        if (l->live.bytes > sums->peak)
            sums->peak = l->live.bytes;
        if (unit_random(seed) % 3) {
            bool temporary = unit_random(seed) % 2;
            ledger_free(l, site, size, size + 8, temporary);
            sums->columns[site][COL_FREES]++;
            sums->columns[site][COL_FREED] += size;
            sums->columns[site][COL_USABLE_FREED] += size + 8;
            sums->columns[site][COL_TEMPS] += temporary;
            sums->columns[site][COL_TEMP_BYTES] += temporary ? size : 0;
        }
    }
    uint64_t unknown = unit_random(seed) % 3, lost = unit_random(seed) % 2;
    l->unknown_frees += unknown;
    l->lost_events += lost;
    sums->unknown += unknown;
    sums->lost += lost;
}

/* Adds up all slices with an end up to `until`. */
static struct sums add_up(const struct interval_log *t, const struct ledger *l, uint64_t until)
{
    struct sums sums = {0};
    struct site sites[SITES];
    for (uint32_t i = 0; i < SITES; i++)
        sites[i] = ledger_site(l, i);
    for (size_t i = 0; i < t->slices.count; i++) {
        const struct slice *s = &t->slices.items[i];
        if (s->interval.end_ns > until)
            break;
        struct cursor c = {.at = (const uint8_t *)s->rows.data,
                           .end = (const uint8_t *)s->rows.data + s->rows.size};
        uint32_t previous = UINT32_MAX;
        for (size_t k = 0; k < s->row_count; k++) {
            struct row row;
            assert_true(row_take(&c, &previous, &row, &UNITS_OF(sites, SITES)));
            for (unsigned m = 0; m < COLUMNS; m++)
                sums.columns[row.site][m] += row.columns[m];
        }
        assert_ptr_equal(c.at, c.end);
        sums.unknown += s->interval.unknown_frees;
        sums.lost += s->interval.lost_events;
        sums.truncated += s->interval.truncated_stacks;
        sums.incomplete += s->interval.incomplete_stacks;
        if (s->interval.peak_bytes > sums.peak)
            sums.peak = s->interval.peak_bytes;
    }
    return sums;
}

static void assert_sums_equal(const struct sums *a, const struct sums *b)
{
    for (uint32_t i = 0; i < SITES; i++)
        for (unsigned k = 0; k < COLUMNS; k++)
            assert_u64_equal(a->columns[i][k], b->columns[i][k]);
    assert_u64_equal(a->unknown, b->unknown);
    assert_u64_equal(a->lost, b->lost);
    assert_u64_equal(a->truncated, b->truncated);
    assert_u64_equal(a->incomplete, b->incomplete);
    assert_u64_equal(a->peak, b->peak);
}

static void test_sums_are_kept(void **state)
{
    (void)state;
    enum { CLOSED = 3000 };
    static struct sums at[CLOSED + 1]; /* after that many intervals */
    struct ledger l;
    struct interval_log t;
    uint64_t seed = 11, now = 0;
    size_t most = 0;
    open_accounts(&l);
    interval_log_init(&t, LENGTH);
    assert_u64_equal(t.next_end_ns, LENGTH);
    for (int i = 1; i <= CLOSED; i++) {
        at[i] = at[i - 1];
        live_a_little(&l, &seed, &at[i]);
        now += LENGTH;
        uint64_t rows_ns = l.deltas.dirty.count * INTERVAL_LOG_ROW_NS;
        interval_log_close(&t, &l, now, 0, false);
        assert_true(t.slices.count < INTERVAL_LOG_MAX);
        if (t.slices.count > most)
            most = t.slices.count;
        assert_u64_equal(t.next_end_ns, now + (t.length_ns > rows_ns ? t.length_ns : rows_ns));
        assert_int_equal(l.deltas.dirty.count, 0);
        assert_u64_equal(l.unknown_frees + l.lost_events + l.truncated_stacks, 0);
        assert_u64_equal(l.interval_peak_bytes, l.live.bytes);
    }
    assert_int_equal(most, INTERVAL_LOG_MAX - 1);
    /* 127 fit; each time there are 128 it halves: 3000 intervals of one length is five to six
     * times. */
    assert_true(t.slices.count >= INTERVAL_LOG_MAX / 2 - 1);
    assert_u64_equal(vec_last(&t.slices)->interval.end_ns, now);
    uint64_t previous = 0;
    for (size_t i = 0; i < t.slices.count; i++) {
        uint64_t end = t.slices.items[i].interval.end_ns;
        assert_true(end > previous);
        struct sums sums = add_up(&t, &l, end);
        assert_sums_equal(&sums, &at[end / LENGTH]);
        previous = end;
    }
    interval_log_release(&t);
    ledger_release(&l);
}

/* As the collector does it: an interval ends when it is due, so lengths double. */
static void test_length_doubles(void **state)
{
    (void)state;
    struct ledger l;
    struct interval_log t;
    open_accounts(&l);
    interval_log_init(&t, LENGTH);
    unsigned closed = 0;
    for (uint64_t now = 0; now < UINT64_C(1000) * LENGTH; now += LENGTH / 2)
        if (now >= t.next_end_ns) {
            interval_log_close(&t, &l, now, 0, false);
            closed++;
        }
    /* 128 of length 1 become 64 of 2; 64 more of 2 make 128, which become 64 of 4; and so on. */
    assert_u64_equal(t.length_ns, 8 * LENGTH);
    assert_int_equal(closed, 128 + 64 + 64 + (999 - 512) / 8);
    assert_int_equal(t.slices.count, 64 + (999 - 512) / 8);
    for (size_t i = 0; i < t.slices.count; i++)
        assert_u64_equal(t.slices.items[i].interval.end_ns, (i + 1) * 8 * LENGTH);
    interval_log_release(&t);
    ledger_release(&l);
}

/* An empty interval has no rows; the height it begins with is its highest. */
static void test_quiet_intervals(void **state)
{
    (void)state;
    struct ledger l;
    struct interval_log t;
    open_accounts(&l);
    interval_log_init(&t, LENGTH);
    interval_log_close(&t, &l, 1, 0, false);
    ledger_alloc(&l, 5, 100, 100, false);
    ledger_alloc(&l, 5, 100, 100, false);
    ledger_free(&l, 5, 100, 100, false);
    interval_log_close(&t, &l, 2, 0, false);
    interval_log_close(&t, &l, 3, 0, false);
    ledger_free(&l, 5, 100, 100, false);
    interval_log_close(&t, &l, 4, 0, false);
    interval_log_close(&t, &l, 5, 0, false);
    static const uint64_t peaks[] = {0, 200, 100, 100, 0};
    static const size_t rows[] = {0, 1, 0, 1, 0};
    assert_int_equal(t.slices.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_u64_equal(t.slices.items[i].interval.peak_bytes, peaks[i]);
        assert_int_equal(t.slices.items[i].row_count, rows[i]);
        assert_u64_equal(t.slices.items[i].interval.end_ns, i + 1);
    }
    interval_log_release(&t);
    ledger_release(&l);
}

/* At the end: half as many as may be, the same sums, and every end one of the old ends. */
static void test_settle(void **state)
{
    (void)state;
    struct ledger l;
    struct interval_log t;
    struct sums sums = {0};
    uint64_t seed = 21, ends[INTERVAL_LOG_MAX];
    open_accounts(&l);
    interval_log_init(&t, LENGTH);
    interval_log_settle(&t, &l);
    assert_int_equal(t.slices.count, 0);
    for (uint64_t i = 1; i < INTERVAL_LOG_MAX; i++) {
        live_a_little(&l, &seed, &sums);
        interval_log_close(&t, &l, i * LENGTH, 0, false);
    }
    size_t before = t.slices.count, next = 0;
    assert_int_equal(before, INTERVAL_LOG_MAX - 1);
    for (size_t i = 0; i < before; i++)
        ends[i] = t.slices.items[i].interval.end_ns;
    interval_log_settle(&t, &l);
    assert_int_equal(t.slices.count, INTERVAL_LOG_MAX / 2);
    struct sums kept = add_up(&t, &l, UINT64_MAX);
    assert_sums_equal(&kept, &sums);
    size_t bytes = 0;
    for (size_t i = 0; i < t.slices.count; i++) {
        bytes += t.slices.items[i].rows.size;
        while (next < before && ends[next] != t.slices.items[i].interval.end_ns)
            next++;
        assert_true(next < before);
    }
    assert_int_equal(t.bytes, bytes);
    assert_u64_equal(vec_last(&t.slices)->interval.end_ns, (INTERVAL_LOG_MAX - 1) * LENGTH);
    interval_log_settle(&t, &l);
    assert_int_equal(t.slices.count, INTERVAL_LOG_MAX / 2);
    interval_log_release(&t);
    ledger_release(&l);
}

/* Thousands of sites that are busy all the time: fewer intervals, so that rows stay within bounds.
 */
static void test_many_rows(void **state)
{
    (void)state;
    enum { BUSY = 20000, CLOSED = 300 };
    struct ledger l;
    struct interval_log t;
    ledger_init(&l);
    for (uint32_t i = 0; i < BUSY; i++)
        ledger_account(&l, i, 0, DOMAIN_HEAP, STACK_WHOLE);
    interval_log_init(&t, LENGTH);
    for (uint64_t n = 1; n <= CLOSED; n++) {
        for (uint32_t i = 0; i < BUSY; i++) {
            ledger_alloc(&l, i, i + n, i + n, false);
            if (n % 2)
                ledger_free(&l, i, i + n, i + n, false);
        }
        interval_log_close(&t, &l, n * LENGTH, 0, false);
        assert_true(t.slices.count < INTERVAL_LOG_MIN || t.bytes <= INTERVAL_LOG_ROOM(BUSY));
    }
    interval_log_settle(&t, &l);
    assert_true(t.slices.count <= INTERVAL_LOG_MIN / 2 || t.bytes <= INTERVAL_LOG_ROOM(BUSY));
    uint64_t rows = 0;
    for (size_t i = 0; i < t.slices.count; i++)
        rows += t.slices.items[i].row_count;
    assert_u64_equal(rows, t.slices.count * BUSY);
    assert_u64_equal(vec_last(&t.slices)->interval.end_ns, CLOSED * LENGTH);
    interval_log_release(&t);
    ledger_release(&l);
}

/* Rows that come after their interval has ended at a mark are in that interval. */
static void test_late_rows(void **state)
{
    (void)state;
    struct ledger l;
    struct interval_log t;
    uint32_t tick = 0;
    open_accounts(&l);
    interval_log_init(&t, LENGTH);
    assert_false(interval_log_ended(&t, 0, &tick));
    for (uint32_t n = 1; n <= 5; n++) {
        ledger_sample(&l, n, 1, 4096, COLUMNS);
        interval_log_close(&t, &l, n * 100, n, n == 2 || n == 4);
    }
    /* The fifth interval ends at no mark. */
    static const struct {
        uint64_t time_ns;
        uint32_t tick;
    } times[] = {{0, 1}, {99, 1}, {100, 2}, {350, 4}, {399, 4}, {400, 0}, {450, 0}, {501, 0}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        bool ended = interval_log_ended(&t, times[i].time_ns, &tick);
        assert_int_equal(ended ? tick : 0, times[i].tick);
    }
    struct strbuf rows = {0};
    uint32_t previous = UINT32_MAX;
    for (uint32_t site = 3; site <= 4; site++) {
        struct row row = {.site = site};
        row.columns[COL_ALLOCS] = 7;
        row.columns[COL_BYTES] = row.columns[COL_USABLE] = UINT64_C(7) * 4096;
        ledger_sample_late(&l, site, 7, UINT64_C(7) * 4096);
        row_put(&rows, &previous, &row, &l.accounts.items[site].unit);
    }
    size_t bytes = t.bytes;
    interval_log_add(&t, &l, 4, &rows);
    assert_true(t.bytes > bytes);
    assert_u64_equal(l.live.bytes, 0); /* samples are no blocks */
    struct sums before = add_up(&t, &l, 300), after = add_up(&t, &l, 400);
    assert_u64_equal(before.columns[3][COL_ALLOCS], 1);
    assert_u64_equal(before.columns[4][COL_ALLOCS], 0);
    assert_u64_equal(after.columns[3][COL_ALLOCS], 8);
    assert_u64_equal(after.columns[4][COL_ALLOCS], 8);
    assert_u64_equal(after.columns[4][COL_BYTES], 8 * 4096);
    strbuf_release(&rows);
    interval_log_release(&t);
    ledger_release(&l);
}

/* Marks beyond those that are kept are counted. (If merging neighbours visited all that are kept,
 * this would take a minute.) */
static void test_more_marks_than_are_kept(void **state)
{
    (void)state;
    enum { MORE = 200000 };
    struct ledger l;
    struct interval_log t;
    open_accounts(&l);
    interval_log_init(&t, LENGTH);
    for (uint32_t n = 1; n <= INTERVAL_LOG_KEPT + MORE; n++) {
        ledger_alloc(&l, n % SITES, 1, 1, false);
        interval_log_close(&t, &l, n, n, true);
    }
    assert_u64_equal(t.kept, INTERVAL_LOG_KEPT);
    assert_u64_equal(t.not_kept, MORE);
    assert_true(t.slices.count < INTERVAL_LOG_KEPT + INTERVAL_LOG_MAX);
    interval_log_not_marked(&t, 1000);
    interval_log_settle(&t, &l);
    struct sums sums = add_up(&t, &l, UINT64_MAX);
    uint64_t allocations = 0;
    for (uint32_t i = 0; i < SITES; i++)
        allocations += sums.columns[i][COL_ALLOCS];
    assert_u64_equal(allocations, INTERVAL_LOG_KEPT + MORE);
    interval_log_release(&t);
    ledger_release(&l);
}

/* The time of a mark is known later than the mark. */
static void test_time_of_a_mark(void **state)
{
    (void)state;
    struct ledger l;
    struct interval_log t;
    uint32_t tick;
    open_accounts(&l);
    interval_log_init(&t, LENGTH);
    interval_log_close(&t, &l, 100, 1, false);
    interval_log_close(&t, &l, 200, 2, true);
    interval_log_marked_at(&t, 2, 150);
    assert_true(interval_log_ended(&t, 149, &tick));
    assert_u64_equal(tick, 2);
    assert_false(interval_log_ended(&t, 150, &tick)); /* after the mark */
    interval_log_marked_at(&t, 2, 90);                /* but not before the interval began */
    assert_u64_equal(t.slices.items[1].interval.end_ns, 100);
    interval_log_close(&t, &l, 300, 3, true);
    interval_log_marked_at(&t, 2, 400); /* nor after the next one ended */
    assert_u64_equal(t.slices.items[1].interval.end_ns, 300);
    interval_log_marked_at(&t, 1, 50); /* not a mark */
    interval_log_marked_at(&t, 4, 350);
    assert_u64_equal(t.slices.items[0].interval.end_ns, 100);
    assert_u64_equal(t.slices.items[2].interval.end_ns, 300);
    interval_log_release(&t);
    ledger_release(&l);
}

/* Rows are in the order of their sites, however many there are, and whatever order they came in. */
static void test_order(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    static const unsigned counts[] = {MANY, 400, 7, 3, 1}; /* by bits; the last by comparing */
    struct ledger l;
    struct interval_log t;
    ledger_init(&l);
    interval_log_init(&t, LENGTH);
    for (uint32_t i = 0; i < MANY; i++)
        ledger_account(&l, i, 0, DOMAIN_HEAP, STACK_WHOLE);
    struct units units = ledger_units(&l);
    for (unsigned k = 0; k < sizeof counts / sizeof *counts; k++) {
        for (uint32_t i = counts[k]; i-- > 0;)
            ledger_alloc(&l, i * (MANY / counts[k]) + (k > 1) * k, 10 + i, 16 + i, false);
        interval_log_close(&t, &l, (k + 1) * LENGTH, k + 1, false);
        const struct slice *s = vec_last(&t.slices);
        assert_int_equal(s->row_count, counts[k]);
        struct cursor c = {.at = (const uint8_t *)s->rows.data,
                           .end = (const uint8_t *)s->rows.data + s->rows.size};
        uint32_t previous = UINT32_MAX;
        for (uint32_t i = 0; i < counts[k]; i++) {
            struct row row;
            assert_true(row_take(&c, &previous, &row, &units));
            assert_int_equal(row.site, i * (MANY / counts[k]) + (k > 1) * k);
            assert_u64_equal(row.columns[COL_BYTES], 10 + i);
        }
        assert_ptr_equal(c.at, c.end);
    }
    interval_log_release(&t);
    ledger_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_kept),
        cmocka_unit_test(test_length_doubles),
        cmocka_unit_test(test_quiet_intervals),
        cmocka_unit_test(test_settle),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_late_rows),
        cmocka_unit_test(test_more_marks_than_are_kept),
        cmocka_unit_test(test_time_of_a_mark),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
