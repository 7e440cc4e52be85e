/* Lengths of instructions: known ones, cut off at every length, and anything at all. */
#include "../unit.h"

#include <sys/mman.h>

#include "record/instruction.h"

#define BYTES(...) .code = {__VA_ARGS__}, .length = sizeof((uint8_t[]){__VA_ARGS__})

static const struct sample {
    uint8_t code[16];
    unsigned length;
    enum instruction_kind kind;
    unsigned relative_at;
} samples[] = {
    {BYTES(0xf3, 0x0f, 0x1e, 0xfa), INSTRUCTION_NOTHING, 0},                 /* endbr64 */
    {BYTES(0x55), INSTRUCTION_PLAIN, 0},                                     /* push %rbp */
    {BYTES(0x41, 0x57), INSTRUCTION_PLAIN, 0},                               /* push %r15 */
    {BYTES(0x6a, 0x01), INSTRUCTION_PLAIN, 0},                               /* push $1 */
    {BYTES(0x48, 0x89, 0xe5), INSTRUCTION_PLAIN, 0},                         /* mov %rsp,%rbp */
    {BYTES(0x48, 0x83, 0xec, 0x18), INSTRUCTION_PLAIN, 0},                   /* sub $24,%rsp */
    {BYTES(0x48, 0x81, 0xec, 0, 1, 0, 0), INSTRUCTION_PLAIN, 0},             /* sub $256,%rsp */
    {BYTES(0x48, 0x8d, 0x47, 0x0f), INSTRUCTION_PLAIN, 0},                   /* lea 15(%rdi),%rax */
    {BYTES(0x48, 0x8d, 0x44, 0x24, 8), INSTRUCTION_PLAIN, 0},                /* lea 8(%rsp),%rax */
    {BYTES(0x48, 0x8d, 0x05, 1, 2, 3, 4), INSTRUCTION_PLAIN, 3},             /* lea x(%rip),%rax */
    {BYTES(0x80, 0x3d, 1, 2, 3, 4, 0), INSTRUCTION_PLAIN, 2},                /* cmpb $0,x(%rip) */
    {BYTES(0x48, 0xc7, 0x05, 1, 2, 3, 4, 5, 6, 7, 8), INSTRUCTION_PLAIN, 3}, /* movq $y,x(%rip) */
    {BYTES(0x48, 0x8b, 0x04, 0x25, 1, 2, 3, 4), INSTRUCTION_PLAIN, 0},       /* mov x,%rax */
    {BYTES(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0), INSTRUCTION_PLAIN, 0}, /* mov %fs:40 */
    {BYTES(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8), INSTRUCTION_PLAIN, 0},          /* movabs */
    {BYTES(0xb8, 1, 2, 3, 4), INSTRUCTION_PLAIN, 0},                            /* mov $x,%eax */
    {BYTES(0x66, 0xb8, 1, 2), INSTRUCTION_PLAIN, 0},                            /* mov $x,%ax */
    {BYTES(0xf6, 0xc1, 0x01), INSTRUCTION_PLAIN, 0},                            /* test $1,%cl */
    {BYTES(0xf7, 0xd8), INSTRUCTION_PLAIN, 0},                                  /* neg %eax */
    {BYTES(0xf7, 0xc7, 1, 2, 3, 4), INSTRUCTION_PLAIN, 0},                      /* test $x,%edi */
    {BYTES(0x48, 0x85, 0xff), INSTRUCTION_PLAIN, 0},                            /* test %rdi,%rdi */
    {BYTES(0x31, 0xc0), INSTRUCTION_PLAIN, 0},                                  /* xor %eax,%eax */
    {BYTES(0xf0, 0x48, 0x0f, 0xc1, 0x05, 1, 2, 3, 4), INSTRUCTION_PLAIN, 5},    /* lock xadd */
    {BYTES(0x0f, 0x11, 0x44, 0x24, 0x10), INSTRUCTION_PLAIN, 0},                /* movups */
    {BYTES(0xc5, 0xf9, 0x70, 0xc0, 0x55), INSTRUCTION_PLAIN, 0},                /* vpshufd */
    {BYTES(0x62, 0xf1, 0x7c, 0x48, 0x28, 0x47, 0x01), INSTRUCTION_PLAIN, 0},    /* vmovaps, EVEX */
    {BYTES(0xc3), INSTRUCTION_RETURN, 0},
    {BYTES(0xf2, 0xc3), INSTRUCTION_RETURN, 0},
    {BYTES(0x74, 0x10), INSTRUCTION_BRANCH, 1},             /* je */
    {BYTES(0x0f, 0x85, 1, 2, 3, 4), INSTRUCTION_BRANCH, 2}, /* jne */
    {BYTES(0xe3, 0x10), INSTRUCTION_COUNTED, 1},            /* jrcxz */
    {BYTES(0xeb, 0xfe), INSTRUCTION_JUMP, 1},
    {BYTES(0xe9, 1, 2, 3, 4), INSTRUCTION_JUMP, 1},
    {BYTES(0xe8, 1, 2, 3, 4), INSTRUCTION_CALL, 1},
    {BYTES(0x67, 0xe8, 1, 2, 3, 4), INSTRUCTION_CALL, 2},          /* addr32 call */
    {BYTES(0xff, 0x15, 1, 2, 3, 4), INSTRUCTION_CALL_INDIRECT, 2}, /* call *x(%rip) */
    {BYTES(0xff, 0xd0), INSTRUCTION_CALL_INDIRECT, 0},             /* call *%rax */
    {BYTES(0xff, 0x25, 1, 2, 3, 4), INSTRUCTION_JUMP_INDIRECT, 2}, /* jmp *x(%rip) */
    {BYTES(0x90), INSTRUCTION_NOTHING, 0},
    {BYTES(0xcc), INSTRUCTION_NOTHING, 0},
    {BYTES(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0), INSTRUCTION_NOTHING, 0},
    {BYTES(0xf3, 0x90), INSTRUCTION_NOTHING, 0},
};

#define SAMPLES (sizeof samples / sizeof *samples)

/* So many bytes right before memory that cannot be read. */
static uint8_t *before_the_end(uint8_t *page, const uint8_t *bytes, size_t size)
{
    memcpy(page + 4096 - size, bytes, size);
    return page + 4096 - size;
}

static uint8_t *guarded_page(void)
{
    uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_int_equal(mprotect(page + 4096, 4096, PROT_NONE), 0);
    return page;
}

static void test_known_instructions(void **state)
{
    (void)state;
    struct instruction i;
    for (size_t s = 0; s < SAMPLES - 1; s++) {
        assert_int_equal(instruction_decode(samples[s].code, 16, &i), samples[s].length);
        assert_int_equal(i.length, samples[s].length);
        assert_int_equal(i.kind, samples[s].kind);
        assert_int_equal(i.relative_at, samples[s].relative_at);
    }
    /* pause is no padding: it is where somebody waits */
    assert_int_equal(instruction_decode(samples[SAMPLES - 1].code, 16, &i), 2);
    assert_int_equal(i.kind, INSTRUCTION_PLAIN);
}

static void test_cut_off(void **state)
{
    (void)state;
    struct instruction i;
    uint8_t *page = guarded_page();
    for (size_t s = 0; s < SAMPLES; s++)
        for (unsigned size = 0; size < samples[s].length; size++)
            assert_int_equal(
                instruction_decode(before_the_end(page, samples[s].code, size), size, &i), 0);
    munmap(page, 8192);
}

static void test_refused(void **state)
{
    (void)state;
    static const uint8_t refused[][16] = {
        {0x06},
        {0x82, 0xc0, 1},
        {0xc4},
        {0xc7, 0xf8, 0, 0, 0, 0},       /* xbegin */
        {0x67, 0x8d, 0x05, 1, 2, 3, 4}, /* relative to %eip */
        {0x66, 0xe9, 1, 2, 3, 4},
        {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
         0x90}, /* too long */
    };
    struct instruction i;
    for (size_t r = 0; r < sizeof refused / sizeof *refused; r++)
        assert_int_equal(instruction_decode(refused[r], 16, &i), 0);
}

static void test_anything(void **state)
{
    (void)state;
    struct instruction i;
    uint8_t *page = guarded_page(), bytes[20];
    uint64_t random = 1;
    for (unsigned round = 0; round < 2000000; round++) {
        for (unsigned b = 0; b < sizeof bytes; b++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[b] = (uint8_t)(random >> 56);
        }
        size_t size = (random >> 32) % (sizeof bytes + 1);
        unsigned length = instruction_decode(before_the_end(page, bytes, size), size, &i);
        assert_true(length <= size && length <= 15);
        if (length && i.relative_at)
            assert_true(i.relative_at + i.relative_size <= length);
    }
    munmap(page, 8192);
}

static void test_target(void **state)
{
    (void)state;
    struct instruction i;
    const uint8_t self[] = {0xeb, 0xfe}, forth[] = {0xe9, 0x10, 0, 0, 0},
                  back[] = {0x0f, 0x84, 0xf0, 0xff, 0xff, 0xff};
    instruction_decode(self, sizeof self, &i);
    assert_u64_equal(instruction_target(self, &i, 1000), 1000);
    instruction_decode(forth, sizeof forth, &i);
    assert_u64_equal(instruction_target(forth, &i, 1000), 1021);
    instruction_decode(back, sizeof back, &i);
    assert_u64_equal(instruction_target(back, &i, 1000), 990);
}

static void test_hands_on(void **state)
{
    (void)state;
    /* 0: the function, 32: what it jumps to, 64: the table's entry. */
    _Alignas(8) uint8_t code[72];
    static const struct {
        const char function[16], stub[16];
        bool hands_on;
    } cases[] = {
        {"\x48\x89\xf7\xe9\x18\0\0\0", "\xff\x25\x1a\0\0\0", true},
        {"\xf3\x0f\x1e\xfa\x48\x89\xf7\xe9\x14\0\0\0", "\xf3\x0f\x1e\xfa\xff\x25\x16\0\0\0", true},
        {"\x48\x89\xf7\xe9\x18\0\0\0", "\xf3\x0f\x1e\xfa\xf2\xff\x25\x15\0\0\0", true},
        {"\x48\x89\xf7\xff\x25\x37\0\0\0", "", true},
        {"\x48\x89\xf7\xff\x25\x2f\0\0\0", "", false},               /* another entry */
        {"\x48\x89\xd7\xe9\x18\0\0\0", "\xff\x25\x1a\0\0\0", false}, /* the third argument */
        {"\x48\x89\xfe\xe9\x18\0\0\0", "\xff\x25\x1a\0\0\0", false}, /* the first */
        {"\x48\x89\xf7\xe8\x18\0\0\0", "\xff\x25\x1a\0\0\0", false}, /* a call: it goes on */
        {"\x48\x89\xf7\xe9\x18\0\0\0", "\xff\x15\x1a\0\0\0", false},
        {"\x48\x89\xf7\x90\xe9\x17\0\0\0", "\xff\x25\x1a\0\0\0", false}, /* more than that */
        {"\xe9\x1b\0\0\0", "\xff\x25\x1a\0\0\0", false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const uint64_t to = 0x123456789abc;
        memset(code, 0xcc, sizeof code);
        memcpy(code, cases[c].function, 16);
        memcpy(code + 32, cases[c].stub, 16);
        memcpy(code + 64, &to, 8);
        assert_int_equal(instruction_hands_on(code, to), cases[c].hands_on);
        assert_false(instruction_hands_on(code, to + 1));
    }
    memcpy(code, "\x48\x89\xf7\xe9\x18\0\0\0", 8);
    assert_true(instruction_hands_on(code, (uint64_t)(uintptr_t)(code + 32)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_instructions),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_anything),
        cmocka_unit_test(test_target),
        cmocka_unit_test(test_hands_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
