/* A sample in code without unwind information, which has not saved its return address. */
#include "../unit.h"

#include <stdlib.h>

#include "unwind/copied_stack.h"

#define STACK     UINT64_C(0x7f0000000000)
#define GENERATED UINT64_C(0x10000) /* code of no file */
#define CALLER    UINT64_C(0x400100)

static enum step_call call;

static int find_none(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    (void)self;
    (void)address;
    (void)out;
    return -1;
}

static enum step_call call_at(const struct unwind_space *self, uint64_t address, uint64_t callee)
{
    (void)self;
    (void)callee;
    return address == CALLER ? call : CALL_NONE;
}

/* Walks from generated code, with this frame pointer; returns how many frames there are. */
static uint32_t walk(const uint64_t *words, size_t count, uint64_t fp, uint64_t addresses[8])
{
    struct copied_stack s = {.space = {.find = find_none, .call = call_at},
                             .rules = calloc(1, sizeof(struct rules)),
                             .bytes = (const uint8_t *)words,
                             .start = STACK,
                             .size = count * 8};
    struct arch_registers r = {.known = ARCH_BIT(ARCH_REG_PC) | ARCH_BIT(ARCH_REG_SP) |
                                        ARCH_BIT(ARCH_REG_FP) | ARCH_BIT(30)};
    enum copied_end end;
    r.value[ARCH_REG_PC] = GENERATED;
    r.value[ARCH_REG_SP] = STACK;
    r.value[ARCH_REG_FP] = fp;
    r.value[30] = CALLER;
    uint32_t n = copied_walk(&s, &r, addresses, 8, &end);
    assert_int_equal(end, COPIED_WHOLE);
    free(s.rules);
    return n;
}

static void test_link(void **state)
{
    (void)state;
    uint64_t addresses[8], none[32] = {0};
    uint64_t made[32] = {[4] = 0, [5] = CALLER}; /* a frame record */
    call = CALL_ANY;
    assert_int_equal(walk(none, 32, 0, addresses), 2);
    assert_u64_equal(addresses[0], GENERATED + 1);
    assert_u64_equal(addresses[1], CALLER);
    assert_int_equal(walk(made, 32, STACK + 32, addresses), 2); /* and not twice */
    assert_u64_equal(addresses[1], CALLER);
    call = CALL_NONE; /* it is no return address */
    assert_int_equal(walk(none, 32, 0, addresses), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_link)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
