/* How the collector reads the block index of a program (collect/counting/block_index.h): one that the
 * recorder's own code has made, in the memory of this process. */
#include "unit.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/counting/target.h"
#include "record/block_index.h"

/* --- what record/block_index.c wants of the recorder ------------------------------------------- */

/* record/recorder.h cannot be included beside the collector's headers: zeros are enough. */
_Alignas(64) unsigned char recorder[1 << 16];
__thread _Alignas(64) unsigned char tls[1 << 12];

void sys_yield(void);
void *sys_map(size_t size);
long sys_call(long number, ...);
bool sys_leaves_room(size_t size);
void recorder_own(const void *start, size_t size);

void sys_yield(void)
{
}

void *sys_map(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

long sys_call(long number, ...)
{
    va_list values;
    va_start(values, number);
    void *start = (void *)va_arg(values, long);
    size_t size = (size_t)va_arg(values, long);
    int advice = (int)va_arg(values, long);
    va_end(values);
    return number == SYS_madvise ? madvise(start, size, advice) : -1;
}

bool sys_leaves_room(size_t size)
{
    return size != 0;
}

void recorder_own(const void *start, size_t size)
{
    (void)start;
    (void)size;
}

/* --- tests -------------------------------------------------------------------------------------- */

#define READ_FROM (UINT64_C(0x7f1200000000) - (1 << 20)) /* the end of a region */
#define FIRST_ERA 1000u
enum { READ_BLOCKS = 60000, ACCOUNTS = 500 };

static struct expected {
    struct block block;
    bool there, told;
} expected[READ_BLOCKS];

struct seen {
    size_t next, own, inherited;
};

static void check_next(void *context, const struct block *b, bool inherited)
{
    struct seen *s = context;
    while (s->next < READ_BLOCKS && !expected[s->next].there)
        s->next++;
    assert_true(s->next < READ_BLOCKS);
    const struct block *want = &expected[s->next++].block;
    assert_int_equal(b->address, want->address);
    assert_int_equal(b->size, want->size);
    assert_int_equal(b->usable, want->usable);
    assert_int_equal(b->birth, want->birth);
    assert_int_equal(inherited, want->birth < FIRST_ERA);
    if (!inherited)
        assert_int_equal(b->site, want->site);
    *(inherited ? &s->inherited : &s->own) += 1;
}

static void count_all(void *context, const struct block *b, bool inherited)
{
    (void)b;
    (void)inherited;
    ++*(size_t *)context;
}

static struct target *reader_of(struct wire_header *h)
{
    struct target *t = calloc(1, sizeof *t);
    t->pid = getpid();
    t->header = h;
    eras_begin(&t->eras, 0, 1, true);
    eras_start(&t->eras, FIRST_ERA * 2);
    for (uint32_t i = 0; i <= ACCOUNTS; i++)
        *vec_push(&t->accounts.ledger_accounts) = i + 1; /* the site is the account */
    h->first_era = FIRST_ERA;
    t->ledger.live.blocks = 1; /* else the index is not read */
    index_tell(h);
    return t;
}

static void reader_release(struct target *t)
{
    eras_release(&t->eras);
    vec_release(&t->accounts.ledger_accounts);
    vec_release(&t->index_parts);
    free(t);
}

/* Blocks of all sizes, side by side and with gaps, told or not, some of them freed again. */
static void fill_index(uint64_t *random, size_t *own, size_t *inherited)
{
    uint64_t at = READ_FROM + 16;
    for (uint32_t i = 0; i < READ_BLOCKS; i++) {
        uint64_t kind = unit_random(random) % 100;
        uint64_t size = unit_random(random) % (kind < 70 ? 100 : kind < 95 ? 2000 : 100000);
        bool told = unit_random(random) % 5 == 0;
        uint64_t usable = size <= 24 ? 24 : ((size + 7) | 15) - 7;
        struct indexed old, b = {2 + (uint32_t)(unit_random(random) % (ACCOUNTS - 2)),
                                 (uint32_t)(unit_random(random) % (FIRST_ERA * 2)), size, usable};
        expected[i] = (struct expected){
            .block = {at, b.size, b.usable, b.account, b.era}, .there = true, .told = told};
        assert_false(index_put(at, &b, told, &old));
        at += usable + 8;
        if (unit_random(random) % 1000 == 0)
            at += unit_random(random) % (UINT64_C(1) << 26) & ~UINT64_C(15);
    }
    *own = *inherited = 0;
    for (uint32_t i = 0; i < READ_BLOCKS; i++) {
        struct indexed b;
        struct expected *e = &expected[i];
        if (unit_random(random) % 3 == 0) {
            assert_true(
                index_take(e->block.address, e->told ? INDEX_SIZE_STORED : e->block.usable, &b));
            e->there = false;
        } else {
            *(e->block.birth < FIRST_ERA ? inherited : own) += 1;
        }
    }
}

static void test_read_in_order(void **state)
{
    (void)state;
    uint64_t random = 11;
    size_t own, inherited, before = 0, after = 0;
    struct wire_header *h = calloc(1, sizeof *h);
    struct seen seen = {0};
    index_clear();
    fill_index(&random, &own, &inherited);
    struct target *t = reader_of(h);
    assert_true(block_index_each(t, check_next, &seen));
    assert_int_equal(seen.own, own);
    assert_int_equal(seen.inherited, inherited);
    assert_true(block_index_each(t, count_all, &before));
    assert_int_equal(before, own + inherited);

    /* The block that an address is in. */
    for (uint32_t i = 0; i < READ_BLOCKS; i += 97) {
        struct block found, want = expected[i].block;
        uint64_t inside = want.address + (want.usable - 1) * (i % 2);
        bool mine = expected[i].there && want.birth >= FIRST_ERA;
        bool is = block_index_holding(t, inside, want.address & ~UINT64_C(0xffffff), &found);
        if (mine) {
            assert_true(is);
            assert_int_equal(found.address, want.address);
            assert_int_equal(found.site, want.site);
        }
    }

    index_clear();
    assert_true(block_index_each(t, count_all, &after));
    assert_int_equal(after, 0);
    t->pid = 0x7fffffff; /* nobody */
    assert_false(block_index_each(t, count_all, &after));
    reader_release(t);
    free(h);
}

/* Addresses at the beginning, in the middle or at the end of blocks, some of which are freed. */
struct near {
    uint64_t addresses[READ_BLOCKS];
    size_t count, next, visited, found;
};

static void check_near(void *context, const struct block *b, bool inherited)
{
    struct near *n = context;
    (void)inherited;
    n->visited++;
    while (n->next < n->count && n->addresses[n->next] < b->address)
        n->next++;
    n->found += n->next < n->count && n->addresses[n->next] - b->address < b->usable;
}

/* Of blocks near some addresses none is left out that holds one; most others are. */
static void test_near(void **state)
{
    (void)state;
    uint64_t random = 23;
    size_t own, inherited, wanted = 0;
    struct wire_header *h = calloc(1, sizeof *h);
    static struct near near;
    index_clear();
    fill_index(&random, &own, &inherited);
    struct target *t = reader_of(h);
    size_t next = 0, across = 0;
    for (size_t i = 0; i < READ_BLOCKS; i++) {
        const struct block *b = &expected[i].block;
        uint64_t end = b->address + b->usable - 1;
        bool is_across = b->address >> 17 != end >> 17; /* windows that are read one by one */
        if (i < next && !is_across)
            continue;
        next = i < next ? next : i + 1 + unit_random(&random) % 3000;
        near.addresses[near.count++] =
            is_across ? end : b->address + b->usable / 2 * (unit_random(&random) % 2);
        wanted += expected[i].there;
        across += expected[i].there && is_across && b->usable < 4096;
    }
    assert_true(across > 5);
    assert_true(block_index_near(t, near.addresses, near.count, check_near, &near));
    assert_int_equal(near.found, wanted);
    assert_true(near.visited < own + inherited);
    reader_release(t);
    free(h);
}

static uint64_t skim_all(void *context, const struct block *b)
{
    ++*(size_t *)context;
    return b->address + 1;
}

/* While it is held, all questions are answered from what the index was at the first one. */
static void test_held(void **state)
{
    (void)state;
    uint64_t random = 17;
    size_t own, inherited, kept = 0, skimmed = 0, after = 0;
    struct wire_header *h = calloc(1, sizeof *h);
    struct seen seen = {0};
    index_clear();
    fill_index(&random, &own, &inherited);
    struct target *t = reader_of(h);
    block_index_hold(t);
    assert_true(block_index_each(t, check_next, &seen));
    assert_int_equal(seen.own, own);
    index_clear();
    block_index_hold(t);
    assert_true(block_index_each(t, count_all, &kept));
    assert_true(block_index_skim(t, skim_all, &skimmed));
    assert_int_equal(kept, own + inherited);
    assert_int_equal(skimmed, own + inherited);
    block_index_release(t);
    block_index_release(t);
    assert_true(block_index_each(t, count_all, &after));
    assert_int_equal(after, 0);

    /* Too many for a copy are read each time, and what cannot be read is not held. */
    fill_index(&random, &own, &inherited);
    index_tell(h);
    t->ledger.live.blocks = 1u << 20;
    block_index_hold(t);
    assert_true(block_index_each(t, count_all, &after));
    assert_int_equal(after, own + inherited);
    index_clear();
    assert_true(block_index_each(t, count_all, &after));
    assert_int_equal(after, own + inherited);
    t->ledger.live.blocks = 1;
    t->pid = 0x7fffffff; /* nobody */
    assert_false(block_index_each(t, count_all, &after));
    block_index_release(t);
    reader_release(t);
    free(h);
}

/* The index of a program that has freed everything is as large as ever, and is not read. */
static void test_empty(void **state)
{
    (void)state;
    size_t count = 0;
    struct wire_header *h = calloc(1, sizeof *h);
    struct target *t = reader_of(h);
    t->ledger.live.blocks = 0;
    t->pid = 0x7fffffff; /* nobody, and nobody asks */
    assert_true(block_index_each(t, count_all, &count));
    assert_true(block_index_skim(t, skim_all, &count));
    assert_int_equal(count, 0);
    reader_release(t);
    free(h);
}

/* The program may have written anything over its list of parts. */
static void test_read_nonsense(void **state)
{
    (void)state;
    uint64_t random = 5;
    size_t count = 0;
    enum { PARTS = 200 };
    struct wire_header *h = calloc(1, sizeof *h);
    struct target *t = reader_of(h);
    struct wire_index_part *parts = calloc(PARTS, sizeof *parts);
    for (size_t i = 0; i < PARTS; i++)
        parts[i] = (struct wire_index_part){.region = i % 3 ? i % 7 : unit_random(&random),
                                            .slots = unit_random(&random) & ~UINT64_C(0xfff),
                                            .granule_bits = (uint32_t)(unit_random(&random) % 40),
                                            .size_stored = (uint16_t)unit_random(&random)};
    h->totals.index_parts = (uintptr_t)parts;
    h->totals.index_part_count = PARTS;
    h->totals.index_wide = (uintptr_t)parts;
    h->totals.index_wide_count = 64;
    block_index_each(t, count_all, &count);
    assert_int_equal(count, 0);
    free(parts);
    reader_release(t);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_in_order), cmocka_unit_test(test_near),
        cmocka_unit_test(test_held),          cmocka_unit_test(test_empty),
        cmocka_unit_test(test_read_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
