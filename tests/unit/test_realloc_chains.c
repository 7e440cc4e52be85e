/* Arrays that grow, as the collector makes them out from the steps that the program tells. */
#include "test_read_rings_fixture.h"

/* The figures of a site, NULL: none. */
static const struct chain_figures *figures(const struct target *t, uint32_t stack)
{
    for (size_t i = 0; i < t->realloc_chains.rows.count; i++) {
        const struct chain_row *row = &t->realloc_chains.rows.items[i];
        if (t->ledger.accounts.items[row->site].node == stack)
            return &row->of;
    }
    return NULL;
}

/* A block at `from` was replaced by one at `to`. */
struct step {
    uint64_t from, to, old_size, size;
    uint32_t old_stack, stack;
    bool by_realloc;
};

static void tell(struct ring *r, struct step s)
{
    uint64_t accounts = (uint64_t)account_of(r, s.old_stack, 0) << 32 | account_of(r, s.stack, 0);
    const uint64_t words[6] = {
        WIRE_WORD(WIRE_GROWTH, s.by_realloc, s.from), s.to, s.old_size, s.size, accounts, 0};
    record_words(r, 6, words);
}

/* From `size` on `steps` doublings, each drained on its own if `apart`. */
static void doubled(struct target *t, struct ring *r, uint64_t address, uint64_t size,
                    unsigned steps, uint32_t stack, bool apart)
{
    for (unsigned i = 0; i < steps; i++, size *= 2, address += 0x100000) {
        tell(r, (struct step){address, address + 0x100000, size, size * 2, stack, stack, false});
        if (apart)
            target_drain(t, i * INTERVAL);
    }
    target_drain(t, steps * INTERVAL);
}

static void test_doubling(void **state)
{
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        struct ring r[3];
        struct target *t = target_open(r);
        doubled(t, &r[0], 0x10000, 96, 9, 3, apart);
        doubled(t, &r[0], 0x20000, 192, 5, 3, apart);
        const struct chain_figures *of = figures(t, 3);
        assert_non_null(of);
        assert_u64_equal(of->chains, 2);
        assert_u64_equal(of->growths, 14);
        assert_u64_equal(of->even, 12);
        assert_u64_equal(of->longest, 9);
        assert_u64_equal(of->otherwise, 0);
        assert_u64_equal(of->copied_bytes, 96 * 511 + 192 * 31);
        assert_u64_equal(of->old_bytes, of->copied_bytes);
        assert_u64_equal(of->new_bytes, of->old_bytes * 2);
        assert_u64_equal(of->first_bytes, 96);
        assert_u64_equal(of->largest_bytes, 96 * 512);
        assert_u64_equal(of->transient_bytes, 96 * 768);
        assert_u64_equal(of->left_bytes, 96 * 511);
        assert_u64_equal(of->unit_bytes, 96);
        target_end(t, 100 * INTERVAL);
        finish(t);
        assert_int_equal(t->profile.chains.count, 1);
        target_free(t);
    }
}

static void test_by_realloc(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    tell(&r[0], (struct step){0x10000, 0x10000, 1000, 1500, 1, 1, true}); /* in place */
    target_drain(t, 1);
    tell(&r[0], (struct step){0x10000, 0x20000, 1500, 20000, 1, 1, true}); /* by any factor */
    tell(&r[0], (struct step){0x20000, 0x30000, 500, 700, 1, 1, true});    /* had become smaller */
    tell(&r[0], (struct step){0x30000, 0x50000, 700, 701, 1, 1, true});
    target_drain(t, 2);
    const struct chain_figures *of = figures(t, 1);
    assert_u64_equal(of->chains, 2);
    assert_u64_equal(of->growths, 4);
    assert_u64_equal(of->by_realloc, 4);
    assert_u64_equal(of->in_place, 1);
    assert_u64_equal(of->copied_bytes, 1500 + 500 + 700);
    assert_u64_equal(of->longest, 2);
    assert_u64_equal(of->transient_bytes, 21500);
    assert_u64_equal(of->left_bytes, 1500);
    assert_u64_equal(of->first_bytes, 500);
    assert_u64_equal(of->unit_bytes, 1);
    target_free(t);
}

/* Two threads take turns with an array; their rings are read in one pass. */
static void test_two_threads(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        struct ring r[3];
        struct target *t = target_open(r);
        for (uint64_t i = 0; i < 20; i++) {
            struct ring *by = &r[(first + i) % 2];
            uint32_t old = account_of(&r[(first + i + 1) % 2], 1, 0), own = account_of(by, 1, 0);
            const uint64_t words[6] = {WIRE_WORD(WIRE_GROWTH, 1, 0x10000 * (i + 1)),
                                       0x10000 * (i + 2),
                                       UINT64_C(100) << i,
                                       UINT64_C(200) << i,
                                       (uint64_t)old << 32 | own,
                                       0};
            sequence(by, i + 1);
            record_words(by, 6, words);
        }
        target_drain(t, 1);
        assert_int_equal(t->realloc_chains.rows.count, 1);
        assert_u64_equal(t->realloc_chains.rows.items[0].of.chains, 1);
        assert_u64_equal(t->realloc_chains.rows.items[0].of.longest, 20);
        target_free(t);
    }
}

/* Realloc frees the old block before the program tells of it. So another thread's array may be at
 * its address when it does, and both go on. */
static void test_address_taken_meanwhile(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    tell(&r[0], (struct step){0x10000, 0x20000, 100, 200, 1, 1, true});
    tell(&r[1], (struct step){0x30000, 0x20000, 150, 300, 2, 2, true});
    tell(&r[0], (struct step){0x20000, 0x40000, 200, 400, 1, 1, true});
    tell(&r[1], (struct step){0x20000, 0x50000, 300, 600, 2, 2, true});
    target_drain(t, 1);
    assert_u64_equal(figures(t, 1)->chains, 1);
    assert_u64_equal(figures(t, 1)->longest, 2);
    assert_u64_equal(figures(t, 2)->chains, 1);
    assert_u64_equal(figures(t, 2)->longest, 2);
    target_free(t);
}

/* Is a block of the first of two stacks replaced by a larger one of the second? */
static bool links(uint32_t (*nodes)(struct target *t, uint32_t out[2]), uint64_t factor)
{
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t out[2];
    nodes(t, out);
    tell(&r[0], (struct step){0x10000, 0x20000, 1000, 1000 * factor, out[0], out[1], false});
    target_drain(t, 1);
    bool found = figures(t, out[1]) != NULL;
    target_free(t);
    return found;
}

/* main calls f, f calls grow from two lines */
static uint32_t same_function(struct target *t, uint32_t out[2])
{
    uint32_t caller = node(t, node(t, 0, 0x9000), 0x9100);
    out[0] = node(t, node(t, caller, 0x5000), 0x6000);
    return out[1] = node(t, node(t, caller, 0x5010), 0x6000);
}

/* add calls grow from one line, and is called by two functions */
static uint32_t same_line(struct target *t, uint32_t out[2])
{
    uint32_t caller = node(t, 0, 0x9000);
    out[0] = node(t, node(t, node(t, caller, 0x4000), 0x5000), 0x6000);
    return out[1] = node(t, node(t, node(t, caller, 0x4010), 0x5000), 0x6000);
}

/* f allocates, then calls add, which calls grow */
static uint32_t caller_made_it(struct target *t, uint32_t out[2])
{
    uint32_t caller = node(t, node(t, 0, 0x9000), 0x9100);
    out[0] = node(t, caller, 0x5000);
    return out[1] = node(t, node(t, node(t, caller, 0x5010), 0x5800), 0x6000);
}

/* f calls make, then grow */
static uint32_t caller_had_it_made(struct target *t, uint32_t out[2])
{
    uint32_t caller = node(t, node(t, 0, 0x9000), 0x9100);
    out[0] = node(t, node(t, caller, 0x5000), 0x7000);
    return out[1] = node(t, node(t, caller, 0x5010), 0x6000);
}

/* a wrapper of malloc, called from everywhere */
static uint32_t unrelated(struct target *t, uint32_t out[2])
{
    uint32_t outer = node(t, 0, 0x9000);
    out[0] = node(t, node(t, node(t, outer, 0x9100), 0x5000), 0x6000);
    return out[1] = node(t, node(t, node(t, outer, 0x9200), 0x5500), 0x6000);
}

static void test_places(void **state)
{
    (void)state;
    for (uint64_t factor = 2; factor <= 3; factor++) {
        assert_true(links(same_function, factor));
        assert_true(links(same_line, factor));
        assert_true(links(caller_made_it, factor));
        assert_int_equal(links(caller_had_it_made, factor), factor == 2);
        assert_false(links(unrelated, factor));
    }
    assert_false(links(same_function, 5));
    assert_false(links(same_function, 1));
}

static void test_counted_where_it_began(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t out[2];
    same_line(t, out);
    for (unsigned i = 1; i < 10; i++)
        tell(&r[0], (struct step){0x10000 * i, 0x10000 * (i + 1), UINT64_C(100) << (i - 1),
                                  UINT64_C(100) << i, out[(i - 1) % 2], out[i % 2], false});
    target_drain(t, 1);
    assert_null(figures(t, out[0]));
    assert_u64_equal(figures(t, out[1])->chains, 1);
    assert_u64_equal(figures(t, out[1])->growths, 9);
    assert_u64_equal(figures(t, out[1])->longest, 9);
    target_free(t);
}

static void test_any_size(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint64_t seed = 1, last = 64;
    for (uint64_t i = 1; i <= 4000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t size = 64 + (seed >> 33) % 65536;
        tell(&r[0], (struct step){i * 0x100000, (i + 1) * 0x100000, last, size, 1, 1, false});
        last = size;
        if (i % 1000 == 0)
            target_drain(t, i);
    }
    const struct chain_figures *of = figures(t, 1);
    assert_true(of->otherwise > 64);
    assert_true(of->otherwise > of->growths);
    assert_true(of->even * 4 < of->growths);
    assert_true(t->ledger.accounts.items[0].any_size); /* and so nobody looks any more */
    assert_true(of->otherwise + of->growths < 1000);
    target_free(t);
}

/* More arrays than are followed: none is forgotten but as one that begins anew. */
static void test_many_at_a_time(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    enum { ARRAYS = 40000 };
    const uint64_t arrays = ARRAYS;
    for (uint64_t step = 1; step < 4; step++)
        for (uint64_t i = 0; i < ARRAYS; i++) {
            uint64_t to = 0x10000000 + (step * ARRAYS + i) * 0x1000, from = to - ARRAYS * 0x1000;
            uint64_t size = UINT64_C(100) << step;
            tell(&r[0], (struct step){from, to, size / 2, size, 1, 1, false});
            if (i % 10000 == 0)
                target_drain(t, step * 10 + i / 10000);
        }
    target_drain(t, 100);
    const struct chain_figures *of = figures(t, 1);
    assert_u64_equal(of->growths, 3 * arrays);
    assert_u64_equal(of->old_bytes, arrays * 700);
    assert_true(of->chains >= ARRAYS && of->chains <= of->growths);
    target_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubling),    cmocka_unit_test(test_by_realloc),
        cmocka_unit_test(test_two_threads), cmocka_unit_test(test_address_taken_meanwhile),
        cmocka_unit_test(test_places),      cmocka_unit_test(test_counted_where_it_began),
        cmocka_unit_test(test_any_size),    cmocka_unit_test(test_many_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
