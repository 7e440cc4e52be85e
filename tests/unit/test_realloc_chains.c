/* Arrays that grow, as the collector makes them out from allocations and frees. */
#include "test_drain_fixture.h"

/* The figures of a site, NULL: none. */
static const struct chain_figures *figures(const struct target *t, uint32_t stack)
{
    for (size_t i = 0; i < t->realloc_chains.rows.count; i++) {
        const struct chain_row *row = &t->realloc_chains.rows.items[i];
        if (t->ledger.accounts.items[row->site].site.node == stack)
            return &row->of;
    }
    return NULL;
}

/* From `size` on `steps` doublings, each drained on its own if `apart`; where it ends. */
static uint64_t doubled(struct target *t, struct ring *r, uint64_t address, uint64_t size,
                        unsigned steps, uint32_t stack, bool apart)
{
    alloc(r, address, size, 0, stack);
    for (unsigned i = 0; i < steps; i++) {
        alloc(r, address + 0x100000, size *= 2, 0, stack);
        if (apart)
            target_drain(t, i * INTERVAL);
        release(r, address);
        address += 0x100000;
    }
    target_drain(t, steps * INTERVAL);
    return address;
}

static void test_doubling(void **state)
{
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        struct ring r[3];
        struct target *t = target_open(r);
        release(&r[0], doubled(t, &r[0], 0x10000, 96, 9, 3, apart));
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
        target_finish(t);
        assert_int_equal(t->profile.chains.count, 1);
        target_free(t);
    }
}

static void test_by_realloc(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    alloc(&r[0], 0x10000, 1000, 0, 1);
    change(&r[0], 0x10000); /* in place */
    alloc(&r[0], 0x10000, 1500, 0, 1);
    change(&r[0], 0x10000);
    target_drain(t, 1);
    alloc(&r[0], 0x20000, 20000, 0, 1); /* by any factor */
    change(&r[0], 0x20000);
    change_failed(&r[0]);
    change(&r[0], 0x20000); /* smaller: the end of the chain */
    alloc(&r[0], 0x20000, 500, 0, 1);
    change(&r[0], 0x20000);
    alloc(&r[0], 0x30000, 700, 0, 1);
    alloc(&r[0], 0x40000, 350, 0, 1);
    change(&r[0], 0x30000); /* what is freed next was not replaced by it */
    alloc(&r[0], 0x50000, 701, 0, 1);
    release(&r[0], 0x40000);
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

static void test_not_adjacent(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    alloc(&r[0], 0x10000, 1000, 0, 1);
    alloc(&r[0], 0x20000, 2000, 0, 1);
    alloc(&r[0], 0x30000, 10, 0, 2); /* another one between */
    release(&r[0], 0x10000);
    alloc(&r[0], 0x40000, 4000, 0, 1);
    release(&r[0], 0x30000); /* or another free */
    release(&r[0], 0x20000);
    alloc(&r[0], 0x50000, 8000, 0, 1);
    clock_to(&r[0], 10);
    target_drain(t, 1);
    clock_to(&r[1], 20);
    release(&r[1], 0x40000); /* or another thread */
    target_drain(t, 2);
    assert_null(figures(t, 1));
    assert_clean(t);
    target_free(t);
}

/* Is a block of the first of two stacks replaced by a larger one of the second? */
static bool links(uint32_t (*nodes)(struct target *t, uint32_t out[2]), uint64_t factor)
{
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t out[2];
    nodes(t, out);
    alloc(&r[0], 0x10000, 1000, 0, out[0]);
    alloc(&r[0], 0x20000, 1000 * factor, 0, out[1]);
    release(&r[0], 0x10000);
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
    alloc(&r[0], 0x10000, 100, 0, out[0]);
    for (unsigned i = 1; i < 10; i++) {
        alloc(&r[0], 0x10000 * (i + 1), UINT64_C(100) << i, 0, out[i % 2]);
        release(&r[0], 0x10000 * i);
    }
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
    uint64_t seed = 1, last = 0;
    for (uint64_t i = 1; i <= 4000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        alloc(&r[0], i * 0x100000, 64 + (seed >> 33) % 65536, 0, 1);
        if (last)
            release(&r[0], last);
        last = i * 0x100000;
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
    for (uint64_t step = 0; step < 4; step++)
        for (uint64_t i = 0; i < ARRAYS; i++) {
            alloc(&r[0], 0x10000000 + (step * ARRAYS + i) * 0x1000, UINT64_C(100) << step, 0, 1);
            if (step)
                release(&r[0], 0x10000000 + ((step - 1) * ARRAYS + i) * 0x1000);
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
        cmocka_unit_test(test_doubling),
        cmocka_unit_test(test_by_realloc),
        cmocka_unit_test(test_not_adjacent),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_counted_where_it_began),
        cmocka_unit_test(test_any_size),
        cmocka_unit_test(test_many_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
