/* Pages of 64 KiB, whatever the kernel has that the test runs on. */
#include "../unit.h"

#include <unistd.h>

#include "collect/resident/footprint.h"
#include "collect/resident/heap_pages.h"
#include "collect/sampling/touched_pages.h"

#define PAGE  UINT64_C(65536)
#define HEAP  UINT64_C(0x10000000)
#define PAGES 4

enum { TABLE_BITS = 7 };

int getpagesize(void)
{
    return PAGE;
}

/* A block that takes whole pages: their bytes are as many as a page has. */
static void test_whole_pages(void **state)
{
    (void)state;
    struct target t = {0};
    struct footprint_reading look = {0};
    struct footprint f = {0};
    uint64_t size = 2 * PAGE + 100, usable = (size + 8 + 15) / 16 * 16 - 8;
    /* The only live block, as a program has it that was recorded with --sample. */
    static _Alignas(4096) struct wire_block table[1 << TABLE_BITS];
    static struct wire_header header;
    table[0] = (struct wire_block){HEAP + 16, WIRE_ACCOUNT_FIRST, 0, size, usable};
    header.totals.sample_table = (uintptr_t)table | TABLE_BITS;
    t.pid = getpid();
    t.header = &header;
    t.profile.sample_bytes = 1; /* all are recorded */
    eras_begin(&t.eras, 0, 1, true);
    for (uint32_t i = 0; i <= WIRE_ACCOUNT_FIRST; i++)
        *vec_push(&t.accounts.ledger_accounts) = i == WIRE_ACCOUNT_FIRST;
    *vec_push(&t.ledger.accounts) = (struct account){.domain = DOMAIN_HEAP, .unit = {.usable = 24}};
    *vec_push(&look.mappings.items) =
        (struct proc_mapping){.mapping = {.start = HEAP,
                                          .end = HEAP + PAGES * PAGE,
                                          .flags = MAPPING_READ | MAPPING_WRITE},
                              .name = "[heap]"};
    *vec_push(&look.runs.items) = (struct page_run){HEAP, HEAP + PAGES * PAGE, PAGE_PRESENT};
    *vec_push(&look.mapping_of) = 0;
    footprint_join(&look, &t, &f);
    assert_u64_equal(f.parts[PART_LIVE], size);
    assert_u64_equal(f.parts[PART_ROUNDING], usable + 8 - size);
    assert_u64_equal(f.parts[PART_HELD], 3 * PAGE - usable - 8);
    assert_u64_equal(f.parts[PART_FREE], PAGE);
    vec_release(&t.ledger.accounts);
    vec_release(&t.profile.pins);
    vec_release(&look.mappings.items);
    vec_release(&look.runs.items);
    vec_release(&look.mapping_of);
    vec_release(&t.accounts.ledger_accounts);
    eras_release(&t.eras);
}

/* After a fork the first write to a page makes a copy of it, wherever in the page that is. */
static void test_touched(void **state)
{
    (void)state;
    struct touched_pages parent = {0}, child = {0};
    assert_u64_equal(fault_bytes(FAULT_TOUCH), PAGE);
    assert_u64_equal(fault_bytes(FAULT_HUGE), UINT64_C(512) << 20);
    assert_int_equal(touched_pages_fault(&parent, 0, NULL, HEAP + 5 * PAGE), FAULT_TOUCH);
    assert_int_equal(touched_pages_fault(&parent, 0, NULL, HEAP + 900 * PAGE), FAULT_TOUCH);
    assert_int_equal(parent.regions.count, 1);
    touched_pages_fork(&parent, &child);
    assert_int_equal(touched_pages_fault(&child, 0, NULL, HEAP + 5 * PAGE + 0x3000), FAULT_COPY);
    assert_int_equal(touched_pages_fault(&child, 0, NULL, HEAP + 6 * PAGE), FAULT_TOUCH);
    touched_pages_forget(&parent, HEAP + 900 * PAGE, HEAP + 901 * PAGE);
    assert_int_equal(touched_pages_fault(&parent, 0, NULL, HEAP + 900 * PAGE), FAULT_TOUCH);
    assert_int_equal(touched_pages_fault(&parent, 0, NULL, HEAP + 6 * PAGE - 1), FAULT_COPY);
    touched_pages_clear(&parent);
    touched_pages_clear(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole_pages),
                                       cmocka_unit_test(test_touched)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
