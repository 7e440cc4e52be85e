/* Where the handler of a signal returns to: known by its address in this process, by its code in
 * another. */
#include "../unit.h"

#include <elf.h>
#include <sys/auxv.h>

#include "unwind/signal_return.h"

#define RETURN UINT64_C(0xd4000001d2801168) /* mov x8, #139; svc #0 */

/* The kernel's page of code, as this process has it: a file with one segment. */
static struct {
    Elf64_Ehdr file;
    Elf64_Phdr segment;
    uint32_t code[8];
} page = {.file = {.e_phoff = sizeof(Elf64_Ehdr), .e_phnum = 1},
          .segment = {.p_type = PT_LOAD, .p_filesz = sizeof page},
          .code = {0xd503201f, (uint32_t)RETURN, RETURN >> 32}};

unsigned long getauxval(unsigned long kind)
{
    return kind == AT_SYSINFO_EHDR ? (unsigned long)&page : 0;
}

static unsigned asked;

static int count_read(const struct unwind_space *self, uint64_t address, uint64_t *out)
{
    (void)self;
    asked++;
    memcpy(out, (const void *)(uintptr_t)address, 8);
    return 0;
}

static bool count_readable(const struct unwind_space *self, uint64_t address)
{
    (void)self;
    (void)address;
    asked++;
    return true;
}

static void test_own(void **state)
{
    (void)state;
    const struct unwind_space space = {.read = count_read, .readable = count_readable};
    assert_true(signal_returns(&space, (uintptr_t)&page.code[1]));
    assert_false(signal_returns(&space, (uintptr_t)&page.code[0]));
    assert_false(signal_returns(&space, (uintptr_t)&page.code[2]));
    assert_false(signal_returns(&space, 0));
    assert_int_equal(asked, 0);
}

static void test_of_another(void **state)
{
    (void)state;
    const struct unwind_space space = {.code = count_read};
    _Alignas(8) uint32_t even[4] = {(uint32_t)RETURN, RETURN >> 32};
    _Alignas(8) uint32_t odd[4] = {0, (uint32_t)RETURN, RETURN >> 32};
    assert_true(signal_returns(&space, (uintptr_t)even));
    assert_true(signal_returns(&space, (uintptr_t)(odd + 1)));
    assert_false(signal_returns(&space, (uintptr_t)odd));
    assert_false(signal_returns(&space, (uintptr_t)even + 2));
    assert_int_equal(asked, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
