/* Names of C++ and Rust as the compiler was given them. */
#include "unit.h"

#include "base/strbuf.h"
#include "symbol/demangle.h"

static void assert_demangled(const char *name, const char *expected)
{
    struct strbuf out = {0};
    demangle(&out, name);
    assert_string_equal(out.data, expected);
    strbuf_release(&out);
}

static void test_demangle(void **state)
{
    (void)state;
    assert_demangled("main", "main");
    assert_demangled("_Z4giveii", "give(int, int)");
    assert_demangled("_ZNSt6vectorIiSaIiEE9push_backERKi",
                     "std::vector<int, std::allocator<int> >::push_back(int const&)");
    assert_demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
    assert_demangled("_ZN39_$LT$r..P$LT$u8$GT$$u20$as$u20$r..Q$GT$1q17hc52acdad47f6ba49E",
                     "<r::P<u8> as r::Q>::q");
    assert_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
    assert_demangled("_RNvMNtCs1234_7mycrate1mNtB2_3Bar3baz.llvm.1234567",
                     "<mycrate::m::Bar>::baz");
    /* What the compiler and the linker added. */
    assert_demangled("_Z4giveii.cold", "give(int, int)");
    assert_demangled("_Z4giveii.constprop.0.isra.1", "give(int, int)");
    assert_demangled("work.part.0", "work");
    assert_demangled("work.part.0.cold.12", "work");
    assert_demangled("nested.3", "nested");
    assert_demangled("memcpy@@GLIBC_2.14", "memcpy");
    assert_demangled("memcpy@GLIBC_2.2.5", "memcpy");
    assert_demangled("__GI___libc_write", "__libc_write");
    /* What only looks like it. */
    assert_demangled(".cold", ".cold");
    assert_demangled("main.main.func1.2", "main.main.func1.2");
    assert_demangled("a.coldish", "a.coldish");
    assert_demangled("_Z", "_Z");
    assert_demangled("_Znonsense", "_Znonsense");
    assert_demangled("@", "@");
}

static void test_demangle_limits(void **state)
{
    (void)state;
    /* Each level doubles what is printed: 2^40 characters, were there no limit. */
    struct strbuf name = {0}, out = {0};
    strbuf_puts(&name, "_Z1f1AIiiE");
    for (int i = 0; i < 40; i++) {
        if (i == 0)
            strbuf_puts(&name, "S_IS0_S0_E");
        else if (i + 1 <= 10)
            strbuf_printf(&name, "S_IS%d_S%d_E", i, i);
        else
            strbuf_printf(&name, "S_IS%c_S%c_E", 'A' + (i - 10) % 26, 'A' + (i - 10) % 26);
    }
    demangle(&out, name.data);
    assert_true(out.size <= 64 << 10);
    assert_string_equal(out.data, name.data);

    /* Longer than libiberty takes with its limit on. */
    strbuf_clear(&name);
    strbuf_clear(&out);
    strbuf_puts(&name, "_Z1f");
    for (int i = 0; i < 100; i++)
        strbuf_printf(&name, "30a%029d", i);
    demangle(&out, name.data);
    assert_int_equal(out.size, strlen("f()") + 100 * (30 + strlen(", ")) - strlen(", "));
    assert_memory_equal(out.data, "f(a00000", 8);

    /* Too long for any good purpose. */
    strbuf_clear(&name);
    strbuf_clear(&out);
    for (int i = 0; i < 1 << 20; i++)
        strbuf_putc(&name, 'P');
    memcpy(name.data, "_Z1f", 4);
    demangle(&out, name.data);
    assert_int_equal(out.size, 64 << 10);
    strbuf_release(&name);
    strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demangle),
        cmocka_unit_test(test_demangle_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
