/* /proc/PID/smaps as kernels write them, and texts that none would. */
#include "unit.h"

#include <unistd.h>

#include "collect/resident/maps.h"
#include "collect/proc/smaps.h"

static const char usual[] =
    "55d0a4c41000-55d0a4c62000 rw-p 00000000 00:00 0                          [heap]\n"
    "Size:                132 kB\n"
    "KernelPageSize:        4 kB\n"
    "Rss:                 100 kB\n"
    "Pss:                  90 kB\n"
    "Pss_Dirty:            80 kB\n"
    "Shared_Clean:          1 kB\n"
    "Shared_Dirty:          2 kB\n"
    "Private_Clean:        30 kB\n"
    "Private_Dirty:        67 kB\n"
    "Anonymous:            97 kB\n"
    "AnonHugePages:         8 kB\n"
    "Swap:                 12 kB\n"
    "SwapPss:              11 kB\n"
    "Locked:                3 kB\n"
    "VmFlags: rd wr mr mw me ac \n"
    "7f0000000000-7f0000003000 r-xs 00002000 fe:00 77                         /lib/a b.so "
    "(deleted)\n"
    "Rss:                   4 kB\n"
    "VmFlags: rd ex sh nh\n"
    "7f0000003000-7f0000004000 ---p 00000000 00:00 0\n"
    "VmFlags: nr nh wf \n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static struct proc_mappings parse(const char *text)
{
    struct proc_mappings all = {0};
    static char *copy;
    free(copy);
    copy = strdup(text); /* a read beyond its end must be seen */
    proc_parse_smaps(copy, &all);
    return all;
}

static void test_smaps(void **state)
{
    (void)state;
    struct proc_mappings all = parse(usual);
    assert_int_equal(all.items.count, 4);
    const struct proc_mapping *m = all.items.items;
    static const uint64_t sizes[MAPPING_SIZES] = {
        [MAPPING_RSS] = 100,      [MAPPING_PSS] = 90, [MAPPING_PRIVATE] = 97, [MAPPING_DIRTY] = 69,
        [MAPPING_ANONYMOUS] = 97, [MAPPING_HUGE] = 8, [MAPPING_SWAP] = 12,    [MAPPING_LOCKED] = 3};
    assert_u64_equal(m[0].mapping.start, 0x55d0a4c41000);
    assert_u64_equal(m[0].mapping.end, 0x55d0a4c62000);
    assert_int_equal(m[0].mapping.flags, MAPPING_READ | MAPPING_WRITE);
    assert_string_equal(m[0].name, "[heap]");
    for (int i = 0; i < MAPPING_SIZES; i++)
        assert_u64_equal(m[0].mapping.kib[i], sizes[i]);
    assert_int_equal(m[1].mapping.flags, MAPPING_READ | MAPPING_EXECUTE | MAPPING_SHARED);
    assert_u64_equal(m[1].mapping.offset, 0x2000);
    assert_string_equal(m[1].name, "/lib/a b.so (deleted)");
    assert_true(m[1].no_huge && !m[1].wiped);
    assert_int_equal(m[2].mapping.flags, 0);
    assert_string_equal(m[2].name, "");
    assert_true(m[2].no_huge && m[2].wiped);
    assert_u64_equal(m[3].mapping.end, 0xffffffffff601000);
    assert_false(m[3].no_huge);
    vec_release(&all.items);
}

/* Of a process that stands still: the sum of all mappings, and copies that outlive the first
 * reading. */
static void test_still(void **state)
{
    (void)state;
    struct proc_still still = {0};
    struct strbuf text = {0};
    struct proc_mappings copy = {0};
    uint64_t rss = 0;
    assert_int_equal(proc_still_read(&still, getpid()), 0);
    size_t count = still.all.items.count;
    assert_true(count > 5);
    for (size_t i = 0; i < count; i++)
        rss += still.all.items.items[i].mapping.kib[MAPPING_RSS] * 1024;
    assert_u64_equal(still.rss_bytes, rss);
    assert_true(rss > 0);
    proc_still_copy(&still, &text, &copy);
    assert_int_equal(copy.items.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct proc_mapping *a = &still.all.items.items[i], *b = &copy.items.items[i];
        assert_u64_equal(a->mapping.start, b->mapping.start);
        assert_u64_equal(a->mapping.end, b->mapping.end);
        assert_int_equal(a->mapping.flags, b->mapping.flags);
        assert_u64_equal(b->mapping.kib[MAPPING_RSS], 0);
        assert_string_equal(a->name, b->name);
        assert_ptr_not_equal(a->name, b->name);
    }
    proc_still_release(&still);
    assert_non_null(proc_mapping_at(&copy, (uintptr_t)&rss));
    assert_string_equal(proc_mapping_at(&copy, (uintptr_t)&rss)->name, "[stack]");
    vec_release(&copy.items);
    strbuf_release(&text);
    assert_true(proc_still_read(&still, -1) < 0);
    proc_still_release(&still);
}

static void test_anything_else(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "Rss: 4 kB\n",
                                        "1000-\n",
                                        "1000-2000\n",
                                        "1000-2000 rw-p\n",
                                        "1000-2000 rw-p 0",
                                        "2000-1000 rw-p 00000000 00:00 0\n",
                                        "-1000-2000 rw-p 00000000 00:00 0\n",
                                        "x-y rw-p 00000000 00:00 0\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct proc_mappings all = parse(texts[i]);
        assert_int_equal(all.items.count, 0);
        vec_release(&all.items);
    }
    /* Not in order: left out, and what follows is not taken for another's. */
    struct proc_mappings all = parse("3000-5000 rw-p 00000000 00:00 0\n"
                                     "4000-6000 rw-p 00000000 00:00 0\nRss: 4 kB\n"
                                     "4000-6000 rw-p 00000000 00:00 0\n");
    assert_int_equal(all.items.count, 1);
    assert_u64_equal(all.items.items[0].mapping.kib[MAPPING_RSS], 0);
    vec_release(&all.items);
}

/* --- thinning out -------------------------------------------------------------------------------
 */

static void add(struct profile *p, enum capture_kind kind)
{
    size_t n = p->captures.count;
    *vec_push(&p->captures) =
        (struct capture){.kind = kind, .time_ns = n, .first = p->mappings.count, .count = 2};
    for (uint64_t i = 0; i < 2; i++) {
        *vec_push(&p->mappings) = (struct mapping){.start = n * 100 + i,
                                                   .end = n * 100 + i + 1,
                                                   .first_node = p->map_nodes.count,
                                                   .node_count = 1};
        *vec_push(&p->map_nodes) = (struct mapping_node){.kib = n * 100 + i};
    }
}

static void assert_times(const struct profile *p, const uint64_t *times, size_t count)
{
    assert_int_equal(p->captures.count, count);
    assert_int_equal(p->mappings.count, 2 * count);
    assert_int_equal(p->map_nodes.count, 2 * count);
    for (size_t i = 0; i < count; i++) {
        const struct capture *c = &p->captures.items[i];
        assert_u64_equal(c->time_ns, times[i]);
        assert_int_equal(c->count, 2);
        for (size_t k = 0; k < 2; k++) {
            const struct mapping *m = &p->mappings.items[c->first + k];
            assert_u64_equal(m->start, times[i] * 100 + k);
            assert_u64_equal(p->map_nodes.items[m->first_node].kib, times[i] * 100 + k);
        }
    }
}

static void test_thinning(void **state)
{
    (void)state;
    struct profile p = {0};
    add(&p, CAPTURE_START);
    add(&p, CAPTURE_PERIODIC);
    assert_false(maps_thin_out(&p));
    add(&p, CAPTURE_SNAPSHOT);
    add(&p, CAPTURE_PERIODIC);
    add(&p, CAPTURE_PERIODIC);
    add(&p, CAPTURE_SNAPSHOT);
    add(&p, CAPTURE_EXIT);
    assert_true(maps_thin_out(&p)); /* those taken now and then go first */
    assert_times(&p, (const uint64_t[]){0, 2, 3, 5, 6}, 5);
    assert_true(maps_thin_out(&p));
    assert_times(&p, (const uint64_t[]){0, 2, 5, 6}, 4);
    assert_true(maps_thin_out(&p)); /* then others */
    assert_times(&p, (const uint64_t[]){0, 5, 6}, 3);
    assert_true(maps_thin_out(&p));
    assert_times(&p, (const uint64_t[]){0, 6}, 2);
    assert_false(maps_thin_out(&p));
    vec_release(&p.captures);
    vec_release(&p.mappings);
    vec_release(&p.map_nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smaps),
        cmocka_unit_test(test_still),
        cmocka_unit_test(test_anything_else),
        cmocka_unit_test(test_thinning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
