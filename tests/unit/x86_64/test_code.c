/* Instructions around a return address: how functions begin, how frames are taken down, and how Go
 * gets back to a goroutine. */
#include "../unit.h"

#include "machine/code.h"
#include "unwind/go_stack.h"

static int own_read(const struct unwind_space *self, uint64_t address, uint64_t *out)
{
    (void)self;
    *out = *(const volatile uint64_t *)(uintptr_t)address;
    return 0;
}

static unsigned asked; /* how often the kernel would have been asked */

static bool own_readable(const struct unwind_space *self, uint64_t address)
{
    (void)self;
    (void)address;
    asked++;
    return true;
}

static const struct unwind_space space = {.read = own_read, .readable = own_readable};
static const struct unwind_module module; /* where its code is, is not known */

/* --- back from C to Go ------------------------------------------------------------------------ */

/* What runtime.asmcgocall does after its call, and the stack that it leaves: a word of a goroutine
 * at `slot`, how deep that is on its own stack in `depth_slot`. */
struct go_return {
    const char *code;
    size_t size, slot, depth_slot;
    bool pops;
};

static const struct go_return go_returns[] = {
    /* 1.19; with -buildmode=pie; 1.26 */
    {"\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48\x2b\x74\x24\x28\x64\x48\x89\x3c\x25\xf8\xff\xff\xff"
     "\x48\x89\xf4\x89\x44\x24\x18\xc3",
     31, 6, 5, false},
    {"\x48\xc7\xc1\xf8\xff\xff\xff\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48\x2b\x74\x24\x28\x64\x48"
     "\x89\x39\x48\x89\xf4\x89\x44\x24\x18\xc3",
     33, 6, 5, false},
    {"\x48\x8b\x7c\x24\x08\x48\x8b\x77\x08\x48\x2b\x34\x24\x64\x48\x89\x3c\x25\xf8\xff\xff\xff\x48"
     "\x89\xf4\x89\x44\x24\x20\x5d\xc3",
     31, 1, 0, true},
};

static void test_back_to_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof go_returns / sizeof *go_returns; i++) {
        const struct go_return *of = &go_returns[i];
        _Alignas(8) uint8_t code[64] = {0};
        uint64_t thread_stack[8] = {0}, goroutine_stack[8] = {0};
        uint64_t g[2] = {0, (uintptr_t)(goroutine_stack + 8)}; /* g.stack.lo, .hi */
        memcpy(code, of->code, of->size);
        thread_stack[of->slot] = (uintptr_t)g;
        thread_stack[of->depth_slot] = 4 * sizeof(uint64_t);
        goroutine_stack[4] = of->pops ? 0x5000 : 0x7000;
        goroutine_stack[5] = 0x7000;
        struct arch_registers r = {.known = ARCH_BIT(ARCH_REG_PC) | ARCH_BIT(ARCH_REG_SP) |
                                            ARCH_BIT(ARCH_REG_FP)};
        r.value[ARCH_REG_PC] = (uintptr_t)code;
        r.value[ARCH_REG_SP] = (uintptr_t)thread_stack;
        r.value[ARCH_REG_FP] = 0x6000;
        struct step_result result = {0};
        assert_true(go_switches(&space, &module, (uintptr_t)code));
        assert_int_equal(go_step(&space, &r, &result), STEP_OK);
        uint64_t *slot = goroutine_stack + (of->pops ? 5 : 4);
        assert_u64_equal(r.value[ARCH_REG_PC], 0x7000);
        assert_u64_equal(r.value[ARCH_REG_SP], (uintptr_t)(slot + 1));
        assert_u64_equal(r.value[ARCH_REG_FP], of->pops ? 0x5000 : 0x6000);
        assert_u64_equal(result.return_slot, (uintptr_t)slot);
        code[of->size - 1] = 0x90;
        assert_false(go_switches(&space, &module, (uintptr_t)code));
    }
    static const uint8_t exits[] = {0x90, 0xe8, 1, 2, 3, 4, 0x90},
                         calls[] = {0x00, 0xe8, 1, 2, 3, 4, 0x90};
    _Alignas(8) uint8_t padded[2][64] = {{0}};
    memcpy(padded[0], exits, sizeof exits);
    memcpy(padded[1], calls, sizeof calls);
    assert_true(go_is_first(&space, &module, (uintptr_t)padded[0] + 1));
    assert_false(go_is_first(&space, &module, (uintptr_t)padded[1] + 1));
}

/* Code that is known to be readable is read without asking the kernel, up to the end of the page
 * where it runs; what is beyond that is not. */
static void test_readable_code(void **state)
{
    (void)state;
    const struct go_return *of = &go_returns[0];
    _Alignas(4096) static uint8_t code[2 * 4096];
    uint64_t at = (uintptr_t)code + 4096 - 24; /* the instructions end on the next page */
    memcpy((void *)(uintptr_t)at, of->code, of->size);
    struct unwind_module whole = {.code_start = (uintptr_t)code,
                                  .code_end = (uintptr_t)code + sizeof code},
                         first = {.code_start = (uintptr_t)code,
                                  .code_end = (uintptr_t)code + 4096};
    asked = 0;
    assert_false(go_is_first(&space, &whole, at));
    assert_int_equal(asked, 0);
    assert_true(go_switches(&space, &whole, at));
    assert_int_equal(asked, 1);
    asked = 0;
    assert_true(go_switches(&space, &first, at));
    assert_int_equal(asked, 1);
    asked = 0;
    assert_true(go_switches(&space, &module, at));
    assert_true(asked >= 2);
}

/* How functions begin that keep a frame pointer, and some that do not. */
static void test_prologues(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        bool keeps;
    } cases[] = {
        {"\x55\x48\x89\xe5", true},
        {"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5", true},
        {"\x49\x3b\x66\x10\x76\x29\x55\x48\x89\xe5", true}, /* Go 1.21 */
        {"\x4c\x8d\x64\x24\xf0\x4d\x3b\x66\x10\x0f\x86\x0d\x04\x01\x01\x55\x48\x89\xe5", true},
        {"\x49\x3b\x66\x10\x76\x29\x48\x83\xec\x78\x48\x89\x6c\x24\x70\x48\x8d\x6c\x24\x70", true},
        {"\x49\x3b\x66\x10\x76\x29\x48\x83\xec\x78\x48\x89\x6c\x24\x70\x48\x8d\x6c\x24\x68", false},
        {"\x49\x3b\x66\x10\x76\x29\x48\x83\xec\x78", false},
        {"\x53\x48\x83\xec\x10", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t code[ARCH_PROLOGUE] = {0};
        memcpy(code, cases[i].code, strlen(cases[i].code));
        assert_int_equal(arch_keeps_frame(code), cases[i].keeps);
    }
}

/* Room on the stack: a small frame; one that is made a page at a time, of which the rest counts; one
 * that is too large; none. */
static void test_frame_room(void **state)
{
    (void)state;
    static const struct {
        uint8_t code[ARCH_PROLOGUE];
        uint64_t room;
    } cases[] = {
        {{0x53, 0x48, 0x83, 0xec, 0x10}, 0x10},
        {{0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0x48, 0x83, 0x0c, 0x24, 0, 0x48, 0x81, 0xec, 0, 5},
         0x500},
        {{0x48, 0x81, 0xec, 0, 0x10, 0, 0}, 0},
        {{0x55, 0x48, 0x89, 0xe5}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_u64_equal(arch_frame_room(cases[i].code, 4096), cases[i].room);
}

static void test_epilogues(void **state)
{
    (void)state;
    static const struct {
        uint8_t code[ARCH_EPILOGUE_LONGEST];
        bool found;
        uint32_t size, fp;
    } all[] = {
        {{0x48, 0x83, 0xc4, 8, 0xc3}, true, 8, UINT32_MAX},
        {{0x5d, 0xc3}, true, 8, 0},
        {{0x48, 0x81, 0xc4, 0x88, 1, 0, 0, 0x5b, 0x5d, 0x41, 0x5c, 0xf3, 0xc3}, true, 0x1a0, 0x190},
        {{0xc3}, true, 0, UINT32_MAX},
        {{0x48, 0x83, 0xc4, 0xf8, 0xc3}, false, 0, 0},          /* sp goes down */
        {{0x5c, 0xc3}, false, 0, 0},                            /* pop %rsp */
        {{0xe8, 0, 0, 0, 0, 0xc3}, false, 0, 0},                /* another call */
        {{0x48, 0x83, 0xc4, 8, 0xe9, 0, 0, 0, 0}, false, 0, 0}, /* a jump: who knows where to */
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct arch_epilogue e;
        assert_int_equal(arch_epilogue(all[i].code, &e), all[i].found);
        if (all[i].found)
            assert_true(e.size == all[i].size && e.fp == all[i].fp);
    }
    uint8_t pops[ARCH_EPILOGUE_LONGEST];
    struct arch_epilogue e;
    memset(pops, 0x58, sizeof pops);
    assert_false(arch_epilogue(pops, &e)); /* no end of it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_back_to_go), cmocka_unit_test(test_readable_code),
        cmocka_unit_test(test_prologues),  cmocka_unit_test(test_frame_room),
        cmocka_unit_test(test_epilogues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
