/* What this machine's glibc leaves of a thread that has ended is known when it is seen. */
#include "unit.h"

#include <pthread.h>

#include "machine/stopped.h"

#define NEAR 2048 /* bytes of a descriptor */

static __thread uint64_t variable;
static uint64_t variable_at;

static void *run(void *unused)
{
    variable_at = (uint64_t)(uintptr_t)&variable;
    return unused;
}

static void test_ended_thread(void **state)
{
    (void)state;
    pthread_t thread;
    unsigned found = 0;
    uint64_t at = 0;
    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
    uint64_t begin = (uint64_t)thread; /* its stack is kept, and so is this */
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (uint64_t a = begin; a < begin + NEAR; a += STOPPED_DESCRIPTOR_STRIDE * UINT64_C(8)) {
        if (!stopped_is_descriptor((const uint64_t *)(uintptr_t)a, a))
            continue;
        at = a;
        found++;
    }
    assert_int_equal(found, 1);
    /* From there on is what keeps blocks: all of the descriptor, or its greater part and the
     * thread's variables behind it. */
    assert_true(at == begin || (at < begin + 512 && at < variable_at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ended_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
