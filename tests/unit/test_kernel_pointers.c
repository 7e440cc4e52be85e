#include "unit.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "collect/proc/kernel_pointers.h"

static void check(const struct kernel_pointers *k, const uint64_t *want, size_t count)
{
    assert_int_equal(k->items.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(k->items.items[i], want[i]);
}

static void test_epoll(void **state)
{
    struct kernel_pointers k = {0};
    (void)state;
    kernel_pointers_parse_epoll(
        &k, "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1056\n"
            "tfd:        5 events:       19 data:     5555deadbeef  pos:0 ino:39 sdev:d\n"
            "tfd:        7 events:       19 data:                7  pos:0 ino:39 sdev:d\n"
            "tfd:        8 events:       19 data: ffffffffffffffff\n");
    check(&k, (uint64_t[]){0x5555deadbeef, 7, UINT64_MAX}, 3);
    kernel_pointers_release(&k);
}

static void test_timers(void **state)
{
    struct kernel_pointers k = {0};
    (void)state;
    kernel_pointers_parse_timers(&k, "ID: 0\nsignal: 10/00005555deadbeef\nnotify: signal/pid.42\n"
                                     "ClockID: 1\nID: 1\nsignal: 14/0000000000000000\n"
                                     "notify: none/pid.42\nClockID: 0\n");
    check(&k, (uint64_t[]){0x5555deadbeef, 0}, 2);
    kernel_pointers_release(&k);
}

/* A number must be in the line of its word. */
static void test_other_texts(void **state)
{
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "tfd:",
                                        "tfd: 1 data:\n12\n",
                                        "tfd: 1\n data: 12\n",
                                        "tfd: 1 data: x\n",
                                        "atfd: 1 data: 12\n",
                                        "signal: 10\n/12",
                                        "signal: 10/"};
    struct kernel_pointers k = {0};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kernel_pointers_parse_epoll(&k, texts[i]);
        kernel_pointers_parse_timers(&k, texts[i]);
        check(&k, NULL, 0);
    }
    kernel_pointers_release(&k);
}

/* The kernel's own text, of this process. */
static void test_own_process(void **state)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC), ends[2];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = UINT64_C(0x123456789abcdef)};
    struct kernel_pointers k = {0};
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
    kernel_pointers_read(&k, getpid());
    check(&k, (uint64_t[]){UINT64_C(0x123456789abcdef)}, 1);
    kernel_pointers_release(&k);
    close(epoll);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epoll),
        cmocka_unit_test(test_timers),
        cmocka_unit_test(test_other_texts),
        cmocka_unit_test(test_own_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
