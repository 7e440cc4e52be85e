/* /proc/PID/numa_maps as kernels write it, and lines that none would. */
#include "unit.h"

#include "collect/proc/numa_maps.h"

static void test_numa(void **state)
{
    (void)state;
    char text[] = "55d0a4c41000 default heap anon=2 dirty=2 N0=1 N3=5 kernelpagesize_kB=4\n"
                  "nonsense\n"
                  "7f0000000000 bind=static:0-3 file=/a\\040N7=9 huge N1=2 kernelpagesize_kB=2048\n"
                  "7f0000003000 default\n"
                  "7f0000004000\n"
                  "7f0000005000 prefer:1 Nx=4 N=5 N99999999999=1 N2";
    char *rest = text;
    struct proc_placement p;
    struct mapping_node node;
    assert_true(proc_next_placement(&rest, &p));
    assert_u64_equal(p.start, 0x55d0a4c41000);
    assert_string_equal(p.policy, "default");
    assert_true(proc_next_node(&p, &node));
    assert_int_equal(node.node, 0);
    assert_u64_equal(node.kib, 4);
    assert_true(proc_next_node(&p, &node));
    assert_int_equal(node.node, 3);
    assert_u64_equal(node.kib, 20);
    assert_false(proc_next_node(&p, &node));
    assert_true(proc_next_placement(&rest, &p));
    assert_string_equal(p.policy, "bind=static:0-3");
    assert_true(proc_next_node(&p, &node));
    assert_int_equal(node.node, 1);
    assert_u64_equal(node.kib, 4096);
    assert_false(proc_next_node(&p, &node));
    assert_true(proc_next_placement(&rest, &p));
    assert_u64_equal(p.start, 0x7f0000003000);
    assert_false(proc_next_node(&p, &node));
    assert_true(proc_next_placement(&rest, &p)); /* the line with an address alone is none */
    assert_u64_equal(p.start, 0x7f0000005000);
    assert_string_equal(p.policy, "prefer:1");
    assert_false(proc_next_node(&p, &node));
    assert_false(proc_next_placement(&rest, &p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numa),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
