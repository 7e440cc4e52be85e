/* The table of live blocks against a model that is too simple to be wrong. */
#include "unit.h"

#include <malloc.h>

#include "collect/counting/blocks.h"

enum { PLACES = 1 << 15, OPERATIONS = 100000 };

static struct block model[PLACES]; /* by place; address 0: not live */

static void put(struct blocks *t, const struct block *b)
{
    struct block old;
    assert_false(blocks_put(t, b, &old));
}

static void assert_block_equal(const struct block *a, const struct block *b)
{
    assert_u64_equal(a->address, b->address);
    assert_u64_equal(a->size, b->size);
    assert_u64_equal(a->usable, b->usable);
    assert_int_equal(a->site, b->site);
    assert_int_equal(a->birth, b->birth);
}

/* Runs of neighbours 16 bytes apart, runs a page apart, runs across pages, and a few anywhere. */
static uint64_t address_of(uint32_t place)
{
    uint32_t run = place / 1024, i = place % 1024;
    switch (run % 4) {
    case 0:
        return UINT64_C(0x555500000000) + (uint64_t)run * 0x100000 + i * 16;
    case 1:
        return UINT64_C(0x7f0000000000) + (uint64_t)run * 0x10000000 + i * 4096;
    case 2:
        return UINT64_C(0x600000000010) + (uint64_t)run * 0x1000000 + i * 48;
    default: {
        uint64_t seed = place + 1;
        return (unit_random(&seed) >> 20 | 1) << 4;
    }
    }
}

/* Sizes of all kinds: 0, small ones, 2^32 and its neighbours, the largest there can be. */
static uint64_t random_size(uint64_t *seed)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     65534,
                                     65535,
                                     65536,
                                     UINT32_MAX - 1,
                                     UINT32_MAX,
                                     UINT64_C(1) << 32,
                                     UINT64_C(1) << 47};
    uint64_t r = unit_random(seed);
    return r % 8 ? r >> 52 : edges[r / 8 % (sizeof edges / sizeof *edges)];
}

static struct block random_block(uint32_t place, uint64_t *seed)
{
    struct block b = {.address = address_of(place),
                      .size = random_size(seed),
                      .site = (uint32_t)unit_random(seed),
                      .birth = (uint32_t)unit_random(seed)};
    b.usable = b.size + random_size(seed);
    return b;
}

struct seen {
    uint64_t count, size, usable, sites;
};

static void add_up(void *context, const struct block *b)
{
    struct seen *s = context;
    s->count++;
    s->size += b->size;
    s->usable += b->usable;
    s->sites += (uint64_t)b->site * (b->address >> 4);
}

static uint64_t check_sums(struct blocks *t)
{
    struct seen wanted = {0}, seen = {0};
    for (uint32_t i = 0; i < PLACES; i++)
        if (model[i].address)
            add_up(&wanted, &model[i]);
    blocks_each(t, add_up, &seen);
    assert_u64_equal(seen.count, wanted.count);
    assert_u64_equal(seen.size, wanted.size);
    assert_u64_equal(seen.usable, wanted.usable);
    assert_u64_equal(seen.sites, wanted.sites);
    assert_u64_equal(t->count, wanted.count);
    return wanted.count;
}

static void test_empty(void **state)
{
    (void)state;
    struct blocks t = {0};
    struct block b;
    assert_false(blocks_take(&t, 16, &b));
    blocks_prefetch(&t, 16);
    put(&t, &(struct block){.address = 16, .size = 1, .usable = 24, .site = 2, .birth = 3});
    blocks_prefetch(&t, 16);
    assert_false(blocks_take(&t, 32, &b));
    assert_false(blocks_take(&t, 0x10010, &b));
    assert_u64_equal(t.count, 1);
    assert_true(blocks_take(&t, 16, &b));
    assert_block_equal(&b, &(struct block){16, 1, 24, 2, 3});
    assert_false(blocks_take(&t, 16, &b));
    assert_u64_equal(t.count, 0);
    blocks_release(&t);
    assert_false(blocks_take(&t, 16, &b));
}

/* Grows and shrinks in turn, each step checked at once, and the whole now and then. */
static void test_against_model(void **state)
{
    (void)state;
    struct blocks t = {0};
    uint64_t seed = 42;
    memset(model, 0, sizeof model);
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        uint32_t place = (uint32_t)(unit_random(&seed) % PLACES);
        bool growing = i / 20000 % 2 == 0;
        uint64_t address = address_of(place);
        struct block b;
        blocks_prefetch(&t, address);
        if (growing || unit_random(&seed) % 4 == 0) { /* replaces what may be there */
            struct block fresh = random_block(place, &seed);
            bool was = blocks_put(&t, &fresh, &b);
            assert_int_equal(was, model[place].address != 0);
            if (was)
                assert_block_equal(&b, &model[place]);
            model[place] = fresh;
        } else {
            bool was = blocks_take(&t, address, &b);
            assert_int_equal(was, model[place].address != 0);
            if (was)
                assert_block_equal(&b, &model[place]);
            model[place].address = 0;
        }
        if (i % 10000 == 9999)
            assert_true(check_sums(&t) > 1000);
    }
    for (uint32_t i = 0; i < PLACES; i++) {
        struct block b;
        assert_int_equal(blocks_take(&t, address_of(i), &b), model[i].address != 0);
        if (model[i].address)
            assert_block_equal(&b, &model[i]);
        model[i].address = 0;
    }
    assert_u64_equal(check_sums(&t), 0);
    blocks_release(&t);
}

/* Two tables from one, each changed at random and checked against a model of its own. */
static void test_clone(void **state)
{
    (void)state;
    enum { RUN = 2048 };
    static struct block models[3][RUN];
    struct blocks tables[3] = {0};
    uint64_t seed = 7;
    memset(models, 0, sizeof models);
    for (unsigned round = 0; round < 3; round++) {
        if (round) { /* the second from the first, the third from the second */
            blocks_clone(&tables[round], &tables[round - 1]);
            memcpy(models[round], models[round - 1], sizeof models[round]);
        }
        for (unsigned i = 0; i < 20000; i++) {
            unsigned k = (unsigned)(unit_random(&seed) % (round + 1));
            uint32_t place = (uint32_t)(unit_random(&seed) % RUN);
            struct block *known = &models[k][place], b;
            if (unit_random(&seed) % 2) {
                struct block fresh = random_block(place, &seed);
                assert_int_equal(blocks_put(&tables[k], &fresh, &b), known->address != 0);
                if (known->address)
                    assert_block_equal(&b, known);
                *known = fresh;
            } else {
                assert_int_equal(blocks_take(&tables[k], address_of(place), &b),
                                 known->address != 0);
                if (known->address)
                    assert_block_equal(&b, known);
                known->address = 0;
            }
        }
    }
    blocks_release(&tables[1]); /* its parent and its child go on */
    for (unsigned k = 0; k < 3; k += 2) {
        for (uint32_t i = 0; i < RUN; i++) {
            struct block b;
            assert_int_equal(blocks_take(&tables[k], address_of(i), &b), models[k][i].address != 0);
            if (models[k][i].address)
                assert_block_equal(&b, &models[k][i]);
        }
        assert_u64_equal(tables[k].count, 0);
        blocks_release(&tables[k]);
    }
}

/* One page from none to as many blocks as fit and back, in three orders. */
static void test_one_page(void **state)
{
    (void)state;
    enum { FIT = 256 };
    for (unsigned order = 0; order < 3; order++) {
        struct blocks t = {0};
        struct block b;
        for (uint64_t i = 0; i < FIT; i++) {
            put(&t, &(struct block){.address = 0x7000 + i * 16, .size = i, .usable = i + 8});
            assert_u64_equal(t.count, i + 1);
        }
        for (uint64_t i = 0; i < FIT; i++) {
            uint64_t k = order == 0 ? i : order == 1 ? FIT - 1 - i : i * 77 % FIT;
            assert_true(blocks_take(&t, 0x7000 + k * 16, &b));
            assert_u64_equal(b.size, k);
            assert_u64_equal(b.usable, k + 8);
            assert_false(blocks_take(&t, 0x7000 + k * 16, &b));
            put(&t, &(struct block){.address = 0x7000 + k * 16, .size = 5}); /* and again */
            assert_true(blocks_take(&t, 0x7000 + k * 16, &b));
            assert_u64_equal(b.size, 5);
        }
        assert_u64_equal(t.count, 0);
        blocks_release(&t);
    }
}

/* Pages that come and go must not fill the table with what is left of them. */
static void test_passing_through(void **state)
{
    (void)state;
    struct blocks t = {0};
    for (uint64_t i = 0; i < 500000; i++) {
        struct block b;
        put(&t, &(struct block){.address = (i + 1) * 4096, .size = i});
        if (i >= 100) {
            assert_true(blocks_take(&t, (i - 99) * 4096, &b));
            assert_u64_equal(b.size, i - 100);
        }
    }
    assert_u64_equal(t.count, 100);
    assert_true(t.size <= 4096);
    blocks_release(&t);
}

static size_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* At most 64 bytes a block, however many share a page. */
static void test_memory(void **state)
{
    (void)state;
    static const unsigned in_page[] = {1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 34, 49, 64, 128, 256};
    if (UNIT_SANITIZED)
        skip();
    for (size_t k = 0; k < sizeof in_page / sizeof *in_page; k++) {
        struct blocks t = {0};
        size_t before = heap_bytes(), n = 0;
        for (uint64_t page = 1; n < 200000; page++)
            for (uint64_t i = 0; i < in_page[k]; i++, n++)
                put(&t,
                    &(struct block){.address = page << 12 | i << 4, .size = 100, .usable = 104});
        size_t each = (heap_bytes() - before) / n;
        if (each > 64)
            print_message("%u blocks in a page: %zu bytes each\n", in_page[k], each);
        assert_true(each <= 64);
        blocks_release(&t);
    }
}

static void test_a_million(void **state)
{
    (void)state;
    struct blocks t = {0};
    struct block b;
    const uint64_t n = 1000000;
    for (uint64_t i = 0; i < n; i++)
        put(&t, &(struct block){.address = 0x10000000 + i * 32, .size = i, .usable = i + i % 16});
    assert_u64_equal(t.count, n);
    for (uint64_t i = 1; i < n; i += 2) {
        assert_true(blocks_take(&t, 0x10000000 + i * 32, &b));
        assert_true(b.size == i && b.usable == i + i % 16);
    }
    assert_u64_equal(t.count, n / 2);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(blocks_take(&t, 0x10000000 + i * 32, &b), i % 2 == 0);
    assert_u64_equal(t.count, 0);
    blocks_release(&t);
}

static void test_addresses_inside_blocks(void **state)
{
    (void)state;
    struct blocks t = {0};
    struct block old, found;
    const struct block all[] = {
        {.address = 0x10010, .size = 20, .usable = 24, .site = 1},
        {.address = 0x10030, .size = 16, .usable = 16, .site = 2},
        {.address = 0x11ff0, .size = 0x5000, .usable = 0x5008, .site = 3}, /* six pages */
        {.address = 0x20000, .size = UINT64_C(6) << 30, .usable = UINT64_C(6) << 30, .site = 4},
    };
    const size_t count = sizeof all / sizeof *all;
    assert_false(blocks_holding(&t, 0x10010, 0, NULL, &found));
    for (size_t i = 0; i < count; i++)
        assert_false(blocks_put(&t, &all[i], &old));
    for (size_t i = 0; i < count; i++) {
        const struct block *b = &all[i];
        const uint64_t inside[] = {b->address, b->address + b->size / 2,
                                   b->address + b->usable - 1};
        for (size_t k = 0; k < 3; k++) {
            assert_true(blocks_holding(&t, inside[k], 0x10000, NULL, &found));
            assert_int_equal(found.site, b->site);
            assert_u64_equal(found.address, b->address);
        }
    }
    assert_false(blocks_holding(&t, 0x1000f, 0, NULL, &found));
    assert_false(blocks_holding(&t, 0x10028, 0, NULL, &found));
    assert_false(blocks_holding(&t, 0x10040, 0, NULL, &found));
    assert_false(blocks_holding(&t, 0x11ff0 + 0x5008, 0, NULL, &found));
    assert_false(blocks_holding(&t, 0x40000, 0x30000, NULL, &found)); /* no further than that */
    assert_true(blocks_take(&t, 0x11ff0, &old));
    assert_false(blocks_holding(&t, 0x13000, 0, NULL, &found));
    blocks_release(&t);
}

/* With what is known of empty pages the answers are the same, whatever comes and goes meanwhile. */
static void test_gaps(void **state)
{
    (void)state;
    enum { PAGES = 300, STEPS = 200000 };
    struct blocks t = {0};
    struct blocks_gap gap = {0};
    struct block old, a, b;
    uint64_t seed = 1;
    for (unsigned i = 0; i < STEPS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t page = seed >> 33 & 511, place = seed >> 45 & 511, kind = seed >> 60;
        uint64_t address = (1000 + page % PAGES) * 4096 + place * 8;
        if (kind == 0) /* some reach over pages; a real one would not overlap others */
            blocks_put(&t, &(struct block){.address = address, .size = 8, .usable = place * 64},
                       &old);
        if (kind < 3 && blocks_holding(&t, address, 0, NULL, &a))
            blocks_take(&t, a.address, &old);
        uint64_t at = (1000 + i % PAGES) * 4096 + place * 8; /* one after another */
        bool plain = blocks_holding(&t, at, 900 * 4096, NULL, &a);
        assert_int_equal(blocks_holding(&t, at, 900 * 4096, &gap, &b), plain);
        if (plain)
            assert_u64_equal(a.address, b.address);
    }
    blocks_release(&t);
}

/* A large mapping without blocks is touched page by page, while others come elsewhere: each page is
 * looked at a few times, or this would take minutes. */
static void test_a_large_gap(void **state)
{
    (void)state;
    enum { PAGES = 260000 };
    const uint64_t start = UINT64_C(1) << 40;
    struct blocks t = {0};
    struct blocks_gap gap = {0};
    struct block old, found;
    for (uint64_t i = 0; i < PAGES; i++) {
        blocks_put(&t, &(struct block){.address = 4096 + i * 4096, .size = 8, .usable = 8}, &old);
        assert_false(blocks_holding(&t, start + i * 4096, start, &gap, &found));
    }
    blocks_put(&t, &(struct block){.address = start, .size = 1u << 30, .usable = 1u << 30}, &old);
    assert_true(blocks_holding(&t, start + 100 * 4096, start, &gap, &found));
    blocks_release(&t);
}

/* Pages that only fill are packed full; where a block goes too, there is room again. */
static void test_full_pages(void **state)
{
    (void)state;
    enum { PAGES = 50, STEPS = 4 };
    static const unsigned steps[STEPS] = {32, 64, 128, 16};
    for (unsigned s = 0; s < STEPS; s++) {
        struct blocks t = {0};
        struct block b = {0}, old;
        for (uint64_t at = 0; at < PAGES * 4096; at += steps[s]) {
            b = (struct block){
                .address = 0x10000 + at, .size = 8, .usable = 24, .site = (uint32_t)at};
            assert_false(blocks_put(&t, &b, &old));
        }
        assert_int_equal(t.count, PAGES * 4096 / steps[s]);
        assert_int_equal(t.slots, t.count);
        for (unsigned page = 0; page < PAGES; page++) {
            uint64_t at = page * 4096 + page % (4096 / steps[s]) * steps[s];
            assert_true(blocks_take(&t, 0x10000 + at, &b));
            assert_int_equal(b.site, at);
            assert_false(blocks_take(&t, 0x10000 + at, &old));
            assert_false(blocks_put(&t, &b, &old));
        }
        assert_in_range(t.slots, t.count, t.count * 2);
        for (uint64_t at = 0; at < PAGES * 4096; at += steps[s]) {
            assert_true(blocks_take(&t, 0x10000 + at, &b));
            assert_int_equal(b.site, at);
        }
        assert_int_equal(t.count, 0);
        blocks_release(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_clone),
        cmocka_unit_test(test_one_page),
        cmocka_unit_test(test_passing_through),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_a_million),
        cmocka_unit_test(test_full_pages),
        cmocka_unit_test(test_addresses_inside_blocks),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_a_large_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
