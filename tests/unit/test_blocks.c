/* The table of live blocks against a model that is too simple to be wrong. */
#include "unit.h"

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

static uint64_t check_sums(const struct blocks *t)
{
    struct seen wanted = {0}, seen = {0};
    for (uint32_t i = 0; i < PLACES; i++)
        if (model[i].address)
            add_up(&wanted, &model[i]);
    for (size_t i = 0; i < t->size; i++) {
        struct block b = t->places[i];
        if (b.address--)
            add_up(&seen, &b);
    }
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
    put(&t, &(struct block){.address = 16, .size = 1, .usable = 24, .site = 2, .birth = 3});
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

/* Addresses of pools may be any, 0 and the highest too. */
static void test_any_address(void **state)
{
    (void)state;
    struct blocks t = {0};
    struct block b;
    for (uint64_t address = 0; address < 200; address++)
        put(&t, &(struct block){.address = address, .size = address + 1});
    put(&t, &(struct block){.address = UINT64_MAX - 1, .size = 7});
    for (uint64_t address = 0; address < 200; address++) {
        assert_true(blocks_take(&t, address, &b));
        assert_u64_equal(b.size, address + 1);
    }
    assert_true(blocks_take(&t, UINT64_MAX - 1, &b));
    assert_u64_equal(t.count, 0);
    blocks_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_a_million),
        cmocka_unit_test(test_any_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
