/* What a thread counts in its accounts (record/accounts.c, count.c, fast_path.h). */
#include <stdlib.h>
#include <sys/mman.h>

#include "record/array_growth.h"
#include "record/bootstrap_alloc.h"
#include "record/fast_path.h"
#include "record/python.h"
#include "record/stack_tree.h"
#include "recorder_memory.h"
#include "unit.h"

/* --- what the modules want of the recorder ---------------------------------------------------- */

struct recorder recorder;
__thread struct tls tls;
_Atomic(usable_of *) chunk_trusted;
#define THREADS 3

static struct {
    struct thread threads[THREADS];
    struct wire_ring rings[THREADS];
} program;
static uint64_t written[1 << 16]; /* the ring of whichever thread writes */
static bool ring_is_full;
static char boot[64];

bool ring_room(struct thread *t, unsigned events)
{
    (void)events;
    t->at = written;
    t->end = ring_is_full ? written : written + sizeof written / sizeof *written;
    return !ring_is_full;
}

bool ring_spare_room(struct thread *t)
{
    return ring_room(t, 0);
}

size_t chunk_ask_freed(void *p, usable_of *usable)
{
    return usable(p);
}

size_t boot_bytes(char **start)
{
    *start = boot;
    return sizeof boot;
}

void sys_yield(void)
{
}

void threads_each(void (*f)(struct thread *t, void *context), void *context)
{
    for (unsigned i = 0; i < THREADS; i++)
        f(&program.threads[i], context);
}

void growth_step(struct thread *t, const struct growth_step *s)
{
    (void)t;
    (void)s;
}

void count_replaced(struct thread *t, uintptr_t address, const struct indexed *old)
{
    (void)t;
    (void)address;
    (void)old;
}

void large_freed(struct thread *t, void *p, size_t size, uint32_t account)
{
    (void)t;
    (void)p;
    (void)size;
    (void)account;
}

void python_forget_accounts(struct thread *t)
{
    (void)t;
}

uint32_t stack_tree_cut_of(uint32_t number)
{
    (void)number;
    return WIRE_CUT_ROOT;
}

/* --- a program -------------------------------------------------------------------------------- */

#define STACK UINT32_C(5) /* where all blocks are allocated */
#define ERAS  4096        /* bytes before them */

static void *memory(size_t size)
{
    void *p = sys_map(size);
    assert_non_null(p);
    return p;
}

/* A process with accounts in one window, and three threads. */
static void begin(void)
{
    struct wire_header *h = memory(ERAS + WIRE_ERAS * sizeof(uint32_t));
    h->eras_offset = ERAS;
    h->accounts_limit = wire_accounts_before(1);
    h->totals.accounts_end = WIRE_ACCOUNT_USUAL;
    h->totals.spare_end = WIRE_ACCOUNT_FIRST;
    h->totals.peak_epoch = 1;
    h->moment = UINT64_C(1) << 32 | 1;
    recorder.header = h;
    index_set_spacing(8);
    assert_true(accounts_reset(h, memory(wire_accounts_bytes(0))));
    memset(&program, 0, sizeof program);
    ring_is_full = false;
    for (unsigned i = 0; i < THREADS; i++) {
        struct thread *t = &program.threads[i];
        t->ring = &program.rings[i];
        accounts_init(&t->counting, memory(COUNTING_BYTES));
        accounts_begin(t);
    }
}

/* What the account has, whether or not its blocks are alike. */
static struct wire_amounts amounts_of(const struct wire_account *a)
{
    const struct wire_amounts *m = account_amounts(a);
    return m ? *m : wire_amounts_of(a);
}

static int64_t live_blocks(const struct wire_account *a)
{
    return (int64_t)(amounts_of(a).base_blocks + a->allocs - a->frees);
}

static int64_t live_bytes(const struct wire_account *a)
{
    struct wire_amounts m = amounts_of(a);
    return (int64_t)(m.base_bytes + m.bytes - m.freed);
}

/* The first account of a thread. */
static struct wire_account *account_of(const struct thread *t)
{
    uint32_t end = atomic_load(&accounts.totals->accounts_end);
    for (uint32_t n = WIRE_ACCOUNT_USUAL; n < end; n++)
        if (account_at(n)->owner / WIRE_ACCOUNT_OWNER == t->counting.owner / WIRE_ACCOUNT_OWNER)
            return account_at(n);
    fail();
    return NULL;
}

static void *const block = (void *)0x7e0000001010;

static void allocates(struct thread *t, size_t size, size_t usable)
{
    assert_true(count_alloc(t, block, size, usable, true, NULL, STACK, NULL));
}

static void frees(struct thread *t)
{
    assert_true(count_free(t, block, NULL, true));
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Blocks come and go for hours: so many that only 64 bits have room for their number. */
static void add_to_base(struct wire_account *a, int64_t blocks, int64_t size)
{
    struct wire_amounts *m = account_amounts(a);
    a->base_blocks += (uint32_t)blocks;
    if (m) {
        m->base_blocks += (uint64_t)blocks;
        m->base_bytes += (uint64_t)(blocks * size);
    }
}

/* Two threads free what another one allocates: the sum stays what is live. */
static void test_billions_of_blocks_for_other_threads(void **state)
{
    const int64_t size = 100, more = 700000000;
    struct wire_account *accounts_of[THREADS];
    struct thread *from = &program.threads[0];
    (void)state;
    begin();
    for (unsigned i = 1; i < THREADS; i++) {
        allocates(from, size, 112);
        frees(&program.threads[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        accounts_of[i] = account_of(&program.threads[i]);
        accounts_rows(&program.threads[i]);
    }
    for (unsigned hours = 0; hours < 8; hours++) {
        int64_t bytes = 0, blocks = 0;
        add_to_base(accounts_of[0], more, size);
        for (unsigned i = 1; i < THREADS; i++)
            add_to_base(accounts_of[i], -more / 2, size);
        for (unsigned i = 1; i < THREADS; i++) {
            allocates(from, size, 112);
            frees(&program.threads[i]);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            accounts_rows(&program.threads[i]);
            bytes += live_bytes(accounts_of[i]);
            blocks += live_blocks(accounts_of[i]);
        }
        assert_int_equal(bytes, 0);
        assert_int_equal(blocks, 0);
    }
}

/* The fast path has room for so many blocks in a row: then a row is written, and it has room again,
 * whether or not the blocks are alike. */
static void test_room_for_the_fast_path(void **state)
{
    (void)state;
    for (unsigned alike = 0; alike < 2; alike++) {
        begin();
        struct thread *t = &program.threads[0];
        allocates(t, 100, 112);
        frees(t);
        allocates(t, alike ? 100 : 200, alike ? 112 : 208);
        frees(t);
        struct wire_account *a = account_of(t);
        assert_int_equal(account_amounts(a) != NULL, !alike);
        a->allocs = a->frees = COUNT_ROW_BLOCKS - 1;
        allocates(t, 100, 112);
        assert_true(a->allocs < COUNT_ROW_BLOCKS);
        a->frees = COUNT_ROW_BLOCKS - 1;
        frees(t);
        assert_true(a->frees < COUNT_ROW_BLOCKS);
    }
}

/* The counter of reallocs has 16 bits. If no row can be written, what does not fit is lost. */
static void test_reallocs_without_room_for_a_row(void **state)
{
    (void)state;
    begin();
    struct thread *t = &program.threads[0];
    allocates(t, 100, 112);
    struct wire_account *a = account_of(t);
    a->reallocs = UINT16_MAX - 1;
    ring_is_full = true;
    t->at = t->end;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(count_realloc(t, block, NULL, true));
        allocates(t, 100, 112);
    }
    assert_int_equal(a->reallocs, UINT16_MAX);
    assert_int_equal(t->ring->dropped, 2);
}

/* A sampled block stands for more reallocs than that. */
static void test_sampled_reallocs_without_room_for_a_row(void **state)
{
    (void)state;
    begin();
    struct thread *t = &program.threads[0];
    recorder.header->sample_bytes = WIRE_PERIOD_MOST;
    assert_true(sample_reset(recorder.header));
    assert_true(weighed_alloc(t, block, 1, 24, STACK, NULL));
    ring_is_full = true;
    t->at = t->end;
    weighed_realloc(t, block);
    assert_true(weighed_alloc(t, block, 1, 24, STACK, NULL));
    assert_int_equal(account_of(t)->reallocs, UINT16_MAX);
    assert_true(t->ring->dropped > WIRE_PERIOD_MOST / 2);
    recorder.sample_bytes = 0;
}

/* A hook was left by longjmp right after it had taken an account off the list of those that have
 * changed. The list stays one. */
static void test_left_after_a_row(void **state)
{
    (void)state;
    begin();
    struct thread *t = &program.threads[0];
    struct wire_ring *ring = t->ring;
    allocates(t, 100, 112);
    uint32_t number = atomic_load(&ring->dirty);
    account_at(number)->next_dirty = 0;
    atomic_store(&ring->dirty, WIRE_LAST);
    atomic_store(&ring->row_of, number);
    atomic_store(&ring->rows_written, 1);
    accounts_recover(t);
    assert_int_equal(atomic_load(&ring->dirty), WIRE_LAST);
    frees(t);
    allocates(t, 100, 112);
    assert_int_equal(atomic_load(&ring->dirty), number);
    assert_int_equal(account_at(number)->next_dirty, WIRE_LAST);
    assert_int_equal(atomic_load(&ring->rows_written), 2);
}

/* Blocks of sizes and lifetimes that most of the account do not have: more than 2^32 of one kind. */
static void test_billions_in_a_cell(void **state)
{
    (void)state;
    begin();
    struct thread *t = &program.threads[0];
    allocates(t, 100, 112);
    frees(t);
    allocates(t, 1000, 1008);
    struct wire_account *a = account_of(t);
    struct wire_cell *cell = unit_at(a->cells);
    assert_int_equal(cell->sizes.count[1], 1); /* of sizes from 2^8 on, the second bucket */
    uint64_t expected = 1, counted = 0;
    for (unsigned hours = 0; hours < 5; hours++) {
        cell->sizes.count[1] += WIRE_CELL_CARRIED - 10;
        expected += WIRE_CELL_CARRIED - 10;
        a->allocs = 300;
        accounts_rows(t);
        frees(t);
        allocates(t, 1000, 1008);
        expected++;
    }
    for (uint32_t n = a->cells; n; n = cell->next) {
        cell = unit_at(n);
        assert_int_equal(cell->lives, 0);
        counted += (uint64_t)cell->sizes.count[1] * wire_cell_unit(cell);
    }
    assert_int_equal(counted, expected);
}

/* Threads begin, or get another name, so often that the numbers of owners begin again: those of
 * threads that live are left out. */
static void test_millions_of_owners(void **state)
{
    const uint32_t all = UINT32_MAX / WIRE_ACCOUNT_OWNER + 1;
    (void)state;
    begin();
    struct thread *first = &program.threads[0], *other = &program.threads[1];
    atomic_store(&accounts.owners, all - 1);
    accounts_begin(other);
    assert_int_not_equal(other->counting.owner, 0);
    atomic_store(&accounts.owners, all + first->counting.owner / WIRE_ACCOUNT_OWNER - 1);
    accounts_begin(other);
    for (unsigned i = 0; i < THREADS; i++)
        for (unsigned k = 0; k < i; k++)
            assert_int_not_equal(program.threads[i].counting.owner,
                                 program.threads[k].counting.owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_billions_of_blocks_for_other_threads),
        cmocka_unit_test(test_room_for_the_fast_path),
        cmocka_unit_test(test_reallocs_without_room_for_a_row),
        cmocka_unit_test(test_sampled_reallocs_without_room_for_a_row),
        cmocka_unit_test(test_left_after_a_row),
        cmocka_unit_test(test_billions_in_a_cell),
        cmocka_unit_test(test_millions_of_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
