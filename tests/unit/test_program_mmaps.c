/* Mappings against a model of single pages. */
#include "unit.h"

#include "collect/counting/program_mmaps.h"

enum { PAGES = 256, PAGE = 4096, ACCOUNTS = 6, NOBODY = 255 };

#define BASE UINT64_C(0x7f0000000000)

struct model {
    uint8_t owner[PAGES];
    uint64_t mapped[ACCOUNTS]; /* bytes ever mapped by it */
};

static void open_accounts(struct ledger *l)
{
    ledger_init(l);
    for (uint32_t i = 0; i < ACCOUNTS; i++)
        assert_int_equal(ledger_account(l, i, 0, DOMAIN_MAPPED, STACK_WHOLE), i);
}

static void check(const struct model *m, const struct program_mmaps *r, const struct ledger *l)
{
    uint64_t bytes[ACCOUNTS] = {0}, blocks[ACCOUNTS] = {0}, end = 0;
    uint8_t owner[PAGES];
    memset(owner, NOBODY, sizeof owner);
    for (size_t i = 0; i < r->items.count; i++) {
        const struct program_mmap *x = &r->items.items[i];
        assert_true(x->start >= end && x->start < x->end); /* in order, apart, not empty */
        end = x->end;
        bytes[x->account] += x->end - x->start;
        blocks[x->account]++;
        for (uint64_t a = x->start; a < x->end; a += PAGE)
            owner[(a - BASE) / PAGE] = (uint8_t)x->account;
    }
    assert_memory_equal(owner, m->owner, sizeof owner);
    for (uint32_t i = 0; i < ACCOUNTS; i++) {
        const struct account *a = &l->accounts.items[i];
        const struct delta delta = ledger_delta(l, i);
        assert_u64_equal(ledger_live(l, a).bytes, bytes[i]);
        assert_u64_equal(ledger_live(l, a).usable, bytes[i]);
        assert_u64_equal(ledger_live(l, a).blocks, blocks[i]);
        assert_u64_equal(delta.columns[COL_BYTES], m->mapped[i]);
        assert_u64_equal(delta.columns[COL_BYTES] - delta.columns[COL_FREED], bytes[i]);
        assert_u64_equal(delta.columns[COL_ALLOCS] - delta.columns[COL_FREES], blocks[i]);
    }
    assert_u64_equal(l->live.bytes + l->allocations, 0); /* mappings are not the heap's */
}

static void map_pages(struct model *m, struct program_mmaps *r, struct ledger *l, unsigned from,
                      unsigned n, uint32_t account)
{
    memset(m->owner + from, (int)account, n);
    m->mapped[account] += (uint64_t)n * PAGE;
    program_mmaps_map(r, l, BASE + (uint64_t)from * PAGE, (uint64_t)n * PAGE, account);
}

static void unmap_pages(struct model *m, struct program_mmaps *r, struct ledger *l, unsigned from,
                        unsigned n)
{
    memset(m->owner + from, NOBODY, n);
    program_mmaps_unmap(r, l, BASE + (uint64_t)from * PAGE, (uint64_t)n * PAGE, NULL);
}

static void test_against_pages(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct program_mmaps r = {0};
        struct ledger l;
        struct model m = {0};
        uint64_t random = seed;
        memset(m.owner, NOBODY, sizeof m.owner);
        open_accounts(&l);
        for (int i = 0; i < 3000; i++) {
            unsigned from = (unsigned)(unit_random(&random) % PAGES);
            unsigned n = 1 + (unsigned)(unit_random(&random) % (i % 3 ? 8 : 64));
            if (n > PAGES - from)
                n = PAGES - from;
            if (unit_random(&random) % 2)
                map_pages(&m, &r, &l, from, n, (uint32_t)(unit_random(&random) % ACCOUNTS));
            else
                unmap_pages(&m, &r, &l, from, n);
            check(&m, &r, &l);
        }
        unmap_pages(&m, &r, &l, 0, PAGES);
        check(&m, &r, &l);
        assert_int_equal(r.items.count, 0);
        program_mmaps_release(&r);
        ledger_release(&l);
    }
}

/* Random cuts, each taken back: what is mapped and by whom is as before. */
static void test_put_back(void **state)
{
    (void)state;
    struct program_mmaps r = {0};
    struct cuts cuts = {0};
    struct ledger l;
    struct model m = {0};
    uint64_t random = 1;
    memset(m.owner, NOBODY, sizeof m.owner);
    open_accounts(&l);
    for (int i = 0; i < 3000; i++) {
        unsigned from = (unsigned)(unit_random(&random) % (PAGES - 16));
        unsigned n = 1 + (unsigned)(unit_random(&random) % 16);
        if (i % 4 == 0)
            map_pages(&m, &r, &l, from, n, (uint32_t)(unit_random(&random) % ACCOUNTS));
        else if (i % 4 == 1)
            unmap_pages(&m, &r, &l, from, n);
        size_t blocks = r.items.count;
        program_mmaps_unmap(&r, &l, BASE + (uint64_t)from * PAGE, (uint64_t)n * PAGE, &cuts);
        program_mmaps_put_back(&r, &l, &cuts);
        assert_true(r.items.count >= blocks);
        check(&m, &r, &l);
        program_mmaps_put_back(&r, &l, &cuts); /* once is enough */
        check(&m, &r, &l);
    }
    program_mmaps_unmap(&r, &l, BASE, (uint64_t)PAGES * PAGE, &cuts);
    map_pages(&m, &r, &l, 0, PAGES, 3); /* where something else is, nothing comes back */
    program_mmaps_put_back(&r, &l, &cuts);
    check(&m, &r, &l);
    vec_release(&cuts.items);
    program_mmaps_release(&r);
    ledger_release(&l);
}

static void begin_model(struct model *m, struct ledger *l)
{
    *m = (struct model){0};
    memset(m->owner, NOBODY, sizeof m->owner);
    open_accounts(l);
}

/* One mapping, cut from the left, from the right, in the middle, and gone. */
static void test_cuts(void **state)
{
    (void)state;
    struct program_mmaps r = {0};
    struct ledger l;
    struct model m;
    begin_model(&m, &l);
    const struct account *a = l.accounts.items;
    map_pages(&m, &r, &l, 10, 10, 0);
    unmap_pages(&m, &r, &l, 8, 4);
    unmap_pages(&m, &r, &l, 18, 9);
    check(&m, &r, &l);
    assert_u64_equal(ledger_delta(&l, 0).columns[COL_ALLOCS], 1);
    assert_u64_equal(ledger_delta(&l, 0).columns[COL_FREES], 0);
    assert_u64_equal(ledger_live(&l, a).bytes, 6 * PAGE);
    unmap_pages(&m, &r, &l, 14, 2); /* two pieces: the second is a block without bytes of its own */
    check(&m, &r, &l);
    assert_u64_equal(ledger_delta(&l, 0).columns[COL_ALLOCS], 2);
    assert_u64_equal(ledger_delta(&l, 0).columns[COL_BYTES], 10 * PAGE);
    assert_u64_equal(ledger_live(&l, a).blocks, 2);
    unmap_pages(&m, &r, &l, 0, PAGES);
    check(&m, &r, &l);
    assert_u64_equal(ledger_delta(&l, 0).columns[COL_FREES], 2);
    assert_u64_equal(ledger_delta(&l, 0).columns[COL_FREED], 10 * PAGE);
    assert_u64_equal(ledger_site(&l, 0).largest_bytes, 10 * PAGE);
    assert_u64_equal(ledger_site(&l, 0).own_peak_bytes, 10 * PAGE);
    program_mmaps_release(&r);
    ledger_release(&l);
}

/* Lengths that the kernel refuses and a damaged ring may say. */
static void test_nonsense(void **state)
{
    (void)state;
    struct program_mmaps r = {0};
    struct ledger l;
    struct model m;
    begin_model(&m, &l);
    program_mmaps_map(&r, &l, BASE, 0, 1);
    program_mmaps_map(&r, &l, BASE, UINT64_MAX, 1);
    assert_int_equal(r.items.count, 0);
    map_pages(&m, &r, &l, 0, 8, 0);
    map_pages(&m, &r, &l, 100, 8, 1);
    program_mmaps_unmap(&r, &l, BASE + PAGE, UINT64_MAX - 5, NULL); /* ends before it begins */
    check(&m, &r, &l);
    program_mmaps_unmap(&r, &l, BASE + PAGE, 0, NULL); /* nothing: not a cut in two */
    check(&m, &r, &l);
    assert_int_equal(r.items.count, 2);
    program_mmaps_release(&r);
    ledger_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_pages),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_put_back),
        cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
