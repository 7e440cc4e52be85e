#include "test_model_fixture.h"

#include "model/function_name.h"
#include "model/rust_std.h"
#include "model/pattern.h"

static bool is_allocator(const char *name)
{
    return name_part_is_allocator(name_bare(name));
}

static bool is_std(const char *name)
{
    return name_part_is_std(name_bare(name));
}

static void expect_bare(const char *name, const char *bare)
{
    struct name_part part = name_bare(name);
    char text[200];
    snprintf(text, sizeof text, "%.*s", (int)part.size, part.text);
    assert_string_equal(text, bare);
}

static void test_bare(void **state)
{
    (void)state;
    expect_bare("main", "main");
    expect_bare("", "");
    expect_bare("f(int, char const*)", "f");
    expect_bare("void std::f<int, std::pair<int, int> >(int)", "std::f<int, std::pair<int, int> >");
    expect_bare("char const* ns::g(int) const", "ns::g");
    expect_bare("(anonymous namespace)::f(int)", "(anonymous namespace)::f");
    expect_bare("a::(anonymous namespace)::f(int)", "a::(anonymous namespace)::f");
    expect_bare("operator new(unsigned long)", "operator new");
    expect_bare("Foo::operator()(int) const", "Foo::operator()");
    expect_bare(
        "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
        "std::operator<< <std::char_traits<char> >");
    expect_bare("bool ns::operator<(A const&, A const&)", "ns::operator<");
    expect_bare("f(int)::{lambda(int)#1}::operator()(int) const",
                "f(int)::{lambda(int)#1}::operator()");
    expect_bare("decltype(x+y) h<int>(int)", "h<int>");
    expect_bare("slow_path [clone .cold]", "slow_path");
    expect_bare("<T as core::fmt::Debug>::fmt", "<T as core::fmt::Debug>::fmt");
    expect_bare("app+0x1234", "app+0x1234");
    expect_bare("f(((", "f");
}

static void test_kinds(void **state)
{
    (void)state;
    assert_true(is_allocator("malloc"));
    assert_true(is_allocator("operator new(unsigned long)"));
    assert_true(is_allocator("operator new[](unsigned long, std::align_val_t)"));
    assert_true(is_allocator("malloc@plt"));
    assert_false(is_allocator("my_malloc"));
    assert_false(is_allocator("Pool::operator new(unsigned long)"));
    assert_true(is_std("std::vector<int>::push_back(int const&)"));
    assert_true(is_std("void std::vector<int>::_M_realloc_insert<int>(int&&)"));
    assert_true(is_std("__gnu_cxx::new_allocator<char>::allocate(unsigned long)"));
    assert_false(is_std("mystd::f()"));
    assert_false(is_std("std"));
    assert_false(is_std("User::take(std::string)"));
    assert_false(is_std("std::string User::name()"));
}

static void test_is(void **state)
{
    (void)state;
    assert_true(name_is("ns::C<int>::run<char>(int)", "ns::C<int>::run<char>(int)"));
    assert_true(name_is("ns::C<int>::run<char>(int)", "ns::C<int>::run<char>"));
    assert_true(name_is("ns::C<int>::run<char>(int)", "ns::C<int>::run"));
    assert_true(name_is("ns::C<int>::run<char>(int)", "run"));
    assert_true(name_is("void f<int>(int)", "f"));
    assert_false(name_is("ns::C<int>::run<char>(int)", "C"));
    assert_false(name_is("rerun(int)", "run"));
}

static void expect_short(const char *name, size_t width, const char *text)
{
    struct strbuf b = {0};
    name_shorten(&b, name, width);
    assert_string_equal(b.data, text);
    strbuf_release(&b);
}

static void test_shorten(void **state)
{
    (void)state;
    expect_short("f(int)", 20, "f(int)");
    expect_short("ns::C<int>::f(int, int, int)", 20, "ns::C<int>::f");
    expect_short("ns::C<std::vector<int> >::f(int)", 20, "ns::C<>::f");
    expect_short("alpha::beta::gamma(int)", 12, "beta::gamma");
    expect_short("alpha::beta::gamma(int)", 8, "gamma");
    expect_short("alpha::operator std::string()", 20, "operator std::string");
    expect_short("abcdefghijklmnop", 10, "abcdefg...");
    expect_short("ééééééé", 5, "éé...");
    expect_short("libLLVM-14.so.1+0x100189e", 15, "li...+0x100189e");
    expect_short("libLLVM-14.so.1+0x100189e", 12, "libLLVM-1...");
    expect_short("Perl_safesys... < Perl_more_bo...", 32, "Perl_safesys... < Perl_more_b...");
    expect_short("alpha::beta(int) < gamma::delta(int)", 20, "beta < delta");
}

static void test_patterns(void **state)
{
    (void)state;
    struct pattern_list l = {0};
    struct err err;
    assert_int_equal(pattern_list_add(&l, "plain", "--ignore", &err), 0);
    assert_int_equal(pattern_list_add(&l, "^a.c$", "--ignore", &err), 0);
    assert_true(pattern_list_match(&l, "is plain text"));
    assert_true(pattern_list_match(&l, "abc"));
    assert_false(pattern_list_match(&l, "abcd"));
    assert_int_equal(pattern_list_add(&l, "a(", "--ignore", &err), -EINVAL);
    assert_non_null(strstr(err.text, "--ignore 'a('"));
    pattern_list_release(&l);
}

static void expect_rename(const char *rule, const char *name, const char *text)
{
    struct rename_list l = {0};
    struct err err;
    struct strbuf b = {0};
    assert_int_equal(rename_list_add(&l, rule, &err), 0);
    assert_int_equal(rename_list_apply(&l, name, &b), text != NULL);
    if (text)
        assert_string_equal(b.data, text);
    strbuf_release(&b);
    rename_list_release(&l);
}

static void test_renames(void **state)
{
    (void)state;
    expect_rename("s/[0-9]+/N/", "f1_22", "fN_22");
    expect_rename("s/[0-9]+/N/g", "f1_22", "fN_N");
    expect_rename("s/^(.*)<.*>/\\1<&>/", "f<int>", "f<f<int>>");
    expect_rename("s|a/b|c|", "xa/by", "xcy");
    expect_rename("s/a\\/b/c/", "xa/by", "xcy");
    expect_rename("s/x*/-/g", "ab", "-a-b-");
    expect_rename("s/none/x/", "abc", NULL);
    struct rename_list l = {0};
    struct err err;
    assert_int_equal(rename_list_add(&l, "s/a", &err), -EINVAL);
    assert_int_equal(rename_list_add(&l, "s//b/", &err), -EINVAL);
    assert_int_equal(rename_list_add(&l, "s/a/b/x", &err), -EINVAL);
    assert_non_null(strstr(err.text, "s/regex/new/"));
}

/* As rustc 1.95 writes them, with either mangling. */
static void test_rust(void **state)
{
    (void)state;
    static const char *const library[] = {
        "alloc::alloc::alloc",
        "alloc::alloc::Global::alloc_impl_runtime",
        "<alloc::alloc::Global>::alloc_impl_runtime",
        "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
        "alloc::raw_vec::RawVecInner<A>::finish_grow",
        "<alloc::raw_vec::RawVecInner>::try_allocate_in",
        "<alloc::raw_vec::RawVecInner<_>>::reserve::do_reserve_and_handle::<alloc::alloc::Global>",
        "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
        "<T as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec",
        "alloc::slice::<impl [T]>::to_vec_in",
        "<[u8]>::to_vec",
        "<&str as alloc::string::SpecToString>::spec_to_string",
        "<alloc::vec::Vec<T,A> as core::clone::Clone>::clone",
        "<hashbrown::raw::RawTable<(u64, alloc::string::String)>>::reserve_rehash::<f>",
        "hashbrown::map::HashMap<K,V,S,A>::insert",
        "<std::collections::hash::map::HashMap<u64, alloc::string::String>>::insert",
        "core::iter::traits::iterator::Iterator::collect",
        ("<core::iter::adapters::map::Map<core::ops::range::Range<i32>, a::set::{closure#0}> as "
         "core::iter::traits::iterator::Iterator>::fold::<()>"),
        "core::ops::function::FnOnce::call_once",
        "__rustc::__rust_alloc",
        "__rustc[4425a7e20b4c8619]::__rdl_alloc",
        "<mimalloc::MiMalloc as core::alloc::global::GlobalAlloc>::alloc",
    };
    static const char *const others[] = {
        "a::zeroed",
        "a::rcs::{{closure}}",
        "<a::Cache as core::iter::traits::iterator::Iterator>::next",
        "<a::Cache as core::clone::Clone>::clone",
        "<&a::Cache as core::fmt::Display>::fmt",
        "<alloc::vec::Vec<u8> as a::Store>::keep",
        "<a::Cache>::fill",
        "<[a::Cell] as core::fmt::Debug>::fmt",
        "core::Engine::run(int)",
        "core::iter::next(Stream&)",
        "alloc::vec::grow(unsigned long)",
        "core::engine::run",
        "alloc::Pool::take",
        "hashbrowned::f",
        "<",
        "<a",
        "< as >::f",
        "",
    };
    for (size_t i = 0; i < sizeof library / sizeof *library; i++)
        if (!is_std(library[i]))
            fail_msg("%s is not taken for the library's", library[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_std(others[i]))
            fail_msg("%s is taken for the library's", others[i]);
    assert_true(rust_file_is_std("/rustc/59807616e1fa/library/alloc/src/raw_vec/mod.rs"));
    assert_true(rust_file_is_std("/root/.rustup/toolchains/stable/lib/rustlib/src/rust/library/"
                                 "core/src/ops/function.rs"));
    assert_true(rust_file_is_std("/rust/deps/hashbrown-0.16.1/src/raw/mod.rs"));
    assert_false(rust_file_is_std("/home/me/library/src/main.rs"));
    assert_true(is_allocator("__rust_alloc"));
    assert_true(is_allocator("__rg_realloc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bare),     cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_is),       cmocka_unit_test(test_shorten),
        cmocka_unit_test(test_patterns), cmocka_unit_test(test_renames),
        cmocka_unit_test(test_rust),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
