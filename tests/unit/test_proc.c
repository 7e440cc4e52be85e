/* What /proc says of a process, and what it would never say. */
#include "unit.h"

#include "collect/proc/memory_room.h"
#include "collect/proc/own_mappings.h"
#include "collect/proc/proc.h"
#include "collect/session/snapshot_triggers.h"
#include "machine/page.h"

static void test_stat(void **state)
{
    (void)state;
    struct proc_state got = {0};
    assert_true(proc_parse_stat("42 (cat) S 7 42 42 0 -1 4194304 123 9 5 8 1 2 0 0 20 0\n", &got));
    assert_int_equal(got.ppid, 7);
    assert_u64_equal(got.minor_faults, 123);
    assert_u64_equal(got.major_faults, 5);
    assert_u64_equal(got.user_ticks, 1);
    assert_u64_equal(got.system_ticks, 2);
    assert_u64_equal(got.start_ticks, 0);
    assert_true(proc_parse_stat(
        "42 (cat) S 7 42 42 0 -1 4194304 123 9 5 8 1 2 0 0 20 0 1 0 777 9\n", &got));
    assert_u64_equal(got.threads, 1);
    assert_u64_equal(got.start_ticks, 777);
    assert_u64_equal(got.stack_start, 0);
    assert_true(proc_parse_stat("42 (cat) S 7 42 42 0 -1 4194304 123 9 5 8 1 2 0 0 20 0 1 0 777 9 "
                                "3 18446744073709551615 11 12 140722345 14 0 0 0 0 0 0 0 0 17 1 0 "
                                "0 0 0 0 18 19 20 21 22 23 24 0\n",
                                &got));
    assert_u64_equal(got.stack_start, 140722345);
    assert_u64_equal(got.environment_end, 24);
    /* In the middle of exec it will change once more. */
    assert_true(proc_parse_stat("42 (cat) S 7 42 42 0 -1 4194304 123 9 5 8 1 2 0 0 20 0 1 0 777 9 "
                                "3 18446744073709551615 0 0 140722345 14 0 0 0 0 0 0 0 0 17 1 0 "
                                "0 0 0 0 0 0 0 21 0 0 0 0\n",
                                &got));
    assert_u64_equal(got.stack_start, 0);
    /* A thread may be called anything, this too. */
    assert_true(proc_parse_stat("42 (a) R 1 (b) S 8 42 42 0 -1 4194304 1 9 2 8\n", &got));
    assert_int_equal(got.ppid, 8);
    assert_u64_equal(got.minor_faults, 1);
}

static void test_kernel_workers(void **state)
{
    (void)state;
    static const struct {
        struct proc_state state;
        bool is;
    } cases[] = {{{.name = "iou-wrk-5632", .flags = 4210768}, true},
                 {{.name = "iou-sqp-5632", .flags = 0x404050}, true},
                 {{.name = "vhost-77", .flags = 0x404040}, true},
                 {{.name = "iou-wrk-5632", .flags = 0x400040}, false}, /* so the program named it */
                 {{.name = "worker", .flags = 0x404050}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(proc_is_kernel_worker(&cases[i].state), cases[i].is);
}

/* A title that was written over the arguments leaves empty room behind it. */
static void test_command(void **state)
{
    (void)state;
    assert_int_equal(proc_command_size("a\0b\0", 4), 4);
    assert_int_equal(proc_command_size("a\0\0", 3), 3);
    assert_int_equal(proc_command_size("redis *:1\0\0\0\0", 13), 10);
    assert_int_equal(proc_command_size("title", 5), 5);
    assert_int_equal(proc_command_size("\0\0\0", 3), 1);
    assert_int_equal(proc_command_size("", 0), 0);
}

static void test_statm(void **state)
{
    (void)state;
    struct proc_memory got;
    assert_true(proc_parse_statm("1000 300 200 5 0 90 0\n", &got));
    assert_u64_equal(got.vm_bytes, 1000 * page_bytes());
    assert_u64_equal(got.rss_bytes, 300 * page_bytes());
    assert_u64_equal(got.anon_bytes, 100 * page_bytes());
    assert_true(proc_parse_statm("1000 300 301 5 0 90 0\n", &got));
    assert_u64_equal(got.anon_bytes, 0);
}

static void test_anything_else(void **state)
{
    (void)state;
    static const char *const texts[] = {"",          ")",     "(",          "42 (cat)",
                                        "42 (cat) ", "())",   "42 (cat) S", "42 (cat) S 7",
                                        "1 2",       "x y z", "-"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct proc_state state_kept = {.ppid = 77};
        struct proc_memory memory_kept = {.vm_bytes = 78};
        char *exact = strdup(texts[i]); /* a read beyond its end must be seen */
        assert_false(proc_parse_stat(exact, &state_kept));
        assert_false(proc_parse_statm(exact, &memory_kept));
        assert_int_equal(state_kept.ppid, 77);
        assert_u64_equal(memory_kept.vm_bytes, 78);
        free(exact);
    }
    struct proc_memory zombie;
    assert_false(proc_parse_statm("0 0 0 0 0 0 0\n", &zombie));
}

static void test_value_of_a_line(void **state)
{
    (void)state;
    const char *text = "MemTotal:  100 kB\nMemAvailable:   60 kB\nfile 7\ninactive_file 5\n";
    assert_u64_equal(memory_value(text, "MemTotal:"), 100);
    assert_u64_equal(memory_value(text, "MemAvailable:"), 60);
    assert_u64_equal(memory_value(text, "file"), 7);
    assert_u64_equal(memory_value(text, "Mem"), 0);
    assert_u64_equal(memory_value("", "file"), 0);
    assert_u64_equal(memory_value("file", "file"), 0);
}

static void test_triggers_are_read(void **state)
{
    (void)state;
    struct trigger t;
    assert_true(trigger_parse("rss=4G", &t));
    assert_int_equal(t.kind, TRIGGER_RSS);
    assert_u64_equal(t.bytes, (uint64_t)4 << 30);
    assert_true(trigger_parse("live+20%", &t));
    assert_int_equal(t.kind, TRIGGER_LIVE);
    assert_int_equal(t.percent, 20);
    assert_true(trigger_parse("peak", &t));
    assert_int_equal(t.kind, TRIGGER_PEAK);
    assert_true(trigger_parse("oom", &t));
    assert_int_equal(t.kind, TRIGGER_OOM);
    static const char *const wrong[] = {"",        "rss",      "rss=",      "rss=0",  "rss=-1",
                                        "live",    "live+",    "live+20",   "live+%", "live+-5%",
                                        "live+0%", "live+5%%", "oom killer"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(trigger_parse(wrong[i], &t));
}

static void test_own_mappings(void **state)
{
    (void)state;
    assert_true(is_own_library("/usr/lib/tidemark/libtidemark.so"));
    assert_true(is_own_library("/home/me/libtidemark.so (deleted)"));
    assert_true(is_own_library("/memfd:libtidemark.so (deleted)")); /* as attach loads it */
    assert_false(is_own_library("/usr/lib/libc.so.6"));
    assert_false(is_own_library("[heap]"));
    assert_false(is_own_library(""));
    assert_true(is_own_memory("/memfd:tidemark (deleted)"));
    assert_false(is_own_memory("/memfd:tidemark-doctor (deleted)"));
    assert_false(is_own_memory("/memfd:libtidemark.so (deleted)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat),
        cmocka_unit_test(test_kernel_workers),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_statm),
        cmocka_unit_test(test_anything_else),
        cmocka_unit_test(test_value_of_a_line),
        cmocka_unit_test(test_triggers_are_read),
        cmocka_unit_test(test_own_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
