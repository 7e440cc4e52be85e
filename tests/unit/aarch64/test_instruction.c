/* Instructions as the assembler writes them: what kind they are, where they lead. */
#include "../unit.h"

#include "machine/code.h"
#include "machine/registers.h"
#include "record/instruction.h"
#include "unwind/signal_return.h"

/* Each instruction of `samples` is followed, in `wanted`, by its kind and where it leads (0:
 * nowhere).
 */
__asm__(".globl samples, samples_end, leads\n"
        ".section .rodata\n"
        ".balign 4096\n"
        ".Lbefore: .skip 4096\n"
        "samples:\n"
        "nop\n"
        "ret\n"
        "hint #7\n"
        "paciasp\n"
        "stp x29, x30, [sp, #-32]!\n"
        "sub sp, sp, #64\n"
        "mov x29, sp\n"
        "b .Lafter\n"
        "b .Lbefore\n"
        "bl .Lbefore\n"
        "b.ne .Lafter\n"
        "cbz x0, .Lbefore\n"
        "cbnz w3, .Lafter\n"
        "tbz x5, #40, .Lbefore\n"
        "tbnz w5, #3, .Lafter\n"
        "br x16\n"
        "blr x8\n"
        "adr x3, .Lbefore\n"
        "adrp x3, .Lpage\n"
        "ldr x3, .Lafter\n"
        "ldr x3, [x1, #8]\n"
        "ldrsw x3, .Lbefore\n"
        "samples_end:\n"
        ".Lafter: .skip 64\n"
        ".balign 4096\n"
        ".skip 8192\n"
        ".Lpage: .skip 8\n"
        ".balign 8\n"
        "leads: .quad .Lafter, .Lbefore, .Lpage\n"
        ".previous\n");
extern const uint8_t samples[], samples_end[];
extern const uint64_t leads[3];

enum { NOWHERE = -1, AFTER, BEFORE, PAGE };
static const struct {
    enum instruction_kind kind;
    int leads;
} wanted[] = {
    {INSTRUCTION_NOTHING, NOWHERE},
    {INSTRUCTION_RETURN, NOWHERE},
    {INSTRUCTION_PLAIN, NOWHERE},
    {INSTRUCTION_PLAIN, NOWHERE},
    {INSTRUCTION_PLAIN, NOWHERE},
    {INSTRUCTION_PLAIN, NOWHERE},
    {INSTRUCTION_PLAIN, NOWHERE},
    {INSTRUCTION_JUMP, AFTER},
    {INSTRUCTION_JUMP, BEFORE},
    {INSTRUCTION_CALL, BEFORE},
    {INSTRUCTION_BRANCH, AFTER},
    {INSTRUCTION_BRANCH, BEFORE},
    {INSTRUCTION_BRANCH, AFTER},
    {INSTRUCTION_BRANCH, BEFORE},
    {INSTRUCTION_BRANCH, AFTER},
    {INSTRUCTION_JUMP_INDIRECT, NOWHERE},
    {INSTRUCTION_CALL_INDIRECT, NOWHERE},
    {INSTRUCTION_PLAIN, BEFORE},
    {INSTRUCTION_PLAIN, PAGE},
    {INSTRUCTION_PLAIN, AFTER},
    {INSTRUCTION_PLAIN, NOWHERE},
    {INSTRUCTION_PLAIN, BEFORE},
};
#define WANTED (sizeof wanted / sizeof *wanted)

static void test_known_instructions(void **state)
{
    (void)state;
    assert_int_equal(samples_end - samples, WANTED * 4);
    for (size_t s = 0; s < WANTED; s++) {
        struct instruction i;
        const uint8_t *code = samples + s * 4;
        assert_int_equal(instruction_decode(code, 4, &i), 4);
        assert_int_equal(instruction_decode(code, 3, &i), 0);
        instruction_decode(code, 4, &i);
        assert_int_equal(i.length, 4);
        assert_int_equal(i.kind, wanted[s].kind);
        assert_int_equal(i.relative_size != 0, wanted[s].leads != NOWHERE);
        uint64_t target = i.relative_size ? instruction_target(code, &i, (uintptr_t)code) : 0;
        uint64_t there = wanted[s].leads == NOWHERE ? 0 : leads[wanted[s].leads];
        assert_u64_equal(target, wanted[s].leads == PAGE ? there & ~UINT64_C(4095) : there);
    }
}

/* --- functions that hand on their second argument ----------------------------------------------
 */

__asm__(".globl hands_on, hands_on_landed, hands_by_stub, hands_third, hands_call, hands_more\n"
        ".globl hands_to\n"
        ".text\n"
        ".balign 8\n"
        "hands_on: mov x0, x1\n b hands_to\n"
        "hands_on_landed: hint #34\n mov x0, x1\n b hands_to\n"
        "hands_by_stub: mov x0, x1\n b hands_stub\n"
        "hands_third: mov x0, x2\n b hands_to\n"
        "hands_call: mov x0, x1\n bl hands_to\n"
        "hands_more: mov x0, x1\n nop\n b hands_to\n"
        "hands_stub: hint #34\n adrp x16, hands_slot\n ldr x17, [x16, #:lo12:hands_slot]\n"
        "add x16, x16, #:lo12:hands_slot\n br x17\n"
        "hands_to: ret\n"
        ".data\n"
        ".balign 8\n"
        "hands_slot: .quad hands_to\n"
        ".previous\n");
extern const uint8_t hands_on[], hands_on_landed[], hands_by_stub[], hands_third[], hands_call[],
    hands_more[], hands_to[];

static void test_hands_on(void **state)
{
    (void)state;
    uint64_t to = (uintptr_t)hands_to;
    assert_true(instruction_hands_on(hands_on, to));
    assert_true(instruction_hands_on(hands_on_landed, to));
    assert_true(instruction_hands_on(hands_by_stub, to));
    assert_false(instruction_hands_on(hands_by_stub, to + 4));
    assert_false(instruction_hands_on(hands_third, to));
    assert_false(instruction_hands_on(hands_call, to));
    assert_false(instruction_hands_on(hands_more, to));
}

/* --- what stands around a return address -------------------------------------------------------
 */

__asm__(".globl calls, calls_to, down, room, bare, more\n"
        ".text\n"
        "calls: bl calls_to\n blr x8\n .inst 0xd63f091f\n b calls_to\n br x8\n"
        "calls_to: paciasp\n stp x29, x30, [sp, #-32]!\n mov x29, sp\n"
        "down: ldp x29, x30, [sp], #32\n autiasp\n ret\n"
        ".skip 64\n"
        "room: sub sp, sp, #64\n stp x29, x30, [sp, #48]\n str x19, [sp, #8]\n add x29, sp, #48\n"
        ".skip 64\n"
        "bare: stp x29, x30, [sp, #-16]!\n bl calls_to\n mov x29, sp\n"
        ".skip 64\n"
        "more: ldp x29, x30, [sp], #32\n add x0, x0, #1\n ret\n"
        ".skip 64\n");
extern const uint8_t calls[], calls_to[], down[], room[], bare[], more[];

static void test_calls_and_frames(void **state)
{
    (void)state;
    uint64_t target = 0;
    assert_true(arch_is_call(calls));
    assert_true(arch_is_call(calls + 4));
    assert_true(arch_is_call(calls + 8));
    assert_false(arch_is_call(calls + 12));
    assert_false(arch_is_call(calls + 16));
    assert_true(arch_call_target(calls, (uintptr_t)calls + 4, &target));
    assert_u64_equal(target, (uintptr_t)calls_to);
    assert_false(arch_call_target(calls + 4, (uintptr_t)calls + 8, &target));
    assert_true(arch_keeps_frame(calls_to));
    assert_true(arch_keeps_frame(room));
    assert_false(arch_keeps_frame(bare));
    struct arch_epilogue e;
    assert_true(arch_epilogue(down, &e));
    assert_u64_equal(arch_epilogue_return(&e), 8);
    assert_u64_equal(arch_epilogue_end(&e), 32);
    assert_false(arch_epilogue(more, &e));
}

/* --- signed return addresses -------------------------------------------------------------------
 */

static __attribute__((noinline, target("branch-protection=pac-ret+leaf"))) uint64_t kept(void)
{
    const uint64_t *record = __builtin_frame_address(0);
    return record[1];
}

static void test_signed_return_address(void **state)
{
    (void)state;
    uint64_t address = kept();
    assert_u64_equal(arch_return_address(address) >> ARCH_ADDRESS_BITS, 0);
    assert_u64_equal(arch_return_address(arch_return_address(address)),
                     arch_return_address(address));
    assert_true(arch_return_address(address) - (uintptr_t)test_signed_return_address < 256);
}

/* --- the end of a signal's handler -------------------------------------------------------------
 */

static uint64_t there_to, reads_beyond;

static int count_read(const struct unwind_space *self, uint64_t address, uint64_t *out)
{
    (void)self;
    reads_beyond += address + 8 > there_to;
    *out = UINT64_C(0xd2801168) << 32; /* its first instruction; the second is on the next page */
    return 0;
}

static bool is_there(const struct unwind_space *self, uint64_t address)
{
    (void)self;
    return address + 8 <= there_to;
}

static void test_reads_what_is_there(void **state)
{
    (void)state;
    const struct unwind_space space = {.read = count_read, .readable = is_there};
    there_to = UINT64_C(0x401000);
    assert_false(signal_returns(&space, there_to - 4));
    assert_false(signal_returns(&space, there_to));
    assert_false(signal_returns(&space, UINT64_C(1) << 60));
    assert_u64_equal(reads_beyond, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_instructions),  cmocka_unit_test(test_hands_on),
        cmocka_unit_test(test_calls_and_frames),    cmocka_unit_test(test_signed_return_address),
        cmocka_unit_test(test_reads_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
