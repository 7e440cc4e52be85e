/* Stacks from copies of their memory, and the tables of files on disk that this needs. */
#include "unit.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sys/auxv.h>

#include "collect/naming/code_file.h"
#include "unwind/copied_stack.h"

#define NOINLINE __attribute__((noinline))
#define COPY     2048

static uint8_t copy[COPY];
static struct arch_registers there;
static uint64_t returns[3];

/* What a sample would have: registers, and the stack's memory from sp on. */
NOINLINE static void sample(void)
{
    arch_capture(&there);
    memcpy(copy, (const void *)(uintptr_t)there.value[ARCH_REG_SP], sizeof copy);
    returns[0] = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

NOINLINE static void middle(volatile char *space)
{
    space[1] = space[0];
    returns[1] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    sample();
    space[2] = 1; /* no tail call */
}

NOINLINE static void outer(size_t size)
{
    volatile char *space = __builtin_alloca(size); /* needs a frame pointer */
    space[0] = 1;
    returns[2] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    middle(space);
    space[1] = 1;
}

static int own_find(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    struct dl_find_object o;
    (void)self;
    if (_dl_find_object((void *)(uintptr_t)address, &o) != 0)
        return -1;
    *out = (struct unwind_module){
        .cfi = {.begin = o.dlfo_map_start, .end = o.dlfo_map_end, .header = o.dlfo_eh_frame}};
    return out->cfi.header ? 0 : -1;
}

static uint32_t walk(uint64_t size, uint64_t *addresses, uint32_t room, enum copied_end *end)
{
    struct copied_stack s = {.space = {.find = own_find},
                             .rules = calloc(1, sizeof(struct rules)),
                             .bytes = copy,
                             .start = there.value[ARCH_REG_SP],
                             .size = size};
    uint32_t n = copied_walk(&s, &there, addresses, room, end);
    uint64_t again[64];
    enum copied_end end_again; /* now the rules are known */
    assert_int_equal(copied_walk(&s, &there, again, room, &end_again), n);
    assert_memory_equal(addresses, again, n * sizeof *again);
    assert_int_equal(*end, end_again);
    free(s.rules);
    return n;
}

static void test_copied_stack(void **state)
{
    (void)state;
    uint64_t addresses[64];
    enum copied_end end;
    if (UNIT_SANITIZED)
        skip();
    outer(200);
    uint32_t n = walk(sizeof copy, addresses, 64, &end);
    assert_true(n > 4);
    assert_int_equal(addresses[0], there.value[ARCH_REG_PC] + 1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(addresses[1 + i], returns[i]);
    /* A shorter copy has fewer of the same. */
    uint64_t fewer[64];
    uint32_t last = n;
    for (uint64_t size = sizeof copy; size > 0; size -= 8) {
        uint32_t m = walk(size, fewer, 64, &end);
        assert_true(m <= last);
        assert_memory_equal(fewer, addresses, m * sizeof *fewer);
        last = m;
    }
    assert_int_equal(end, COPIED_TRUNCATED);
    assert_int_equal(walk(sizeof copy, fewer, 2, &end), 2);
    assert_int_equal(end, COPIED_TRUNCATED);
}

/* Of a thread that waits only pc and sp are known: the walk says that it lacks the frame pointer,
 * of which function, and is whole once it has it. */
static void test_without_frame_pointer(void **state)
{
    (void)state;
    uint64_t whole[64], addresses[64];
    enum copied_end end;
    if (UNIT_SANITIZED)
        skip();
    outer(200);
    uint32_t all = walk(sizeof copy, whole, 64, &end);
    struct copied_stack s = {.space = {.find = own_find},
                             .rules = calloc(1, sizeof(struct rules)),
                             .bytes = copy,
                             .start = there.value[ARCH_REG_SP],
                             .size = sizeof copy};
    struct arch_registers r = {.known = ARCH_BIT(ARCH_REG_PC) | ARCH_BIT(ARCH_REG_SP)};
    r.value[ARCH_REG_PC] = there.value[ARCH_REG_PC];
    r.value[ARCH_REG_SP] = there.value[ARCH_REG_SP];
    uint32_t n = copied_walk(&s, &r, addresses, 64, &end);
    if (end == COPIED_LOST) { /* unless a function on the way has saved it */
        assert_true(s.wants_fp);
        assert_true(n < all);
        assert_int_equal(s.end_pc, whole[n - 1]);
        assert_true(s.end_sp > s.start && s.end_sp < s.start + sizeof copy);
        r.value[ARCH_REG_FP] = there.value[ARCH_REG_FP];
        r.known |= ARCH_BIT(ARCH_REG_FP);
        n = copied_walk(&s, &r, addresses, 64, &end);
    }
    assert_int_equal(n, all);
    assert_memory_equal(addresses, whole, n * sizeof *whole);
    assert_false(s.wants_fp);
    free(s.rules);
}

/* --- files ------------------------------------------------------------------------------------ */

static uint8_t *image;
static size_t image_size;

static void write_image(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(image, 1, image_size, f), image_size);
    fclose(f);
}

static void read_image(void)
{
    FILE *f = fopen("/proc/self/exe", "r");
    assert_non_null(f);
    image = realloc(image, 64 << 20);
    image_size = fread(image, 1, 64 << 20, f);
    fclose(f);
}

/* The rows of functions of ours, by a file's tables, are those by the ones in memory. */
static void same_rows(const char *path)
{
    struct code_files files = {0};
    Dl_info info;
    assert_true(dladdr((void *)outer, &info) != 0);
    uint64_t bias = (uint64_t)(uintptr_t)info.dli_fbase;
    struct code_file *f = code_file(&files, path, NULL, 0);
    struct unwind_module memory;
    struct cfi_section section;
    assert_true(code_file_tables(f, bias, &section));
    void (*const functions[])(void) = {(void (*)(void))outer,       (void (*)(void))middle,
                                       (void (*)(void))sample,      (void (*)(void))walk,
                                       (void (*)(void))copied_walk, (void (*)(void))code_file};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (uint64_t at = 0; at < 40; at += 3) {
            uint64_t address = (uint64_t)(uintptr_t)functions[i] + at;
            struct cfi_row a, b;
            assert_int_equal(own_find(NULL, address, &memory), 0);
            int found = cfi_row(&memory.cfi, address, &a);
            assert_int_equal(cfi_row(&section, address, &b), found);
            if (found)
                continue;
            assert_int_equal(a.function, b.function);
            assert_int_equal(a.cfa_reg, b.cfa_reg);
            assert_int_equal(a.cfa_offset, b.cfa_offset);
        }
    assert_ptr_equal(code_file(&files, path, NULL, 0), f);
    code_files_release(&files);
}

static void hide_table(void)
{
    Elf64_Ehdr *e = (void *)image;
    Elf64_Phdr *p = (void *)(image + e->e_phoff);
    for (unsigned i = 0; i < e->e_phnum; i++)
        if (p[i].p_type == PT_GNU_EH_FRAME)
            p[i].p_type = PT_NULL;
}

static void test_tables_of_files(void **state)
{
    (void)state;
    char path[] = "/tmp/tide-test-codefile-XXXXXX";
    close(mkstemp(path));
    same_rows("/proc/self/exe");
    read_image();
    hide_table(); /* as in a static program */
    write_image(path);
    same_rows(path);
    unlink(path);
}

/* The kernel's own file; on aarch64 it may be without. */
static bool vdso_has_tables(void)
{
    const Elf64_Ehdr *e = (const void *)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Phdr *p = e ? (const void *)((const char *)e + e->e_phoff) : NULL;
    for (unsigned i = 0; e && i < e->e_phnum; i++)
        if (p[i].p_type == PT_GNU_EH_FRAME)
            return true;
    return false;
}

static void test_damaged_files(void **state)
{
    (void)state;
    char path[] = "/tmp/tide-test-codefile-XXXXXX";
    close(mkstemp(path));
    srand(3);
    for (int round = 0; round < 60; round++) {
        struct code_files files = {0};
        struct cfi_section section;
        struct cfi_row row;
        read_image();
        if (round % 2)
            hide_table();
        for (int i = 0; i < 200; i++) {
            size_t at = (size_t)rand() % (i % 2 ? 2048 : image_size);
            image[at] = (uint8_t)rand();
        }
        memcpy(image, ELFMAG, SELFMAG);
        write_image(path);
        struct code_file *f = code_file(&files, path, NULL, 0);
        uint64_t bias = code_file_bias(f, 0x10000, 0x1000);
        if (code_file_tables(f, bias, &section))
            for (uint64_t address = 0x10000; address < 0x30000; address += 333)
                cfi_row(&section, address, &row);
        code_files_release(&files);
    }
    unlink(path);
    struct code_files files = {0};
    struct cfi_section section;
    assert_false(code_file_tables(code_file(&files, "/no/such/file", NULL, 0), 0, &section));
    assert_false(code_file_tables(code_file(&files, "/dev/zero", NULL, 0), 0, &section));
    assert_false(code_file_tables(code_file(&files, "//anon", NULL, 0), 0, &section));
    /* A file that is another by now. */
    uint8_t id[20] = {1};
    assert_false(code_file_tables(code_file(&files, "/proc/self/exe", id, 20), 0, &section));
    assert_int_equal(code_file_tables(code_file(&files, "[vdso]", NULL, 0), 0, &section),
                     vdso_has_tables());
    code_files_release(&files);
    free(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copied_stack),
        cmocka_unit_test(test_without_frame_pointer),
        cmocka_unit_test(test_tables_of_files),
        cmocka_unit_test(test_damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
