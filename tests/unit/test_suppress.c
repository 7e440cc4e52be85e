/* Suppression files: what is read, what is refused, and which stacks they mean. Presets. */
#include "test_model_fixture.h"

#include "model/suppress_presets.h"
#include "model/suppress_match.h"

#define STACK(...)                                                                                 \
    (const struct sym[])                                                                           \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* A recording of one block of 8 bytes with this stack, innermost first. */
static struct recording *of_stack(const struct sym *stack)
{
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "./app");
    uint32_t node = 0, count = 0;
    fx_thread(p, 1, "main");
    while (stack[count].function)
        count++;
    for (uint32_t i = count; i-- > 0;) {
        fx_symbols(r, p, 0x100 * (i + 1), 1, &stack[i]);
        node = fx_node(p, node, 0x100 * (i + 1));
        *vec_push(&p->modules) = (struct module){.path = xstrdup(stack[i].module)};
    }
    fx_site(p, node, 0, DOMAIN_HEAP);
    fx_interval(p, SECOND, 8);
    fx_row(p, 0, 8, 1, 0, 0);
    return r;
}

/* Is the stack left out by these suppressions (or by presets, without any)? */
static bool leaves_out(const struct sym *stack, const char *text, unsigned leak_kinds)
{
    struct recording *r = of_stack(stack);
    struct query q = {.top = QUERY_ALL, .filter.leak_kinds = leak_kinds, .filter.presets = !text};
    struct err err = {{0}};
    struct answer a;
    if (text && suppressions_parse(&q.filter.suppress, text, strlen(text), "x.supp", &err))
        fail_msg("%s", err.text);
    fx_answer(&a, r, &q);
    bool out = a.tree.ignored.amount == 8;
    assert_int_equal(a.tree.sum.amount, out ? 0 : 8);
    assert_int_equal(a.tree.ignored_by[text ? IGNORED_SUPPRESSION : IGNORED_PRESET].count, out);
    if (text && out) {
        assert_int_equal(a.tree.suppressed.count, 1);
        assert_int_equal(a.tree.suppressed.items[0].value.amount, 8);
    }
    answer_release(&a);
    query_release(&q);
    recording_free(r);
    return out;
}

static const struct sym usual[] = {
    {"operator new(unsigned long)", "/usr/lib/libstdc++.so.6", NULL, 0, 0},
    {"void app::Store<int>::add(int)", "/opt/app/libstore.so.2", "/src/store/add.cc", 30, 0},
    {"app::run(char const*)", "/opt/app/app", "/src/app.cc", 20, FRAME_INLINED},
    {"main", "/opt/app/app", "/src/app.cc", 10, 0},
    {0}};

static void test_sanitizer(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        bool matches;
    } cases[] = {
        {"leak:add", true},
        {"leak:main", true},
        {"leak:Store<int>::add", true},
        {"leak:libstore.so", true},
        {"leak:/opt/app/*", true},
        {"leak:src/store/", true},
        {"leak:^main$", true},
        {"leak:^mai$", false},
        {"leak:^ain", false},
        {"leak:ain$", true},
        {"leak:mai$", false},
        {"leak:^app::run*const", true},
        {"leak:run*main", false},
        {"leak:m?in", false},
        {"leak:*", true},
        {"leak:operator new", false}, /* the allocation itself is in every stack */
        {"  leak:main\r\n", true},
        {"# leak:main", false},
        {"race:main\nsigned-integer:x", false},
        {"leak:nothing\n\n\t\nleak:app.cc", true},
        {"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (leaves_out(usual, cases[i].pattern, 0) != cases[i].matches)
            fail_msg("'%s' should %smatch", cases[i].pattern, cases[i].matches ? "" : "not ");
}

static bool valgrind(const char *places, unsigned kinds)
{
    char *text = xasprintf("{\n  a name\n  Memcheck:Leak\n%s\n}\n", places);
    bool out = leaves_out(usual, text, kinds);
    free(text);
    return out;
}

static void test_valgrind(void **state)
{
    (void)state;
    static const struct {
        const char *places;
        bool matches;
    } cases[] = {
        {"fun:malloc", true}, /* all that malloc hands out */
        {"fun:*", true},
        {"fun:m*c\nfun:*add*", true},
        {"fun:_Znwm\nfun:_ZN3app5StoreIiE3addEi\nfun:_ZN3app3runEPKc\nfun:main", true},
        {"fun:malloc\nfun:main", false}, /* not the caller */
        {"fun:malloc\n...\nfun:main", true},
        {"...\nfun:main", true},
        {"...\nfun:malloc\nfun:*add*", true}, /* "..." may be no frame */
        {"...\nfun:_ZN3app3run*\n...\nfun:main", true},
        {"...\nfun:main\n...\nfun:_ZN3app3run*", false}, /* the other way round */
        {"fun:add", false},                              /* the first is never a caller */
        {"fun:malloc\nobj:*/libstore.so*\nobj:/opt/app/app", true},
        {"fun:malloc\nobj:/opt/app/app", false},
        {"obj:*vgpreload*\nobj:*libstore*", true},
        {"fun:malloc\nsrc:add.cc:30", true},
        {"fun:malloc\nsrc:add.cc:31", false},
        {"fun:malloc\nsrc:*/add.cc", true},
        {"fun:malloc\nfun:*a?d*", true},
        {"fun:malloc\nfun:_ZN3app5Store*", true},
        {"fun:malloc\nfun:_ZN3app5St*", true},
        {"fun:malloc\nfun:_ZN3app5Other3addEi", false},
        {"...\nfun:_ZN3app3runEi", true}, /* arguments are not compared */
        {"...\nfun:_ZN3app4run2Ei", false},
        {"...\nfun:_Z4mainv", true},
        {"fun:malloc\n...\nfun:main\nfun:_start", false}, /* longer than the stack */
        {"fun:malloc\n...\nfun:main\n...", true},
        {"fun:memalign\nfun:posix_memalign\nfun:*add*", true}, /* one calls the other */
        {"fun:realloc\nfun:*add*", false},                     /* that is known */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (valgrind(cases[i].places, 0) != cases[i].matches)
            fail_msg("%s\nshould %smatch", cases[i].places, cases[i].matches ? "" : "not ");
}

static void test_leak_kinds(void **state)
{
    (void)state;
    const char *some = "match-leak-kinds: definite, possible\nfun:malloc";
    assert_true(valgrind(some, LEAK_DEFINITE));
    assert_true(valgrind(some, LEAK_POSSIBLE));
    assert_false(valgrind(some, LEAK_INDIRECT));
    assert_false(valgrind(some, LEAK_REACHABLE));
    assert_true(valgrind(some, LEAK_DEFINITE | LEAK_REACHABLE));
    assert_true(valgrind(some, 0)); /* not asked about leaks */
    assert_true(valgrind("match-leak-kinds:all\nfun:malloc", LEAK_REACHABLE));
    assert_false(valgrind("match-leak-kinds:none\nfun:malloc", LEAK_REACHABLE));
    assert_true(valgrind("fun:malloc", LEAK_REACHABLE));
    assert_true(leaves_out(usual, "leak:main", LEAK_INDIRECT));
}

/* Other tools and other errors are none of our business, but what follows them is. */
static void test_other_kinds(void **state)
{
    (void)state;
    assert_false(leaves_out(usual, "{\n x\n Memcheck:Cond\n fun:main\n}\n", 0));
    assert_false(leaves_out(usual, "{\n x\n Helgrind:Leak\n fun:malloc\n}\n", 0));
    assert_false(leaves_out(usual, "{\n x\n Memcheck:Param\n write(buf)\n fun:malloc\n}\n", 0));
    assert_true(leaves_out(usual, "{\n x\n Helgrind,Memcheck:Leak\n fun:malloc\n}\n", 0));
    assert_true(leaves_out(usual,
                           "{\n x\n Memcheck:Cond\n fun:f\n}\n# both\n{\n y\n Memcheck:Leak\n"
                           "fun:malloc\n}\nleak:nobody\n",
                           0));
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"main\n", "x.supp:1: 'main' is neither 'leak:PATTERN'"},
        {"# a\n\nleak:\n", "x.supp:3: nothing follows 'leak:'"},
        {"leak:^$", "x.supp:1: nothing follows 'leak:'"},
        {"{\n", "x.supp:1: the suppression that begins at line 1 has no name"},
        {"{\n}\n", "x.supp:2: the suppression that begins at line 1 has no name"},
        {"{\nname\n}\n", "x.supp:3: a line such as Memcheck:Leak must follow"},
        {"{\nname\nMemcheck\n}\n", "x.supp:3: a line such as Memcheck:Leak must follow"},
        {"{\nname\nMemcheck:Leak\nfun:f\n",
         "x.supp:4: the suppression that begins at line 1 has no"},
        {"{\nname\nMemcheck:Leak\n}\n",
         "x.supp:4: the suppression that begins at line 1 has no fun:"},
        {"{\nname\nMemcheck:Leak\n...\n}\n", "x.supp:5: the suppression that begins at line 1 has "
                                             "nothing but '...'"},
        {"{\nname\nMemcheck:Leak\nfunction:f\n}\n", "x.supp:4: 'function:f' is none of fun:NAME"},
        {"{\nname\nMemcheck:Leak\nfun:\n}\n", "x.supp:4: 'fun:' is none of"},
        {"{\nname\nMemcheck:Leak\nmatch-leak-kinds: lost\nfun:f\n}\n",
         "x.supp:4: 'lost' is no kind"},
        {"{\nname\nMemcheck:Leak\nfun:f\nmatch-leak-kinds: all\n}\n",
         "x.supp:5: 'match-leak-kinds"},
        {"leak:a\n}\n", "x.supp:2: '}' is neither"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct suppressions s = {0};
        struct err err = {{0}};
        int code = suppressions_parse(&s, cases[i].text, strlen(cases[i].text), "x.supp", &err);
        if (code != -EINVAL || strncmp(err.text, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("%d '%s' for:\n%s", code, err.text, cases[i].text);
        suppressions_release(&s);
    }
    struct suppressions s = {0};
    struct err err = {{0}};
    assert_int_equal(suppressions_parse(&s, "leak:a\0b", 8, "x.supp", &err), -EINVAL);
    assert_string_equal(err.text, "x.supp is not a text, so no suppression file");
    assert_int_equal(suppressions_read(&s, "/nonexistent/x", NULL, &err), -EINVAL);
    assert_int_equal(suppressions_read(&s, "/", NULL, &err), -EINVAL);
    suppressions_release(&s);
}

static void test_glob(void **state)
{
    (void)state;
    static const struct {
        const char *glob, *text;
        bool question, matches;
    } cases[] = {
        {"", "", true, true},
        {"", "a", true, false},
        {"*", "", true, true},
        {"a*b", "ab", true, true},
        {"a*b", "axxb", true, true},
        {"a*b", "axxbc", true, false},
        {"*ab*cd", "ababcdcd", true, true},
        {"a?c", "abc", true, true},
        {"a?c", "ac", true, false},
        {"a?c", "abc", false, false},
        {"a?c", "a?c", false, true},
        {"**a**", "bab", true, true},
        {"foo", "foofoo", true, false},
        {"*foo", "foofoo", true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (glob_match(cases[i].glob, cases[i].text, cases[i].question) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].glob, cases[i].text);
}

#define APP "/opt/app/app"
#define LD  "/lib64/ld-linux-x86-64.so.2"
#define C   "/lib/x86_64-linux-gnu/libc.so.6"
#define CXX "/lib/x86_64-linux-gnu/libstdc++.so.6"

static void expect_preset(const struct sym *stack, bool hidden)
{
    if (leaves_out(stack, NULL, 0) != hidden)
        fail_msg("%s in %s should %sbe hidden", stack[0].function, stack[0].module,
                 hidden ? "" : "not ");
}

static void test_presets_hide(void **state)
{
    (void)state;
    expect_preset(STACK({"_dl_new_object", LD}, {"_dl_open", LD}, {"dlopen", C}, {"main", APP}),
                  true);
    expect_preset(
        STACK({"allocate_dtv", LD}, {"_dl_allocate_tls", LD}, {"pthread_create", C}, {"main", APP}),
        true);
    expect_preset(STACK({"(anonymous namespace)::pool::pool()", CXX},
                        {"_GLOBAL__sub_I_eh_alloc.cc", CXX}, {"call_init", LD}),
                  true);
    expect_preset(STACK({"libstdc++.so.6+0xa57b9", CXX}, {"call_init", LD}, {"_dl_init", LD}),
                  true);
    expect_preset(STACK({"strdup", C}, {"setlocale", C}, {"main", APP}), true);
    expect_preset(
        STACK({"_IO_file_doallocate", C}, {"_IO_doallocbuf", C}, {"puts", C}, {"main", APP}), true);
    expect_preset(STACK({"getpwnam", C}, {"main", APP}), true);
    expect_preset(STACK({"PyType_Ready", "/usr/bin/python3.11"}, {"main", "/usr/bin/python3.11"}),
                  true);
    expect_preset(STACK({"std::string::_M_create(unsigned long)", CXX},
                        {"TCling::TCling(char const*)", "/root/lib/libCling.so.6.28"},
                        {"main", APP}),
                  true);
    expect_preset(STACK({"g_malloc", "/l/libglib-2.0.so.0"},
                        {"g_type_register_static", "/l/libgobject-2.0.so.0"}, {"main", APP}),
                  true);
    expect_preset(STACK({"CRYPTO_zalloc", "/l/libcrypto.so.3"}, {"pthread_once", C},
                        {"OPENSSL_init_crypto", "/l/libcrypto.so.3"}, {"main", APP}),
                  true);
    expect_preset(STACK({"llvm::cl::opt", "/l/libLLVM-14.so.1"}, {"call_init", LD}), true);
    expect_preset(STACK({"FcStrCopy", "/l/libfontconfig.so.1"}, {"FcInit", "/l/libfontconfig.so.1"},
                        {"main", APP}),
                  true);
}

/* The user's own, though it happens below them or looks like them. */
static void test_presets_are_narrow(void **state)
{
    (void)state;
    expect_preset(STACK({"Early::Early()", APP}, {"call_init", LD}, {"_dl_init", LD}), false);
    expect_preset(STACK({"plugin_init", "/opt/plugin.so"}, {"call_init", LD}, {"_dl_open", LD},
                        {"dlopen", C}),
                  false);
    expect_preset(STACK({"std::string::_M_create(unsigned long)", CXX}, {"Early::Early()", APP},
                        {"call_init", LD}),
                  false);
    expect_preset(STACK({"std::string::_M_create(unsigned long)", CXX}, {"main", APP}), false);
    expect_preset(STACK({"__cxa_allocate_exception", CXX}, {"main", APP}), false);
    expect_preset(STACK({"strdup", C}, {"main", APP}), false);
    expect_preset(STACK({"__fopen_internal", C}, {"fopen", C}, {"main", APP}), false);
    expect_preset(
        STACK({"_IO_file_doallocate", C}, {"_IO_doallocbuf", C}, {"fputs", C}, {"main", APP}),
        false);
    expect_preset(STACK({"getline", C}, {"main", APP}), false);
    expect_preset(STACK({"setlocale", APP}, {"main", APP}), false);
    expect_preset(STACK({"getpwnam", APP}, {"main", APP}), false);
    expect_preset(STACK({"comparator", APP}, {"qsort", C}, {"setlocale", C}), false);
    expect_preset(STACK({"user_type_init", "/m/ext.so"}, {"PyType_Ready", "/usr/bin/python3.11"}),
                  false);
    expect_preset(STACK({"PyList_New", "/usr/bin/python3.11"}, {"main", "/usr/bin/python3.11"}),
                  false);
    expect_preset(STACK({"user_class_init", APP}, {"g_type_class_ref", "/l/libgobject-2.0.so.0"}),
                  false);
    expect_preset(STACK({"main", APP}), false);
}

/* Does this row of places match this row of frames? By definition, one frame after the other. */
static bool matches_plainly(const struct place *places, uint32_t count, const struct sym *stack,
                            const uint32_t *frames, size_t depth)
{
    if (!count)
        return true;
    struct place_subject subject = {0};
    if (depth)
        subject = (struct place_subject){.function = stack[*frames].function,
                                         .object = stack[*frames].module};
    if (places->kind == PLACE_ANY_NUMBER)
        return matches_plainly(places + 1, count - 1, stack, frames, depth) ||
               (depth && place_passes(places, &subject) &&
                matches_plainly(places, count, stack, frames + 1, depth - 1));
    return depth && place_matches(places, &subject) &&
           matches_plainly(places + 1, count - 1, stack, frames + 1, depth - 1);
}

/* Thousands of stacks in one tree, some nodes with two frames: the sum of those that are hidden. */
static void test_presets_of_many_stacks(void **state)
{
    (void)state;
    static const struct sym pool[] = {{"strdup", C},
                                      {"setlocale", C},
                                      {"puts", C},
                                      {"_IO_doallocbuf", C},
                                      {"tzset", C},
                                      {"_IO_file_doallocate", C},
                                      {"getpwnam", C},
                                      {"_dl_open", LD},
                                      {"std::string::_M_create(unsigned long)", CXX},
                                      {"main", APP},
                                      {"malloc", C},
                                      {"operator new(unsigned long)", CXX},
                                      {"(anonymous namespace)::pool::pool()", CXX}};
    const uint32_t kinds = sizeof pool / sizeof *pool;
    enum { STACKS = 4000, DEEPEST = 12 };
    struct suppressions presets = {0};
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "./app");
    static const char *const paths[] = {C, LD, CXX, APP};
    static uint32_t frames[STACKS + 1][DEEPEST * 2]; /* of each node, innermost first */
    static uint32_t depths[STACKS + 1];
    uint64_t seed = 1, hidden = 0, sum = 0;
    presets_add(&presets);
    fx_thread(p, 1, "main");
    fx_interval(p, SECOND, 8);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        *vec_push(&p->modules) = (struct module){.path = xstrdup(paths[i])};
    for (uint32_t i = 1; i <= STACKS; i++) {
        uint32_t drawn[3];
        for (int k = 0; k < 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            drawn[k] = (uint32_t)(seed >> 33);
        }
        uint32_t parent = drawn[0] % i, first = drawn[1] % kinds, second = drawn[2] % (2 * kinds);
        if (depths[parent] > DEEPEST)
            parent = 0;
        const struct sym own[] = {pool[first], pool[second % kinds]};
        uint32_t count = second < kinds ? 2 : 1; /* the first of two is inlined */
        frames[i][0] = first;
        frames[i][count - 1] = count == 2 ? second : first;
        memcpy(frames[i] + count, frames[parent], depths[parent] * sizeof *frames[i]);
        depths[i] = depths[parent] + count;
        fx_symbols(r, p, 0x100 * i, (int)count, own);
        fx_row(p, fx_site(p, fx_node(p, parent, 0x100 * i), 0, DOMAIN_HEAP), i, 1, 0, 0);
        size_t skipped = 0; /* the allocation functions themselves */
        while (skipped < depths[i] && (frames[i][skipped] == 10 || frames[i][skipped] == 11))
            skipped++;
        bool any = false;
        for (size_t k = 0; k < presets.rules.count && !any; k++)
            any = matches_plainly(&presets.places.items[presets.rules.items[k].first],
                                  presets.rules.items[k].count, pool, frames[i] + skipped,
                                  depths[i] - skipped);
        sum += i;
        hidden += any ? i : 0;
    }
    struct query q = {.top = QUERY_ALL, .filter.presets = true};
    struct answer a;
    fx_answer(&a, r, &q);
    assert_true(hidden > sum / 10 && hidden < sum - sum / 10);
    assert_int_equal(a.tree.ignored.amount, hidden);
    assert_int_equal(a.tree.sum.amount, sum - hidden);
    answer_release(&a);
    query_release(&q);
    suppressions_release(&presets);
    recording_free(r);
}

static void test_preset_texts(void **state)
{
    (void)state;
    struct suppressions s = {0};
    bool used[PRESETS] = {false};
    presets_add(&s);
    for (size_t i = 0; i < s.rules.count; i++) {
        size_t numbers = 0;
        used[s.rules.items[i].preset] = true;
        for (uint32_t k = 0; k < s.rules.items[i].count; k++) {
            const struct place *p = &s.places.items[s.rules.items[i].first + k];
            assert_non_null(p->object); /* narrow: every place names its library */
            numbers += p->kind == PLACE_ANY_NUMBER;
        }
        assert_true(numbers <= 1);
    }
    for (int i = 0; i < PRESETS; i++)
        assert_true(used[i] && *preset_name((enum preset)i));
    suppressions_release(&s);
}

/* What the recording keeps holds unless it is refused; a --within of the question replaces one. */
static void test_recorded_defaults(void **state)
{
    (void)state;
    struct recording *r = fx_sample();
    *vec_push(&r->defaults) =
        (struct recorded_default){DEFAULT_WITHIN, xstrdup(""), xstrdup("main")};
    *vec_push(&r->defaults) =
        (struct recorded_default){DEFAULT_IGNORE, xstrdup(""), xstrdup("Store")};
    *vec_push(&r->defaults) =
        (struct recorded_default){DEFAULT_IGNORE, xstrdup(""), xstrdup("(a{99}){99}")};
    *vec_push(&r->defaults) = (struct recorded_default){DEFAULT_IGNORE, xstrdup(""), xstrdup("(")};
    *vec_push(&r->defaults) = (struct recorded_default){
        DEFAULT_SUPPRESSIONS, xstrdup("x.supp"),
        xstrdup("{\n recursion\n Memcheck:Leak\n fun:malloc\n fun:_Z5parsei\n fun:_Z5parsei\n}\n")};
    struct query q = {.metric = METRIC_TOTAL, .top = QUERY_ALL};
    struct answer a;
    fx_answer(&a, r, &q);
    assert_int_equal(a.tree.ignored.amount, 3000 + 100);
    assert_int_equal(a.tree.ignored.count, 3 + 10);
    assert_int_equal(a.tree.ignored_by[IGNORED_PATTERN].amount, 3000);
    assert_int_equal(a.tree.ignored_by[IGNORED_SUPPRESSION].amount, 100);
    assert_int_equal(a.tree.outside.amount, 6400); /* worker */
    assert_int_equal(a.tree.sum.amount, 1000);
    answer_release(&a);
    pattern_list_add(&q.filter.within, "worker", "--within", NULL);
    fx_answer(&a, r, &q);
    assert_int_equal(a.tree.sum.amount, 6400);
    answer_release(&a);
    query_release(&q);
    q = (struct query){.metric = METRIC_TOTAL, .top = QUERY_ALL, .filter.no_defaults = true};
    fx_answer(&a, r, &q);
    assert_int_equal(a.tree.sum.amount, 10500);
    assert_int_equal(a.tree.ignored.amount, 0);
    answer_release(&a);
    query_release(&q);
    recording_free(r);
}

static void test_harmless(void **state)
{
    (void)state;
    assert_true(pattern_is_harmless("^a{3,20}(b|c){7}$"));
    assert_true(pattern_is_harmless("operator\\{ {1,}"));
    assert_true(pattern_is_harmless("+a+b+c\\+\\{99999}"));
    assert_false(pattern_is_harmless("(a{40}){40}"));
    assert_false(pattern_is_harmless("a{1,99999999}"));
    assert_false(pattern_is_harmless("((((((((((a)+)+)+)+)+)+)+)+)+)+"));
    assert_false(pattern_is_harmless("(a)\\1"));
    char *longer = xmalloc(1002);
    memset(longer, 'a', 1001);
    longer[1001] = '\0';
    assert_false(pattern_is_harmless(longer));
    assert_true(pattern_is_harmless(longer + 1));
    free(longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sanitizer),    cmocka_unit_test(test_valgrind),
        cmocka_unit_test(test_leak_kinds),   cmocka_unit_test(test_other_kinds),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_glob),
        cmocka_unit_test(test_presets_hide), cmocka_unit_test(test_presets_are_narrow),
        cmocka_unit_test(test_preset_texts), cmocka_unit_test(test_recorded_defaults),
        cmocka_unit_test(test_harmless),     cmocka_unit_test(test_presets_of_many_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
