/* The ledger against a model that remembers every moment. */
#include "unit.h"

#include "collect/counting/ledger.h"

enum { SITES = 24, LIVE_MAX = 600 };

/* --- the model -------------------------------------------------------------------------------- */

struct model_block {
    uint32_t account;
    uint64_t size, usable;
};

struct model {
    struct model_block blocks[LIVE_MAX];
    unsigned count;
    struct amount live[SITES], at_peak[SITES], largest_seen[SITES], own_peak[SITES], unit[SITES];
    uint64_t delta[SITES][COLUMNS];
    uint64_t total, total_blocks, peak, peak_blocks, interval_peak, watched_peak, allocations,
        bytes;
};

static bool is_mapped(uint32_t account)
{
    return account % 8 == 7;
}

/* After each change: is this the highest so far? Then all of it is copied. */
static void model_look(struct model *m)
{
    m->total = m->total_blocks = 0;
    for (uint32_t i = 0; i < SITES; i++)
        if (!is_mapped(i)) {
            m->total += m->live[i].bytes;
            m->total_blocks += m->live[i].blocks;
        }
    if (m->total > m->interval_peak)
        m->interval_peak = m->total;
    if (m->total > m->watched_peak)
        m->watched_peak = m->total;
    if (m->total > m->peak) {
        m->peak = m->total;
        m->peak_blocks = m->total_blocks;
        memcpy(m->at_peak, m->live, sizeof m->live);
    }
}

static void model_alloc(struct model *m, struct ledger *l, struct model_block b, bool by_realloc)
{
    struct amount *live = &m->live[b.account];
    if (l)
        ledger_alloc(l, b.account, b.size, b.usable, by_realloc);
    m->blocks[m->count++] = b;
    if (!m->unit[b.account].blocks)
        m->unit[b.account] = (struct amount){b.size, 1, b.usable};
    live->bytes += b.size;
    live->blocks++;
    live->usable += b.usable;
    if (live->bytes > m->own_peak[b.account].bytes)
        m->own_peak[b.account] = *live;
    if (b.size > m->largest_seen[b.account].bytes)
        m->largest_seen[b.account].bytes = b.size;
    m->delta[b.account][COL_ALLOCS]++;
    m->delta[b.account][COL_BYTES] += b.size;
    m->delta[b.account][COL_USABLE] += b.usable;
    m->delta[b.account][COL_REALLOCS] += by_realloc;
    m->allocations += !is_mapped(b.account);
    m->bytes += is_mapped(b.account) ? 0 : b.size;
    model_look(m);
}

static struct model_block model_free(struct model *m, struct ledger *l, unsigned i, bool temporary)
{
    struct model_block b = m->blocks[i];
    if (l)
        ledger_free(l, b.account, b.size, b.usable, temporary);
    m->blocks[i] = m->blocks[--m->count];
    m->live[b.account].bytes -= b.size;
    m->live[b.account].blocks--;
    m->live[b.account].usable -= b.usable;
    m->delta[b.account][COL_FREES]++;
    m->delta[b.account][COL_FREED] += b.size;
    m->delta[b.account][COL_USABLE_FREED] += b.usable;
    m->delta[b.account][COL_TEMPS] += temporary;
    m->delta[b.account][COL_TEMP_BYTES] += temporary ? b.size : 0;
    model_look(m);
    return b;
}

static void model_temporary(struct model *m, struct ledger *l, struct model_block b)
{
    model_alloc(m, l, b, false);
    model_free(m, l, m->count - 1, true);
}

static void model_unfree(struct model *m, struct ledger *l, struct model_block b)
{
    ledger_unfree(l, b.account, b.size, b.usable);
    m->blocks[m->count++] = b;
    m->live[b.account].bytes += b.size;
    m->live[b.account].blocks++;
    m->live[b.account].usable += b.usable;
    if (m->live[b.account].bytes > m->own_peak[b.account].bytes)
        m->own_peak[b.account] = m->live[b.account];
    m->delta[b.account][COL_FREES]--;
    m->delta[b.account][COL_FREED] -= b.size;
    m->delta[b.account][COL_USABLE_FREED] -= b.usable;
    model_look(m);
}

static void check(const struct model *m, const struct ledger *l)
{
    assert_u64_equal(l->live.bytes, m->total);
    assert_u64_equal(l->live.blocks, m->total_blocks);
    assert_u64_equal(l->peak_bytes, m->peak);
    assert_u64_equal(l->peak_blocks, m->peak_blocks);
    assert_u64_equal(ledger_watched_peak(l), m->watched_peak);
    assert_u64_equal(l->allocations, m->allocations);
    assert_u64_equal(l->allocated_bytes, m->bytes);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < SITES; i++) {
        const struct account *a = &l->accounts.items[i];
        struct amount peak = ledger_at_peak(l, a);
        struct amount live = ledger_live(l, a);
        struct site site = ledger_site(l, i);
        assert_memory_equal(&live, &m->live[i], sizeof live);
        assert_memory_equal(&peak, &m->at_peak[i], sizeof peak);
        assert_u64_equal(site.own_peak_bytes, m->own_peak[i].bytes);
        assert_u64_equal(site.own_peak_blocks, m->own_peak[i].blocks);
        assert_u64_equal(site.largest_bytes, m->largest_seen[i].bytes);
        assert_u64_equal(site.unit_bytes, m->unit[i].bytes);
        assert_u64_equal(site.unit_usable, m->unit[i].usable);
        struct delta delta = ledger_delta(l, i);
        assert_memory_equal(delta.columns, m->delta[i], sizeof delta.columns);
        sum += is_mapped(i) ? 0 : peak.bytes;
    }
    assert_u64_equal(sum, l->peak_bytes);
}

static void open_accounts(struct ledger *l)
{
    ledger_init(l);
    for (uint32_t i = 0; i < SITES; i++)
        assert_int_equal(ledger_account(l, i / 2, i % 2, is_mapped(i) ? DOMAIN_MAPPED : DOMAIN_HEAP,
                                        STACK_WHOLE),
                         i);
}

/* Few sizes, so that the same height is reached often: the first time counts. */
static struct model_block random_block(uint64_t *seed)
{
    uint64_t size = unit_random(seed) % 4 * 16;
    return (struct model_block){.account = (uint32_t)(unit_random(seed) % SITES),
                                .size = size,
                                .usable = size + unit_random(seed) % 3 * 8};
}

static void test_random_sequences(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ledger l;
        struct model m = {0};
        uint64_t random = seed;
        open_accounts(&l);
        for (int i = 0; i < 4000; i++) {
            unsigned percent = i / 500 % 2 ? 35 : 65; /* up and down, around old peaks */
            struct model_block passing = random_block(&random);
            if (m.count < LIVE_MAX && !is_mapped(passing.account) && i % 3 == 0)
                model_temporary(&m, &l, passing);
            if (m.count < LIVE_MAX && (!m.count || unit_random(&random) % 100 < percent))
                model_alloc(&m, &l, random_block(&random), unit_random(&random) % 8 == 0);
            else
                model_free(&m, &l, (unsigned)(unit_random(&random) % m.count),
                           unit_random(&random) % 4 == 0);
            if (i % 7 == 0)
                check(&m, &l);
            if (unit_random(&random) % 150 == 0) {
                ledger_watch(&l);
                m.watched_peak = m.total;
            }
            if (i % 400 == 399) { /* as interval_log_close() begins an interval */
                assert_u64_equal(ledger_end_interval(&l), m.interval_peak);
                m.interval_peak = m.total;
            }
        }
        while (m.count)
            model_free(&m, &l, m.count - 1, false);
        check(&m, &l);
        assert_u64_equal(l.live.bytes + l.live.blocks + l.live.usable, 0);
        ledger_release(&l);
    }
}

/* Frees that are taken back, with other things in between: live may then be higher than ever. */
static void test_unfree(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct ledger l;
        struct model m = {0};
        uint64_t random = seed;
        open_accounts(&l);
        for (int i = 0; i < 2000; i++) {
            if (m.count < 20 || (m.count < LIVE_MAX / 2 && unit_random(&random) % 2)) {
                model_alloc(&m, &l, random_block(&random), false);
            } else {
                unsigned at = (unsigned)(unit_random(&random) % m.count);
                while (is_mapped(m.blocks[at].account)) /* only the heap's are ever taken back */
                    at = (at + 1) % m.count;
                struct model_block b = model_free(&m, &l, at, false);
                if (unit_random(&random) % 4 == 0)
                    model_alloc(&m, &l, random_block(&random), false);
                if (unit_random(&random) % 2)
                    model_unfree(&m, &l, b);
            }
            check(&m, &l);
        }
        ledger_release(&l);
    }
}

/* The same height twice: what was live the first time is what is kept. */
static void test_first_of_equal_peaks(void **state)
{
    (void)state;
    struct ledger l;
    ledger_init(&l);
    uint32_t a = ledger_account(&l, 1, 0, DOMAIN_HEAP, STACK_WHOLE);
    uint32_t b = ledger_account(&l, 2, 0, DOMAIN_HEAP, STACK_WHOLE);
    ledger_alloc(&l, a, 100, 104, false);
    ledger_free(&l, a, 100, 104, false);
    ledger_alloc(&l, b, 100, 104, false);
    assert_u64_equal(l.peak_bytes, 100);
    assert_u64_equal(ledger_at_peak(&l, &l.accounts.items[a]).bytes, 100);
    assert_u64_equal(ledger_at_peak(&l, &l.accounts.items[b]).bytes, 0);
    ledger_alloc(&l, b, 1, 8, false);
    assert_u64_equal(l.peak_bytes, 101);
    assert_u64_equal(l.peak_blocks, 2);
    assert_u64_equal(ledger_at_peak(&l, &l.accounts.items[a]).bytes, 0);
    assert_u64_equal(ledger_at_peak(&l, &l.accounts.items[b]).bytes, 101);
    assert_u64_equal(ledger_at_peak(&l, &l.accounts.items[b]).usable, 112);
    ledger_release(&l);
}

static void test_accounts(void **state)
{
    (void)state;
    struct ledger l;
    ledger_init(&l);
    uint32_t n = 0;
    for (int round = 0; round < 2; round++) {
        n = 0;
        for (uint32_t node = 0; node < 50; node++)
            for (uint32_t thread = 0; thread < 5; thread++)
                for (unsigned domain = 0; domain < DOMAIN_COUNT; domain++)
                    assert_int_equal(
                        ledger_account(&l, node, thread, (enum domain)domain, STACK_WHOLE), n++);
    }
    assert_int_equal(l.accounts.count, 250 * DOMAIN_COUNT);
    const struct account *s = vec_last(&l.accounts);
    assert_int_equal(s->node, 49);
    assert_int_equal(s->thread, 4);
    assert_int_equal(s->domain, DOMAIN_COUNT - 1);
    /* The largest numbers there can be do not run into each other. */
    uint32_t far = ledger_account(&l, UINT32_MAX - 1, 4096, DOMAIN_HEAP, STACK_WHOLE);
    assert_int_equal(ledger_account(&l, UINT32_MAX - 1, 4096, DOMAIN_MAPPED, STACK_WHOLE), far + 1);
    assert_int_equal(ledger_account(&l, UINT32_MAX - 1, 4095, DOMAIN_MAPPED, STACK_WHOLE), far + 2);
    ledger_release(&l);
}

static void test_cut_stacks_are_counted(void **state)
{
    (void)state;
    struct ledger l;
    ledger_init(&l);
    uint32_t whole = ledger_account(&l, 1, 0, DOMAIN_HEAP, STACK_WHOLE);
    uint32_t cut = ledger_account(&l, 2, 0, DOMAIN_HEAP, STACK_TRUNCATED);
    uint32_t lost = ledger_account(&l, 3, 0, DOMAIN_HEAP, STACK_INCOMPLETE);
    uint32_t mapped = ledger_account(&l, 3, 0, DOMAIN_MAPPED, STACK_INCOMPLETE);
    for (int i = 0; i < 6; i++) {
        ledger_alloc(&l, whole, 1, 1, false);
        if (i < 3)
            ledger_alloc(&l, cut, 1, 1, false);
        if (i < 2)
            ledger_alloc(&l, lost, 1, 1, false);
        ledger_alloc(&l, mapped, 1, 1, false);
    }
    assert_u64_equal(l.truncated_stacks, 3);
    assert_u64_equal(l.incomplete_stacks, 2);
    assert_u64_equal(l.allocations, 11);
    assert_u64_equal(l.live.blocks, 11);
    ledger_release(&l);
}

static void test_shrink(void **state)
{
    (void)state;
    struct ledger l;
    ledger_init(&l);
    uint32_t m = ledger_account(&l, 1, 0, DOMAIN_MAPPED, STACK_WHOLE);
    uint32_t h = ledger_account(&l, 1, 0, DOMAIN_HEAP, STACK_WHOLE);
    ledger_alloc(&l, m, 8192, 8192, false);
    ledger_alloc(&l, h, 10, 10, false);
    ledger_shrink(&l, m, 4096);
    const struct account *a = &l.accounts.items[m];
    assert_u64_equal(ledger_live(&l, a).bytes, 4096);
    assert_u64_equal(ledger_live(&l, a).blocks, 1);
    assert_u64_equal(ledger_live(&l, a).usable, 4096);
    assert_u64_equal(ledger_delta(&l, m).columns[COL_FREES], 0);
    assert_u64_equal(ledger_delta(&l, m).columns[COL_FREED], 4096);
    assert_u64_equal(ledger_delta(&l, m).columns[COL_USABLE_FREED], 4096);
    assert_u64_equal(ledger_at_peak(&l, a).bytes, 8192); /* when the heap was at its highest */
    assert_u64_equal(l.peak_bytes, 10);
    assert_u64_equal(l.live.bytes, 10);
    ledger_release(&l);
}

/* --- sites of a program that counts its blocks itself ----------------------------------------- */

#define TOLD_SITES 6

/* What the same rows make of 64-bit figures. */
struct told {
    struct amount live;
    uint64_t columns[COLUMNS], own_peak_bytes;
};

static void check_told(const struct ledger *l, const struct told *told)
{
    for (uint32_t i = 0; i < TOLD_SITES; i++) {
        struct amount live = ledger_live(l, &l->accounts.items[i]);
        struct delta delta = ledger_delta(l, i);
        assert_memory_equal(&live, &told[i].live, sizeof live);
        assert_memory_equal(delta.columns, told[i].columns, sizeof delta.columns);
        assert_u64_equal(ledger_site(l, i).own_peak_bytes, told[i].own_peak_bytes);
    }
}

/* A row of `count` blocks and frees of a size; `odd`: something that is not a multiple of it. */
static void told_row(struct ledger *l, struct told *told, uint32_t site, uint64_t size,
                     uint64_t count, uint64_t frees, unsigned odd)
{
    uint64_t usable = size + 8,
             c[COLUMNS] = {[COL_ALLOCS] = count,          [COL_BYTES] = count * size,
                           [COL_FREES] = frees,           [COL_FREED] = frees * size,
                           [COL_TEMPS] = frees / 2,       [COL_TEMP_BYTES] = frees / 2 * size,
                           [COL_USABLE] = count * usable, [COL_USABLE_FREED] = frees * usable};
    if (odd)
        c[(enum column)(odd % COLUMNS)]++;
    struct account *a = &l->accounts.items[site];
    if (!a->has_unit) {
        a->has_unit = true;
        a->unit = (struct unit){size, usable};
    }
    ledger_row(l, site, c);
    for (unsigned i = 0; i < COLUMNS; i++)
        told[site].columns[i] += c[i];
    told[site].live.bytes += c[COL_BYTES] - c[COL_FREED];
    told[site].live.blocks += c[COL_ALLOCS] - c[COL_FREES];
    told[site].live.usable += c[COL_USABLE] - c[COL_USABLE_FREED];
}

/* Blocks of one size are counted as blocks; figures that are no multiple of the size, and those of
 * thousands of millions of blocks, are as exact. */
static void test_told_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ledger l;
        struct told told[TOLD_SITES] = {0};
        uint64_t random = seed;
        ledger_init(&l);
        l.peak_is_reported = true;
        for (uint32_t i = 0; i < TOLD_SITES; i++)
            ledger_account(&l, i, 0, DOMAIN_HEAP, STACK_WHOLE);
        for (int i = 0; i < 3000; i++) {
            uint32_t site = (uint32_t)(unit_random(&random) % TOLD_SITES);
            uint64_t count = unit_random(&random) % 5;
            if (site == 1 && i % 4 == 0)
                count = (UINT64_C(1) << 30) + unit_random(&random) % 3;
            told_row(&l, told, site, 16 * (site + (site == 2 && i > 2000)), count,
                     unit_random(&random) % 5,
                     site == 3 && i > 1000 ? (unsigned)(unit_random(&random) % COLUMNS) : 0);
            if (i % 5 == 0)
                check_told(&l, told);
            if (i % 500 != 499)
                continue;
            for (uint32_t k = 0; k < TOLD_SITES; k++) { /* as interval_log_close() does */
                ledger_note_own_peak(&l, &l.accounts.items[k]);
                l.accounts.items[k].delta = 0;
                memset(told[k].columns, 0, sizeof told[k].columns);
                if ((int64_t)told[k].live.bytes > (int64_t)told[k].own_peak_bytes)
                    told[k].own_peak_bytes = told[k].live.bytes;
            }
            deltas_clear(&l.deltas);
        }
        assert_int_equal(l.accounts.items[0].wide, 0); /* of no bytes, and all the same */
        assert_int_equal(l.accounts.items[4].wide, 0);
        assert_int_not_equal(l.accounts.items[1].wide, 0);
        assert_int_not_equal(l.accounts.items[2].wide, 0);
        assert_int_not_equal(l.accounts.items[3].wide, 0);
        ledger_release(&l);
    }
}

/* One thread frees a block of another, and reports first: nothing is less than empty. */
static void test_free_reported_first(void **state)
{
    (void)state;
    struct ledger l;
    uint64_t freed[COLUMNS] = {[COL_FREES] = 1, [COL_FREED] = 16, [COL_USABLE_FREED] = 24};
    uint64_t allocated[COLUMNS] = {[COL_ALLOCS] = 3, [COL_BYTES] = 48, [COL_USABLE] = 72};
    ledger_init(&l);
    l.peak_is_reported = true;
    ledger_account(&l, 0, 0, DOMAIN_HEAP, STACK_WHOLE);
    ledger_row(&l, 0, freed);
    assert_int_equal(ledger_now(&l).bytes, 0);
    assert_int_equal(ledger_now(&l).blocks, 0);
    assert_int_equal(ledger_now(&l).usable, 0);
    assert_int_equal(ledger_end_interval(&l), 0);
    assert_int_equal(ledger_end_interval(&l), 0); /* which begins with what is live */
    ledger_watch(&l);
    assert_int_equal(ledger_watched_peak(&l), 0);
    ledger_row(&l, 0, allocated);
    assert_int_equal(ledger_now(&l).bytes, 32);
    assert_int_equal(ledger_now(&l).blocks, 2);
    assert_int_equal(ledger_end_interval(&l), 0);
    assert_int_equal(ledger_end_interval(&l), 32);
    ledger_release(&l);
}

/* All figures of a site survive being written and read, in few bytes or many. */
static void test_site_amounts(void **state)
{
    (void)state;
    struct wide_amounts w = {0};
    for (unsigned i = 0; i < 4; i++) {
        struct account a = {.unit = {40, 48}, .has_unit = true};
        struct site_amounts m = {.live = {400, 10, 480},
                                 .at_peak = {800, 20, 960},
                                 .own_peak_bytes = 1200,
                                 .own_peak_blocks = 30,
                                 .largest_bytes = 40};
        m.live.usable += i == 1;
        m.own_peak_bytes += i == 2;
        m.largest_bytes += i == 3;
        site_amounts_set(&w, &a, &m);
        struct site_amounts got = site_amounts_get(&w, &a);
        assert_memory_equal(&got, &m, sizeof m);
        assert_int_equal(a.wide != 0, i != 0);
    }
    struct account taken = {.unit = {40, 48}, .has_unit = true, .live_blocks = -3};
    assert_int_equal((int64_t)site_amounts_live(&w, &taken).bytes, -120);
    assert_int_equal((int64_t)site_amounts_widen(&w, &taken)->live.usable, -144);
    vec_release(&w);
}

/* --- graphics processors ---------------------------------------------------------------------- */

enum { GPU_SITES = 12, GPU_LIVE_MAX = 200, GPU_STEPS = 20000 };

struct gpu_model {
    struct model_block blocks[GPU_LIVE_MAX];
    unsigned count;
    struct amount live[GPU_SITES], at_peak[GPU_VIEWS][GPU_SITES], peak[GPU_VIEWS];
};

static enum domain gpu_site_domain(uint32_t site)
{
    return site % 3 == 0 ? DOMAIN_GPU : site % 3 == 1 ? DOMAIN_TENSOR : DOMAIN_HEAP;
}

static void gpu_model_look(struct gpu_model *m)
{
    for (int view = 0; view < GPU_VIEWS; view++) {
        struct amount total = {0};
        for (uint32_t i = 0; i < GPU_SITES; i++)
            if (gpu_site_domain(i) == gpu_domain((enum gpu_view)view)) {
                total.bytes += m->live[i].bytes;
                total.blocks += m->live[i].blocks;
            }
        if (total.bytes > m->peak[view].bytes) {
            m->peak[view] = total;
            memcpy(m->at_peak[view], m->live, sizeof m->live);
        }
    }
}

/* Each view has a peak of its own, at which all its sites are known; the heap does not matter. */
static void test_gpu_peaks(void **state)
{
    static struct gpu_model m;
    struct ledger l;
    uint32_t account[GPU_SITES];
    (void)state;
    srand(7);
    ledger_init(&l);
    for (uint32_t i = 0; i < GPU_SITES; i++)
        account[i] = ledger_account(&l, i + 1, 0, gpu_site_domain(i), STACK_WHOLE);
    for (unsigned step = 0; step < GPU_STEPS; step++) {
        if (m.count < GPU_LIVE_MAX && (!m.count || rand() % 100 < 52)) {
            struct model_block b = {.account = (uint32_t)rand() % GPU_SITES,
                                    .size = 1 + (uint64_t)rand() % 5000};
            ledger_alloc(&l, account[b.account], b.size, b.size, false);
            m.live[b.account].bytes += b.size;
            m.live[b.account].blocks++;
            m.blocks[m.count++] = b;
            gpu_model_look(&m);
        } else {
            unsigned at = (unsigned)rand() % m.count;
            struct model_block b = m.blocks[at];
            m.blocks[at] = m.blocks[--m.count];
            ledger_free(&l, account[b.account], b.size, b.size, false);
            m.live[b.account].bytes -= b.size;
            m.live[b.account].blocks--;
        }
        if (step == GPU_STEPS / 2)
            ledger_end_gpu_interval(&l, 5000);
    }
    ledger_end_gpu_interval(&l, 9000);
    for (int view = 0; view < GPU_VIEWS; view++) {
        assert_int_equal(l.gpu[view].peak.bytes, m.peak[view].bytes);
        assert_int_equal(l.gpu[view].peak.blocks, m.peak[view].blocks);
        assert_true(l.gpu[view].peak_ns == 5000 || l.gpu[view].peak_ns == 9000);
        for (uint32_t i = 0; i < GPU_SITES; i++)
            if (gpu_site_domain(i) == gpu_domain((enum gpu_view)view)) {
                struct amount a = ledger_at_peak(&l, &l.accounts.items[account[i]]);
                assert_int_equal(a.bytes, m.at_peak[view][i].bytes);
                assert_int_equal(a.blocks, m.at_peak[view][i].blocks);
            }
    }
    ledger_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sequences),
        cmocka_unit_test(test_unfree),
        cmocka_unit_test(test_first_of_equal_peaks),
        cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_cut_stacks_are_counted),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_told_rows),
        cmocka_unit_test(test_free_reported_first),
        cmocka_unit_test(test_site_amounts),
        cmocka_unit_test(test_gpu_peaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
