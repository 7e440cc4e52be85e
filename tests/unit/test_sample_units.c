/* What a sample of CPU time counts for, when the CPU time is known. */
#include "unit.h"

#include "collect/sampling/samples.h"

#define MS UINT64_C(1000000)

static struct sampling counted(enum sampled_kernel kernel, uint64_t user_ms, uint64_t system_ms)
{
    return (struct sampling){.kernel = kernel,
                             .cpu_period_ns = MS,
                             .counted = true,
                             .user_ns = user_ms * MS,
                             .system_ns = system_ms * MS};
}

static void expect(struct sampling g, uint64_t user, uint64_t kernel, uint64_t user_us,
                   uint64_t kernel_us)
{
    struct sample_units units = samples_units(&g, user, kernel);
    assert_u64_equal(units.user / 1000, user_us);
    assert_u64_equal(units.kernel / 1000, kernel_us);
}

static void test_each_counts_for_its_share(void **state)
{
    (void)state;
    expect(counted(KERNEL_SAMPLED, 900, 200), 800, 200, 1100, 1100);
    expect(counted(KERNEL_SAMPLED, 1400, 0), 800, 0, 1750, 1000); /* many did not come */
    expect(counted(KERNEL_SAMPLED, 0, 300), 0, 200, 1000, 1500);
    expect(counted(KERNEL_ESTIMATED, 900, 100), 900, 100, 1000, 1000);
}

static void test_too_little_to_say(void **state)
{
    (void)state;
    struct sampling g = counted(KERNEL_SAMPLED, 900, 0);
    expect(g, 40, 0, 1000, 1000);
    g.counted = false;
    expect(g, 800, 0, 1000, 1000);
    /* The CPU time was read long before the end. */
    expect(counted(KERNEL_SAMPLED, 400, 100), 900, 100, 1000, 1000);
    expect(counted(KERNEL_ESTIMATED, 400, 100), 900, 100, 1000, 1000);
}

/* Samples that did not come are taken for the kernel's, unless they cannot be. */
static void test_missed_samples_are_not_all_the_kernels(void **state)
{
    (void)state;
    /* The kernel counts the time in which another virtual machine ran, or it does not. */
    expect(counted(KERNEL_ESTIMATED, 1300, 100), 900, 500, 1444, 200);
    expect(counted(KERNEL_ESTIMATED, 900, 100), 900, 500, 1000, 200);
    expect(counted(KERNEL_ESTIMATED, 900, 0), 700, 200, 1285, 0);
    /* Its own division of the time is not exact. */
    expect(counted(KERNEL_ESTIMATED, 900, 100), 780, 220, 1000, 1000);
    /* More samples than time, and the kernel takes a good part of it. */
    expect(counted(KERNEL_ESTIMATED, 700, 300), 800, 600, 1000, 333);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_counts_for_its_share),
        cmocka_unit_test(test_too_little_to_say),
        cmocka_unit_test(test_missed_samples_are_not_all_the_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
