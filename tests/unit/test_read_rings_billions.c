/* From accounts to numbers: programs that run for hours. */
#include "test_read_rings_fixture.h"

#include "collect/counting/heap_peak.h"

/* One thread allocates billions of blocks, which two others free: 10 are live, and 20 were. */
static void test_billions_of_blocks(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    const uint64_t passed = UINT64_C(6) << 32, live[] = {passed + 10, -passed / 2, -passed / 2};
    uint32_t number = account_of(&r[0], 1, 0), amounts = t->header->totals.accounts_end + 101;
    amounts += amounts % 2;
    for (unsigned i = 0; i < 3; i++, amounts += 2) {
        *(struct wire_amounts *)(void *)account_at(t, amounts) =
            (struct wire_amounts){.base_blocks = live[i],
                                  .base_bytes = live[i] * 100,
                                  .saved_blocks = live[i] + (i ? 0 : 10),
                                  .saved_bytes = (live[i] + (i ? 0 : 10)) * 100,
                                  .largest_bytes = 100};
        struct wire_account as = {.frees = !i, .saved_epoch = 1, .size = WIRE_NO_SIZE};
        as.base_blocks = (uint32_t)live[i];
        as.amounts = amounts;
        changed(&r[i], i ? account_of(&r[i], number, WIRE_ACCOUNT_OTHERS) : number, as);
        row(&r[i], i ? account_of(&r[i], number, WIRE_ACCOUNT_OTHERS) : number, 1, 100, 0);
    }
    t->header->totals.accounts_end = amounts;
    t->header->totals.peak_bytes = 2000; /* noted in epoch 1 */
    target_drain(t, 1);
    heap_peak_settle(t, 5);
    struct amount peak = ledger_at_peak(&t->ledger, &t->ledger.accounts.items[0]);
    assert_u64_equal(peak.blocks, 20);
    assert_u64_equal(peak.bytes, 2000);
    target_free(t);
}

/* Of some sizes and lifetimes there were more blocks than 32 bits can count. */
static void test_billions_in_cells(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t number = account_of(&r[0], 1, 0), first = t->header->totals.accounts_end;
    const struct wire_cell cells[] = {
        {.next = first + 1, .group = 2, .sizes = {.count = {0, 7}, .bytes = {0, 700}}},
        {.next = first + 2, .group = 2 | WIRE_CELL_CARRY, .sizes = {.count = {0, 5}}},
        {.group = 1 | WIRE_CELL_CARRY, .lives = 1, .lives_count = {3}}};
    for (unsigned i = 0; i < 3; i++)
        *(struct wire_cell *)(void *)account_at(t, first + i) = cells[i];
    t->header->totals.accounts_end = first + 3;
    changed(&r[0], number, (struct wire_account){.allocs = 1, .size = 100, .cells = first});
    drain_counters(t);
    heap_peak_settle(t, 5);
    const struct bucket_rows *sizes = &t->ledger.counted_sizes, *lives = &t->ledger.counted_lives;
    assert_int_equal(sizes->count, 2);
    assert_int_equal(sizes->items[1].bucket, 2 * WIRE_CELL_SIZES + 1);
    assert_u64_equal(sizes->items[0].count + sizes->items[1].count, 7 + 5 * WIRE_CELL_CARRIED);
    assert_int_equal(lives->count, 1);
    assert_int_equal(lives->items[0].bucket, WIRE_CELL_LIVES + 1);
    assert_u64_equal(lives->items[0].count, 3 * WIRE_CELL_CARRIED);
    target_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_billions_of_blocks),
        cmocka_unit_test(test_billions_in_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
