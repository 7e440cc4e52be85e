/* Stacks, walked three ways (test_walk_fixture.h). All must agree, for every kind of frame and
 * whatever was walked before. */
#include "test_walk_fixture.h"

/* --- functions of all shapes ------------------------------------------------------------------ */

typedef void function(uint64_t *seed, unsigned depth);
static function wander;

static volatile uint64_t sink;

/* Nothing of its own. */
NOINLINE static void plain(uint64_t *seed, unsigned depth)
{
    wander(seed, depth);
    AFTER_CALL;
}

/* Holds much in registers that it must save, rbp among them. */
NOINLINE static void busy(uint64_t *seed, unsigned depth)
{
    uint64_t a = *seed, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13, g = a * 17;
    wander(seed, depth);
    sink += a ^ b ^ c ^ d ^ e ^ f ^ g;
    wander(seed, depth > 2 ? 2 : depth);
    sink += a * b * c * d * e * f * g;
}

/* A frame of its own for each call: the compiler needs a frame pointer. */
NOINLINE static void moving(uint64_t *seed, unsigned depth)
{
    size_t size = 16 + *seed % 16 * 16;
    volatile char *p = __builtin_alloca(size);
    p[0] = p[size - 1] = 1;
    wander(seed, depth);
    sink += (uint64_t)p[0];
}

NOINLINE static void large(uint64_t *seed, unsigned depth)
{
    volatile char room[3000];
    room[0] = room[2999] = 1;
    wander(seed, depth);
    sink += (uint64_t)room[2999];
}

/* A realigned stack: the CFA is in memory. */
NOINLINE static void aligned(uint64_t *seed, unsigned depth)
{
    volatile char room[64] __attribute__((aligned(64)));
    room[0] = 1;
    assert_int_equal((uintptr_t)room % 64, 0);
    wander(seed, depth);
    sink += (uint64_t)room[0];
}

/* Both: realigned and of changing size. */
NOINLINE static void aligned_moving(uint64_t *seed, unsigned depth)
{
    volatile char room[128] __attribute__((aligned(128)));
    size_t size = 16 + *seed % 8 * 48;
    volatile char *p = __builtin_alloca(size);
    room[0] = p[size - 1] = 1;
    wander(seed, depth);
    sink += (uint64_t)room[0] + (uint64_t)p[size - 1];
}

MACHINE_REALIGNED NOINLINE static void forced(uint64_t *seed, unsigned depth)
{
    wander(seed, depth);
    AFTER_CALL;
}

static uint64_t *sort_seed;
static unsigned sort_depth;

static int compare(const void *a, const void *b)
{
    uint64_t *seed = sort_seed;
    unsigned depth = sort_depth;
    if (unit_random(seed) % 4 == 0)
        wander(seed, depth > 3 ? 3 : depth);
    sort_seed = seed; /* it may have sorted too */
    sort_depth = depth;
    return *(const int *)a - *(const int *)b;
}

/* Through the C library and back. */
NOINLINE static void sorting(uint64_t *seed, unsigned depth)
{
    int items[4] = {3, 1, 4, 1};
    sort_seed = seed;
    sort_depth = depth;
    qsort(items, 4, sizeof *items, compare);
    AFTER_CALL;
}

/* Arguments on the stack: the frame's size changes from call to call. */
NOINLINE static void many_arguments(uint64_t *seed, unsigned depth, uint64_t a, uint64_t b,
                                    uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g)
{
    wander(seed, depth);
    sink += a + b + c + d + e + f + g;
}

NOINLINE static void pushing(uint64_t *seed, unsigned depth)
{
    many_arguments(seed, depth, 1, 2, 3, *seed, 5, 6, 7);
    wander(seed, depth > 1 ? 1 : depth);
    AFTER_CALL;
}

static function *const shapes[] = {plain,  busy,           moving, large,   aligned,
                                   forced, aligned_moving, plain,  pushing, sorting};

/* Captures here or not, calls a few others or none. */
NOINLINE static void wander(uint64_t *seed, unsigned depth)
{
    for (unsigned calls = 1 + (unsigned)(unit_random(seed) % 2); calls > 0; calls--) {
        if (unit_random(seed) % 2)
            capture();
        if (depth && checker->captures < 3000)
            shapes[unit_random(seed) % (sizeof shapes / sizeof *shapes)](seed, depth - 1);
    }
    capture();
    AFTER_CALL;
}

static void test_all_shapes(void **state)
{
    (void)state;
    for (uint64_t start = 1; start <= 8; start++) {
        uint64_t seed = start;
        checker->captures = 0;
        while (checker->captures < 1000)
            wander(&seed, 4 + (unsigned)start * 3);
        assert_int_equal(checker->root, WALK_WHOLE);
    }
    assert_true(checker->by_leaf > 100);
    assert_true(checker->kept.verified > checker->kept.walked); /* it was of some use */
}

/* --- the same inside, another outside --------------------------------------------------------- */

NOINLINE static void innermost(void)
{
    capture();
    AFTER_CALL;
}

NOINLINE static void chain(unsigned depth)
{
    if (depth)
        chain(depth - 1);
    else
        innermost();
    AFTER_CALL;
}

/* Twins: the same code at two addresses, so the same frame; only the return address tells. */
#define TWIN(name)                                                                                 \
    NOINLINE static void name(unsigned depth, int unique)                                          \
    {                                                                                              \
        volatile int keep = unique; /* else the linker might fold them */                          \
        chain(depth);                                                                              \
        sink += (uint64_t)keep;                                                                    \
    }
TWIN(twin_a)
TWIN(twin_b)

/* Fills in what is live at a stack depth, to leave old values where frames will be. */
NOINLINE static void twins(unsigned depth)
{
    for (volatile int i = 0; i < 6; i++) { /* not to be unrolled: these are four calls */
        twin_a(depth, 1);
        twin_b(depth, 2);
        twin_b(depth, 2); /* the same function from another place */
        twin_a(depth, 1);
    }
}

static void test_outside_changes(void **state)
{
    (void)state;
    for (unsigned depth = 0; depth < 30; depth++)
        twins(depth);
    unsigned before = checker->by_leaf;
    for (int i = 0; i < 50; i++)
        twins(0); /* few frames: all four ways in fit among the leaves, whatever the compiler */
    assert_true(checker->by_leaf - before > 500);
}

/* A loop that only allocates: its stack is the first that was walked, and the next one is the
 * same. */
static void test_the_same_stack_every_time(void **state)
{
    (void)state;
    walk_forget(&checker->kept);
    unsigned before = checker->by_leaf;
    for (volatile int i = 0; i < 100; i++)
        innermost();
    assert_true(checker->by_leaf - before >= 98);
}

/*
 * Frames with a frame pointer whose sizes add up to the same: everything inside is where it was,
 * and the old return addresses may still lie where they were, but the frames are others.
 */
NOINLINE static void second_part(size_t size, unsigned calls)
{
    volatile char *p = __builtin_alloca(size + 16);
    __asm__ volatile("" ::"r"(p));
    if (calls & 1)
        innermost();
    if (calls & 2)
        innermost();
    if (calls & 4)
        chain(1);
    innermost();
    AFTER_CALL;
}

NOINLINE static void first_part(size_t size, size_t rest, unsigned calls)
{
    volatile char *p = __builtin_alloca(size + 16);
    __asm__ volatile("" ::"r"(p));
    second_part(rest, calls);
    AFTER_CALL;
    if (calls & 8)
        second_part(rest, calls);
    AFTER_CALL;
}

/* Callers of it, again alike but for their address, and with a part of the whole themselves. */
#define CALLER(name)                                                                               \
    NOINLINE static void name(size_t own, size_t size, size_t rest, unsigned calls)                \
    {                                                                                              \
        volatile char *p = __builtin_alloca(own + 16);                                             \
        __asm__ volatile("" ::"r"(p));                                                             \
        first_part(size, rest, calls);                                                             \
        AFTER_CALL;                                                                                \
        if (calls & 16)                                                                            \
            first_part(size, rest, calls);                                                         \
        AFTER_CALL;                                                                                \
    }
CALLER(caller_a)
CALLER(caller_b)

static void test_frame_pointer_moves(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < 6000; i++) {
        size_t own = unit_random(&seed) % 3 * 16, size = unit_random(&seed) % 4 * 16;
        unsigned calls = (unsigned)unit_random(&seed);
        if (unit_random(&seed) % 2)
            caller_a(own, size, 128 - own - size, calls);
        else
            caller_b(own, size, 128 - own - size, calls);
    }
    assert_true(checker->by_leaf > 0);
}

NOINLINE static void up_and_down(unsigned depth)
{
    innermost();
    if (depth)
        up_and_down(depth - 1);
    innermost();
    AFTER_CALL;
}

static void test_deeper_and_shallower(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++)
        for (unsigned depth = 0; depth < 60; depth += 7)
            up_and_down(depth);
    /* Twice a level: the second time all that is outside is known. */
    assert_true(checker->kept.walked < 5 * checker->captures);
}

/* --- calls that do not return ----------------------------------------------------------------- */

static jmp_buf back;

__attribute__((noreturn)) NOINLINE static void never_returns(void)
{
    capture();
    longjmp(back, 1);
}

/* Its last instruction is the call: the return address is already the next function's. */
__attribute__((noreturn)) NOINLINE static void calls_and_ends(int unique)
{
    sink += (uint64_t)unique;
    never_returns();
}

static void test_noreturn(void **state)
{
    (void)state;
    for (volatile int i = 0; i < 10; i++) {
        if (setjmp(back) == 0)
            calls_and_ends(i);
        innermost();
    }
    assert_int_equal(checker->captures, 20);
}

/* --- signals ---------------------------------------------------------------------------------- */

static uint64_t handler_seed;

static void on_signal(int number)
{
    (void)number;
    capture();
    innermost();
    wander(&handler_seed, 2);
}

NOINLINE static void interrupted(unsigned depth)
{
    if (depth)
        interrupted(depth - 1);
    else
        raise(SIGUSR1);
    AFTER_CALL;
}

/* Interrupted not at a call but in the middle of nothing: a fault. */
NOINLINE static void faulting(void)
{
    capture();
    __asm__ volatile(MACHINE_FAULT);
    capture();
    AFTER_CALL;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    innermost();
    machine_skip_fault(context);
}

static void signals(int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags}, old, old_fault;
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags};
    sigaction(SIGUSR1, &action, &old);
    sigaction(SIGILL, &fault, &old_fault);
    handler_seed = 12;
    for (unsigned i = 0; i < 20; i++) {
        interrupted(i % 5);
        innermost();
        interrupted(i % 3);
        faulting();
        chain(i % 4);
    }
    sigaction(SIGUSR1, &old, NULL);
    sigaction(SIGILL, &old_fault, NULL);
    assert_true(checker->captures > 100);
    assert_int_equal(checker->root, WALK_WHOLE);
}

static void test_signals(void **state)
{
    (void)state;
    signals(0);
}

static void test_signals_on_their_own_stack(void **state)
{
    (void)state;
    stack_t own = {.ss_size = 1 << 18, .ss_sp = zeroed(1 << 18)}, old;
    sigaltstack(&own, &old);
    signals(SA_ONSTACK);
    sigaltstack(&old, NULL);
    munmap(own.ss_sp, own.ss_size);
    chain(3); /* and nothing of what was remembered there is looked at */
    innermost();
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *thread_main(void *argument)
{
    uint64_t seed = (uint64_t)(uintptr_t)argument;
    checker_open();
    wander(&seed, 6);
    twins(4);
    unsigned captures = checker->captures;
    enum walk_root root = checker->root;
    checker_close();
    return root == WALK_WHOLE && captures > 20 ? argument : NULL;
}

static void test_threads(void **state)
{
    (void)state;
    for (uintptr_t i = 1; i < 4; i++) {
        pthread_t thread;
        void *result;
        assert_int_equal(pthread_create(&thread, NULL, thread_main, (void *)i), 0);
        pthread_join(thread, &result);
        assert_int_equal((uintptr_t)result, i);
    }
}

/* --- deep ------------------------------------------------------------------------------------- */

NOINLINE static void descend(unsigned depth, const unsigned *stops)
{
    if (depth == *stops) {
        capture();
        stops++;
    }
    if (depth)
        descend(depth - 1, stops);
    AFTER_CALL;
}

static void test_deep(void **state)
{
    (void)state;
    /* From 20,000 down to 0 to go: whole at first, then cut at the outer end. */
    static const unsigned stops[] = {19000, 18990, 10000, 4000, 3999, 100, 0, UINT32_MAX};
    descend(20000, stops);
    assert_int_equal(checker->captures, 7);
    assert_int_equal(checker->fresh.root, WALK_TRUNCATED);
    assert_int_equal(checker->fresh.count, WALK_FRAMES);
    innermost();
    assert_int_equal(checker->fresh.root, WALK_WHOLE);
    assert_int_equal(checker->kept.root, WALK_WHOLE);
}

NOINLINE static void descend_and_return(unsigned depth, unsigned stop)
{
    if (depth)
        descend_and_return(depth - 1, stop);
    else
        capture();
    if (depth == stop)
        capture(); /* on the way back */
    AFTER_CALL;
}

/* What was cut off while it was deep must not be missing when it is deep no more. */
static void test_back_from_the_deep(void **state)
{
    (void)state;
    static const unsigned back_at[] = {15000, 8000, 5000, 4000, 3700, 3650, 1000, 10};
    for (size_t i = 0; i < sizeof back_at / sizeof *back_at; i++) {
        descend_and_return(20000, 20000 - back_at[i]);
        assert_int_equal(checker->fresh.root, WALK_WHOLE);
        assert_true(checker->fresh.count > back_at[i] && checker->fresh.count < back_at[i] + 100);
    }
    assert_int_equal(checker->kept.root, WALK_WHOLE);
}

int main(void)
{
    if (UNIT_SANITIZED)
        return 77; /* skipped, to meson */
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)
        TEST(test_all_shapes),
        TEST(test_outside_changes),
        TEST(test_the_same_stack_every_time),
        TEST(test_frame_pointer_moves),
        TEST(test_deeper_and_shallower),
        TEST(test_noreturn),
        TEST(test_signals),
        TEST(test_signals_on_their_own_stack),
        TEST(test_threads),
        TEST(test_deep),
        TEST(test_back_from_the_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
