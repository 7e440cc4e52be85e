/* What is mapped where, and which pages of it were touched. */
#include "unit.h"

#include <stdlib.h>

#include "collect/naming/sampled_maps.h"
#include "collect/sampling/touched_pages.h"
#include "collect/counting/sampled_tree.h"
#include "machine/page.h"

static struct code_file one, two;

static struct sampled_map code(uint64_t start, uint64_t end, struct code_file *file)
{
    return (struct sampled_map){.start = start, .end = end, .file = file, .is_file = true};
}

static struct sampled_map data(uint64_t start, uint64_t end)
{
    return (struct sampled_map){.start = start, .end = end};
}

static uint64_t start_at(const struct sampled_maps *m, uint64_t address)
{
    const struct sampled_map *found = sampled_maps_find(m, address);
    return found ? found->start : 0;
}

static void test_new_mappings_take_the_place_of_old_ones(void **state)
{
    (void)state;
    struct sampled_maps m = {0};
    assert_null(sampled_maps_find(&m, 0x1000));
    assert_false(sampled_maps_add(&m, code(0x10000, 0x20000, &one)));
    assert_false(sampled_maps_add(&m, data(0x30000, 0x40000)));
    assert_int_equal(start_at(&m, 0x10000), 0x10000);
    assert_int_equal(start_at(&m, 0x1ffff), 0x10000);
    assert_null(sampled_maps_find(&m, 0x20000));
    assert_null(sampled_maps_find(&m, 0xffff));
    /* The same again changes nothing. */
    sampled_maps_find(&m, 0x10000)->known = true;
    assert_false(sampled_maps_add(&m, code(0x10000, 0x20000, &one)));
    assert_true(sampled_maps_find(&m, 0x10000)->known);
    assert_int_equal(sampled_maps_find(&m, 0x10000)->epoch, SAMPLE_EPOCH);
    /* In the middle of it: three are left, and the new code is told from the old. */
    assert_true(sampled_maps_add(&m, code(0x14000, 0x18000, &two)));
    assert_int_equal(m.items.count, 4);
    assert_ptr_equal(sampled_maps_find(&m, 0x13fff)->file, &one);
    assert_ptr_equal(sampled_maps_find(&m, 0x14000)->file, &two);
    assert_int_equal(sampled_maps_find(&m, 0x14000)->epoch, SAMPLE_EPOCH + 1);
    assert_ptr_equal(sampled_maps_find(&m, 0x18000)->file, &one);
    assert_int_equal(sampled_maps_find(&m, 0x18000)->offset, 0x8000);
    /* Over several, and parts of the outer ones. */
    assert_true(sampled_maps_add(&m, data(0x12000, 0x38000)));
    assert_int_equal(m.items.count, 3);
    assert_int_equal(sampled_maps_find(&m, 0x10000)->end, 0x12000);
    assert_null(sampled_maps_find(&m, 0x14000)->file);
    assert_int_equal(start_at(&m, 0x38000), 0x38000);
    vec_release(&m.items);
}

/* Against a table with an entry for every page. */
static void test_any_order(void **state)
{
    (void)state;
    enum { PAGES = 64 };
    struct sampled_maps m = {0};
    uint64_t owner[PAGES] = {0};
    srand(7);
    for (uint64_t round = 1; round <= 20000; round++) {
        unsigned from = (unsigned)rand() % PAGES, to = from + 1 + (unsigned)rand() % (PAGES - from);
        struct sampled_map new = data(from * 4096u + 4096, to * 4096u + 4096);
        new.bias = round;
        sampled_maps_add(&m, new);
        for (unsigned i = from; i < to; i++)
            owner[i] = round;
        for (unsigned i = 0; i < PAGES; i++) {
            const struct sampled_map *found = sampled_maps_find(&m, i * 4096u + 4096);
            assert_int_equal(found ? found->bias : 0, owner[i]);
        }
        for (size_t i = 1; i < m.items.count; i++)
            assert_true(m.items.items[i - 1].end <= m.items.items[i].start);
    }
    struct sampled_maps copy = {0};
    sampled_maps_copy(&copy, &m);
    assert_int_equal(copy.items.count, m.items.count);
    vec_release(&m.items);
    vec_release(&copy.items);
}

static void test_kinds_of_faults(void **state)
{
    (void)state;
    struct touched_pages parent = {0}, child = {0};
    struct sampled_map memory = data(0x400000, 0x10000000), file = code(0x1000, 0x5000, &one);
    const uint64_t page = page_bytes(), first = 0x600000; /* a multiple of any size */
    const pid_t nobody = 0; /* there is nobody to be asked about huge pages */
    assert_int_equal(touched_pages_fault(&parent, nobody, &memory, first + 0x123), FAULT_TOUCH);
    assert_int_equal(touched_pages_fault(&parent, nobody, &memory, first + page), FAULT_TOUCH);
    assert_int_equal(touched_pages_fault(&parent, nobody, &file, 0x2000), FAULT_FILE);
    assert_int_equal(touched_pages_fault(&parent, nobody, NULL, 0x900000), FAULT_TOUCH);
    /* Without a fork, a second fault makes a page resident that was given back. */
    assert_int_equal(touched_pages_fault(&parent, nobody, &memory, first + page - 1), FAULT_TOUCH);
    touched_pages_fork(&parent, &child);
    assert_int_equal(touched_pages_fault(&child, nobody, &memory, first), FAULT_COPY);
    assert_int_equal(touched_pages_fault(&child, nobody, &memory, first), FAULT_TOUCH);
    assert_int_equal(touched_pages_fault(&child, nobody, &memory, first + 2 * page), FAULT_TOUCH);
    assert_int_equal(touched_pages_fault(&parent, nobody, &memory, first), FAULT_COPY);
    /* A new mapping there has nothing of the old one. */
    touched_pages_forget(&child, first + page, first + 2 * page);
    assert_int_equal(touched_pages_fault(&child, nobody, &memory, first + page), FAULT_TOUCH);
    touched_pages_forget(&parent, 0, UINT64_C(1) << 47);
    assert_int_equal(touched_pages_fault(&parent, nobody, &memory, first + page), FAULT_TOUCH);
    assert_int_equal(fault_bytes(FAULT_TOUCH), page);
    assert_int_equal(fault_bytes(FAULT_FILE), page);
    assert_int_equal(fault_bytes(FAULT_HUGE), page / 8 * page);
    assert_int_equal(fault_bytes(FAULT_COPY), 0);
    touched_pages_clear(&parent);
    touched_pages_clear(&child);
}

static void test_sampled_tree(void **state)
{
    (void)state;
    struct sampled_tree t = {0};
    struct profile p = {0};
    *vec_push(&p.nodes) = (struct node){0};
    *vec_push(&p.nodes) = (struct node){.parent = 0, .address = 77};
    uint32_t a = sampled_tree_child(&t, 0, 100), b = sampled_tree_child(&t, a, 200);
    uint32_t c = sampled_tree_child(&t, 0, 200);
    assert_int_equal(a, 1);
    assert_int_equal(b, 2);
    assert_int_equal(c, 3);
    assert_int_equal(sampled_tree_child(&t, a, 200), b);
    assert_int_equal(sampled_tree_child(&t, 0, 100), a);
    uint32_t by = sampled_tree_join(&t, &p);
    assert_int_equal(by, 1);
    assert_int_equal(p.nodes.count, 5);
    assert_int_equal(p.nodes.items[b + by].parent, a + by);
    assert_int_equal(p.nodes.items[c + by].parent, 0);
    assert_int_equal(p.nodes.items[b + by].address, 200);
    sampled_tree_release(&t);
    vec_release(&p.nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_mappings_take_the_place_of_old_ones),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_kinds_of_faults),
        cmocka_unit_test(test_sampled_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
