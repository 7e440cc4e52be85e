/* The block index that the recorder keeps (record/block_index.h). */
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "record/block_index.h"
#include "record/recorder.h"
#include "recorder_memory.h"
#include "unit.h"

/* --- what block_index.c wants of the recorder -------------------------------------------------- */

struct recorder recorder;
__thread struct tls tls;

void sys_yield(void)
{
}

/* --- tests ------------------------------------------------------------------------------------- */

#define HEAP UINT64_C(0x555500000000)

static void put(uint64_t address, uint32_t account, uint64_t size, uint64_t usable, bool told)
{
    struct indexed old, b = {account, account * 3, size, usable};
    assert_false(index_put(address, &b, told, &old));
}

static void check_take(uint64_t address, uint32_t account, uint64_t size, uint64_t usable,
                       bool told)
{
    struct indexed b = {0};
    assert_true(index_take(address, told ? INDEX_SIZE_STORED : usable, &b));
    assert_int_equal(b.account, account);
    assert_int_equal(b.era, account * 3);
    assert_int_equal(b.size, size);
    assert_int_equal(b.usable, usable);
    assert_false(index_take(address, told ? INDEX_SIZE_STORED : usable, &b));
}

/* Blocks as glibc lays them out: what can be used of one, and 8 bytes. */
static void test_every_size(void **state)
{
    (void)state;
    index_set_spacing(8);
    uint64_t at = HEAP + 16;
    uint32_t count = 0;
    for (uint64_t size = 0; size < 70000; size += size < 600 ? 1 : 997) {
        uint64_t usable = size <= 24 ? 24 : ((size + 7) | 15) - 7;
        put(at, ++count, size, usable, false);
        at += usable + 8;
    }
    at = HEAP + 16;
    count = 0;
    for (uint64_t size = 0; size < 70000; size += size < 600 ? 1 : 997) {
        uint64_t usable = size <= 24 ? 24 : ((size + 7) | 15) - 7;
        check_take(at, ++count, size, usable, false);
        at += usable + 8;
    }
}

/* The short way for small chunks of glibc writes and reads the same slots as the general one. */
static void test_small_chunks(void **state)
{
    (void)state;
    index_set_spacing(8);
    for (uint64_t chunk = 16; chunk < 320; chunk += 16) {
        uint64_t at = HEAP + (1 << 20) + chunk * 64, usable = chunk - 8;
        struct indexed b = {0};
        bool small = chunk >= 32 && chunk < 256;
        assert_int_equal(index_is_small_chunk(chunk), small);
        put(at, 7, usable - 5, usable, false); /* the slots are there from now on */
        assert_int_equal(index_take_chunk(index_chunk_word(at), at, chunk, &b), small);
        if (!small) {
            check_take(at, 7, usable - 5, usable, false);
            continue;
        }
        assert_int_equal(b.account, 7);
        assert_int_equal(b.era, 21);
        assert_int_equal(b.size, usable - 5);
        assert_int_equal(b.usable, usable);
        assert_false(index_take_chunk(index_chunk_word(at), at, chunk, &b));
        assert_true(index_put_chunk(index_chunk_word(at), at, chunk, 5, 7, 21));
        assert_false(index_put_chunk(index_chunk_word(at), at, chunk, 5, 8, 21));
        /* Another block of the same slot, or another size: it is not this one. */
        assert_false(index_take_chunk(index_chunk_word(at), at + 16, chunk, &b));
        assert_false(index_take_chunk(index_chunk_word(at), at, chunk + 16, &b));
        check_take(at, 7, usable - 5, usable, false);
    }
    assert_null(index_chunk_word(HEAP + (UINT64_C(1) << 40)));
    assert_null(index_chunk_word(UINT64_C(1) << 52));
}

/* The allocator says something else than at the allocation: the block is found all the same. */
/* After more eras than a slot can number, blocks belong to the last one, not to the first ones. */
static void test_too_many_eras(void **state)
{
    struct indexed b = {0};
    uint64_t at = HEAP + (2 << 20);
    (void)state;
    index_set_spacing(8);
    put(at, 7, 20, 24, false);
    assert_true(index_take(at, 24, &b));
    assert_true(index_put_chunk(index_chunk_word(at), at, 32, 4, 7, WIRE_ERA_MOST + 5));
    assert_true(index_take_chunk(index_chunk_word(at), at, 32, &b));
    assert_int_equal(b.era, WIRE_ERA_MOST);
}

static void test_other_usable_size(void **state)
{
    (void)state;
    struct indexed b = {0};
    put(HEAP + (1 << 20), 7, 40, 40, false);
    assert_true(index_take(HEAP + (1 << 20), 5000, &b));
    assert_int_equal(b.account, 7);
    assert_int_equal(b.size, 40);
    put(HEAP + (1 << 20), 8, 5000, 5016, false);
    assert_true(index_take(HEAP + (1 << 20), 24, &b));
    assert_int_equal(b.size, 5000);
    assert_int_equal(b.usable, 5016);
}

static void test_sizes_that_do_not_fit(void **state)
{
    (void)state;
    uint64_t at = HEAP + (2 << 20);
    put(at, 3, 33, 41, false);    /* not a multiple of 8 from the least */
    put(at + 64, 4, 1, 4, false); /* less than any part is for */
    put(at + 128, 5, 10, 1000, false);
    check_take(at, 3, 33, 41, false);
    check_take(at + 64, 4, 1, 4, false);
    check_take(at + 128, 5, 10, 1000, false);
}

static void test_told(void **state)
{
    (void)state;
    uint64_t at = HEAP + (3 << 20);
    for (uint32_t i = 0; i < 4096; i++) /* next to each other, as CPython's small objects */
        put(at + i * 16, i + 1, i % 17, i % 17 ? (i % 17 + 15) & ~15u : 16, true);
    put(at + (1 << 17) + 8, 70001, 5, 5, true);
    for (uint32_t i = 0; i < 3000; i++) /* sizes beside the table */
        put(at + (1 << 18) + i * 65536ull, i + 9, 40000 + i, 50000 + i, true);
    for (uint32_t i = 0; i < 4096; i++)
        check_take(at + i * 16, i + 1, i % 17, i % 17 ? (i % 17 + 15) & ~15u : 16, true);
    check_take(at + (1 << 17) + 8, 70001, 5, 5, true);
    for (uint32_t i = 0; i < 3000; i++)
        check_take(at + (1 << 18) + i * 65536ull, i + 9, 40000 + i, 50000 + i, true);
}

/* Blocks whose usable size is no multiple of 8, as chromium's: their sizes have room in the slots,
 * and a free does not ask for them. */
static void test_uneven_sizes(void **state)
{
    (void)state;
    static struct wire_header header;
    uint64_t at = HEAP + (6 << 20);
    recorder.header = &header;
    index_tell(&header);
    uint32_t wide = header.totals.index_wide_count;
    for (uint32_t slack = 0; slack < 64; slack++)
        for (uint32_t size = 0; size < 240; size++, at += 512)
            put(at, slack + 1, size, size + slack, index_is_uneven(at, size + slack + 8));
    at = HEAP + (6 << 20);
    for (uint32_t slack = 0; slack < 64; slack++)
        for (uint32_t size = 0; size < 240; size++, at += 512) {
            bool uneven = index_is_uneven(at, size + slack + 8);
            assert_int_equal(uneven, (size + slack) % 8 != 0 && size + slack + 8 < 256);
            check_take(at, slack + 1, size, size + slack, uneven);
        }
    assert_int_equal(header.totals.index_wide_count, wide);
    recorder.header = NULL;
}

static void test_missed_free(void **state)
{
    (void)state;
    struct indexed old = {0}, b = {12, 1, 100, 104};
    put(HEAP + (4 << 20), 11, 97, 104, false);
    assert_true(index_put(HEAP + (4 << 20), &b, false, &old));
    assert_int_equal(old.account, 11);
    assert_int_equal(old.size, 97);
    b = (struct indexed){13, 1, 9000, 9000};
    put(HEAP + (5 << 20), 14, 9001, 9016, false);
    assert_true(index_put(HEAP + (5 << 20), &b, false, &old));
    assert_int_equal(old.account, 14);
    assert_int_equal(old.usable, 9016);
}

/* Where no address of a program is, or without memory, blocks are not kept and nothing breaks. */
static void test_no_room(void **state)
{
    (void)state;
    struct indexed old, b = {1, 1, 100, 104};
    assert_false(index_put(UINT64_C(1) << 52, &b, false, &old));
    assert_false(index_take(UINT64_C(1) << 52, 104, &b));
    memory_left = false;
    for (uint64_t i = 0; i < 64; i++) {
        b = (struct indexed){1, 1, 100, 104};
        index_put(HEAP + (UINT64_C(1) << 40) + (i << WIRE_REGION_BITS), &b, false, &old);
    }
    memory_left = true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_size),
        cmocka_unit_test(test_small_chunks),
        cmocka_unit_test(test_too_many_eras),
        cmocka_unit_test(test_other_usable_size),
        cmocka_unit_test(test_sizes_that_do_not_fit),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_uneven_sizes),
        cmocka_unit_test(test_missed_free),
        cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
