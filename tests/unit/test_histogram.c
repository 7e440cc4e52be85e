/* Sizes and lifetimes: the collector's counting against a model that keeps every block. */
#include "test_read_rings_fixture.h"

#include "collect/counting/eras.h"
#include "collect/counting/ledger.h"
#include "store/buckets.h"

#define MS UINT64_C(1000000)

static void test_buckets(void **state)
{
    (void)state;
    for (unsigned b = 0; b < SIZE_BUCKETS; b++) {
        assert_int_equal(size_bucket(size_bucket_from(b)), b);
        assert_int_equal(size_bucket(size_bucket_from(b + 1) - (b + 1 < SIZE_BUCKETS)), b);
    }
    assert_int_equal(size_bucket(0), 0);
    assert_int_equal(size_bucket(1), 0);
    assert_int_equal(life_bucket_from(0), 0);
    assert_int_equal(life_bucket_from(1), MS);
    assert_int_equal(life_bucket_from(2), 2 * MS);
    for (unsigned b = 2; b < LIFE_BUCKETS; b++)
        assert_int_equal(life_bucket_from(b), 2 * life_bucket_from(b - 1));
    assert_int_equal(life_bucket_from(LIFE_BUCKETS), UINT64_MAX);
}

/* --- eras ------------------------------------------------------------------------------------- */

/* Every era that ever began is remembered here, and compared with what eras knows of it. */
static void check_eras(const struct eras *b, const struct era *all, size_t count)
{
    uint64_t now = all[count - 1].start_ns;
    assert_int_equal(eras_now(b), count - 1);
    for (size_t i = 0; i < count; i++) {
        const struct era *e = &b->eras.items[eras_index(b, (uint32_t)i)];
        assert_true(e->number <= i);
        assert_int_equal(e->tick, all[i].tick);
        assert_true(e->start_ns <= all[i].start_ns);
        assert_true(all[i].start_ns - e->start_ns <= (now - all[i].start_ns) / ERA_SHARE);
    }
}

static void test_eras(void **state)
{
    (void)state;
    struct eras b = {0};
    VEC(struct era) all = {0};
    uint64_t seed = 7, now = 0;
    uint32_t tick = 1;
    for (uint32_t i = 0; i < 120000; i++) {
        bool forced = unit_random(&seed) % 500 == 0;
        now += unit_random(&seed) % (3 * MS);
        tick += forced;
        size_t before = b.eras.count ? eras_now(&b) + 1 : 0;
        eras_begin(&b, now, tick, forced);
        if (eras_now(&b) + 1 != before)
            *vec_push(&all) = (struct era){.start_ns = now, .tick = tick};
        if (i % 20000 == 19999)
            check_eras(&b, all.items, all.count);
    }
    assert_true(all.count > 60000);
    assert_true(b.eras.count < all.count / 2);
    eras_release(&b);
    vec_release(&all);
}

/* --- the ledger ------------------------------------------------------------------------------- */

enum { SITES = 50, ROUNDS = 60000 };

static void test_ledger_histograms(void **state)
{
    (void)state;
    static uint64_t sizes[SITES][SIZE_BUCKETS][2], lives[SITES][LIFE_BUCKETS], allocations[SITES];
    struct ledger l;
    struct profile p = {0};
    uint64_t seed = 3;
    ledger_init(&l);
    for (uint32_t i = 0; i < SITES; i++)
        ledger_account(&l, i + 1, 0, DOMAIN_HEAP, STACK_WHOLE);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint32_t site = (uint32_t)(unit_random(&seed) % SITES);
        /* A third of the sites has one size, a third one bucket, a third any. */
        uint64_t size = site % 3 == 0   ? 48
                        : site % 3 == 1 ? 64 + unit_random(&seed) % 64
                                        : unit_random(&seed) >> unit_random(&seed) % 64;
        sizes[site][size_bucket(size)][0]++;
        sizes[site][size_bucket(size)][1] += size;
        allocations[site]++;
        unsigned life = (unsigned)(unit_random(&seed) % LIFE_BUCKETS);
        ledger_alloc(&l, site, size, size, false);
        ledger_free(&l, site, size, size, false);
        if (life && i % 2) /* as the program's own accounts say it */
            *vec_push(&l.counted_lives) = (struct bucket_row){site, life, 1, 0};
        else if (life)
            histogram_add(&l.histogram, HISTOGRAM_LIVES, site, life, 1, 0);
        lives[site][life] += life > 0;
    }
    ledger_histograms(&l, &p);
    assert_true(p.has_histograms);
    for (size_t i = 0; i < p.sizes.count; i++) {
        const struct bucket_row *r = &p.sizes.items[i], *last = r - 1;
        assert_true(!i || last->site < r->site ||
                    (last->site == r->site && last->bucket < r->bucket));
        assert_int_equal(r->site % 3, 2); /* the others need none */
        assert_true(r->count <= sizes[r->site][r->bucket][0]);
        sizes[r->site][r->bucket][0] -= r->count;
        sizes[r->site][r->bucket][1] -= r->bytes;
        allocations[r->site] -= r->count;
    }
    for (uint32_t s = 0; s < SITES; s++) /* what is left is in the first one's bucket */
        for (unsigned k = 0; k < SIZE_BUCKETS; k++) {
            bool first = k == size_bucket(l.accounts.items[s].unit.bytes);
            assert_u64_equal(sizes[s][k][0], first ? allocations[s] : 0);
            assert_true(first || sizes[s][k][1] == 0);
        }
    for (size_t i = 0; i < p.lifetimes.count; i++) {
        const struct bucket_row *r = &p.lifetimes.items[i], *last = r - 1;
        assert_true(!i || last->site < r->site ||
                    (last->site == r->site && last->bucket < r->bucket));
        assert_u64_equal(r->count, lives[r->site][r->bucket]);
        lives[r->site][r->bucket] = 0;
    }
    for (uint32_t s = 0; s < SITES; s++)
        for (unsigned k = 0; k < LIFE_BUCKETS; k++)
            assert_u64_equal(lives[s][k], 0);
    profile_release(&p);
    ledger_release(&l);
}

/* --- from the rings --------------------------------------------------------------------------- */

static struct profile *finished(struct target *t, uint64_t now)
{
    target_end(t, now);
    finish(t);
    return &t->profile;
}

static uint64_t lived(const struct profile *p, uint64_t from_ns)
{
    uint64_t count = 0;
    for (size_t i = 0; i < p->lifetimes.count; i++)
        if (life_bucket_from(p->lifetimes.items[i].bucket) == from_ns)
            count += p->lifetimes.items[i].count;
    return count;
}

/* Sizes and lifetimes that are not the site's first are in cells behind the accounts. */
static void test_cells(void **state)
{
    (void)state;
    struct ring rings[3];
    struct target *t = target_open(rings);
    uint32_t number = account_of(&rings[0], 1, 0), cells = WIRE_ACCOUNT_USUAL + 10;
    row(&rings[0], number, 11, 500, 0);
    row_of_frees(&rings[0], number, 7, 280, 0);
    account_at(t, number)->owner |= size_bucket(40) | WIRE_ACCOUNT_SEVERAL;
    account_at(t, number)->cells = cells;
    struct wire_cell *of = (struct wire_cell *)(void *)account_at(t, cells);
    *of = (struct wire_cell){.next = cells + 1, .group = 0, .lives = 1};
    of->lives_count[4] = 4;
    of = (struct wire_cell *)(void *)account_at(t, cells + 1);
    *of = (struct wire_cell){.next = cells + 1, .group = size_bucket(100) / WIRE_CELL_SIZES};
    of->sizes.count[size_bucket(100) % WIRE_CELL_SIZES] = 1;
    of->sizes.bytes[size_bucket(100) % WIRE_CELL_SIZES] = 100;
    of->next = 0;
    t->header->totals.accounts_end = WIRE_ACCOUNT_USUAL + 12;
    target_drain(t, 1 * MS);
    struct profile *p = finished(t, 2 * MS);
    assert_u64_equal(lived(p, 16 * MS), 4);
    assert_int_equal(p->lifetimes.count, 1);
    assert_int_equal(p->sizes.count, 1);
    assert_u64_equal(p->sizes.items[0].bytes, 100);
    target_free(t);
}

/* `size` of an account's block, which is about to be freed. */
static void touched(struct ring *r, uint32_t account, uint64_t size, uint64_t untouched)
{
    const uint64_t words[WIRE_RECORD_MAX] = {WIRE_WORD(WIRE_NOTE, WIRE_NOTE_TOUCHED, 0x100000),
                                             untouched, account, size};
    record_words(r, WIRE_RECORD_MAX, words);
}

static void test_untouched_from_rings(void **state)
{
    (void)state;
    struct ring rings[3];
    struct target *t = target_open(rings);
    uint32_t one = account_of(&rings[0], 1, 0), two = account_of(&rings[0], 2, 0);
    row(&rings[0], one, 2, 800000, 0);
    row(&rings[0], two, 1, 400000, 0);
    touched(&rings[0], one, 300000, 8192);
    touched(&rings[0], one, 500000, 0);
    touched(&rings[0], two, 400000, UINT64_MAX); /* more than it has: damage */
    touched(&rings[0], 0, 8192, 1);              /* it was not known */
    touched(&rings[0], UINT32_MAX, 8192, 1);     /* never was */
    target_drain(t, 1 * MS);
    assert_clean(t);
    const struct profile *p = finished(t, 2 * MS);
    assert_int_equal(p->freed_readings.count, 2);
    const struct freed_reading *k = p->freed_readings.items;
    assert_int_equal(p->sites.items[k[0].site].node, 1);
    assert_u64_equal(k[0].blocks, 2);
    assert_u64_equal(k[0].bytes, 800000);
    assert_u64_equal(k[0].untouched_blocks, 1);
    assert_u64_equal(k[0].untouched, 8192);
    assert_int_equal(p->sites.items[k[1].site].node, 2);
    assert_u64_equal(k[1].blocks, 1);
    assert_u64_equal(k[1].untouched, 400000);
    target_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_eras),
        cmocka_unit_test(test_ledger_histograms),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_untouched_from_rings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
