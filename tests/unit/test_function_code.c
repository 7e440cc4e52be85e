/* The code of a function: where it is, and what it calls. */
#include "test_symbolizer_fixture.h"

#include <elf.h>

#include "base/err.h"
#include "symbol/disassembler.h"

static const char calls_source[] = "#include <stdlib.h>\n"
                                   "void *volatile sink;\n"
                                   "__attribute__((noinline)) static void own(void)\n"
                                   "{\n"
                                   "    sink = 0;\n"
                                   "}\n"
                                   "int main(void) /* declared */\n"
                                   "{\n"
                                   "    own();\n"
                                   "    sink = malloc(1);\n"
                                   "    return 0;\n"
                                   "}\n";

/* By its symbol, by DWARF when it has none, by unwind information when it has neither. */
static void test_bounds(void **state)
{
    (void)state;
    source("calls.c", calls_source);
    must("gcc -g -O1 calls.c -o calls && cp calls no_symbols && strip -N main no_symbols");
    must("cp calls stripped && strip stripped");
    uint64_t begin = address_of("calls", "main"), size = size_of("calls", "main"), low, high;
    assert_true(size > 8);
    static const char *const names[] = {"calls", "no_symbols", "stripped"};
    for (size_t i = 0; i < 3; i++) {
        struct symbol_file *file = symbolizer_file(symbolizer, path(names[i]), NULL, 0);
        for (uint64_t at = 0; at < size; at++) {
            assert_true(symbol_file_bounds(file, begin + at, &low, &high));
            assert_int_equal(low, begin);
            assert_int_equal(high, begin + size);
        }
        assert_false(symbol_file_bounds(file, 8, &low, &high));
        assert_int_equal(symbol_file_state(file), SYMBOL_FILE_GOOD);
    }
    struct symbol_file *file = symbolizer_file(symbolizer, path("calls"), NULL, 0);
    assert_int_equal(symbolizer_declared(symbolizer, file, begin + 1, "main"),
                     line_of(calls_source, "/* declared */"));
    assert_int_equal(symbolizer_declared(symbolizer, file, begin + 1, "own"), 0);
}

/* Where the code of main leads to: a function of its own, and one of another file. */
static void called(const char *program, bool *own, bool *other)
{
    struct symbol_file *file = symbolizer_file(symbolizer, path(program), NULL, 0);
    uint64_t low = address_of(program, "main"), size = size_of(program, "main");
    size_t there;
    const uint8_t *code = symbol_file_code(file, low, &there);
    struct disassembler *d = disassembler_new(symbol_file_machine(file), NULL);
    assert_non_null(code);
    assert_non_null(d);
    assert_true(there >= size);
    *own = *other = false;
    for (uint64_t at = 0; at < size;) {
        struct instruction_text t;
        disassemble(d, code + at, size - at, low + at, &t);
        at += t.size;
        const char *name = t.has_target ? symbolizer_entry(symbolizer, file, t.target)
                           : t.has_slot ? symbolizer_slot(symbolizer, file, t.target)
                                        : NULL;
        *own |= name && !strcmp(name, "own");
        *other |= name && !strcmp(name, "malloc");
    }
    disassembler_free(d);
}

static void test_calls(void **state)
{
    (void)state;
    bool own, other;
    source("calls.c", calls_source);
    must("gcc -O1 calls.c -o lazy -Wl,-z,lazy && gcc -O1 calls.c -o now -Wl,-z,now");
    must("gcc -O1 -fno-plt calls.c -o direct && gcc -O1 -fcf-protection calls.c -o guarded");
    static const char *const names[] = {"lazy", "now", "direct", "guarded"};
    for (size_t i = 0; i < 4; i++) {
        called(names[i], &own, &other);
        assert_true(own && other);
    }
}

static void test_not_code(void **state)
{
    (void)state;
    struct err err;
    struct instruction_text t;
    struct disassembler *d = disassembler_new(EM_X86_64, &err);
    assert_non_null(d);
    static const uint8_t bytes[] = {0x06, 0x06, 0xe8, 0x00}; /* no instruction, and half a call */
    for (size_t at = 0; at < sizeof bytes; at += t.size) {
        disassemble(d, bytes + at, sizeof bytes - at, at, &t);
        assert_true(t.size >= 1 && t.size <= sizeof bytes - at);
    }
    disassemble(d, bytes, 1, 0, &t);
    assert_string_equal(t.text, "(bad)");
    disassembler_free(d);
    assert_null(disassembler_new(EM_SPARC, &err));
    assert_non_null(strstr(err.text, "not known"));
    assert_int_equal(symbol_file_state(symbolizer_file(symbolizer, path("none"), NULL, 0)),
                     SYMBOL_FILE_MISSING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_code, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
