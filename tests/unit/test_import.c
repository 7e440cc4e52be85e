/* The rules of importers (src/import): which format bytes have, what each line means, what is damage, what is not
 * known; and the limits on memory. */
#include "unit.h"

#include <errno.h>

#include "import/import.h"
#include "store/reader.h"

/* Imports a text; NULL: it is refused with a sentence that has `refusal` in it. */
static struct recording *imported(const char *format, const char *text, size_t size,
                                  enum import_metric metric, const char *refusal)
{
    struct import_request request = {.path = "file", .metric = metric};
    struct strbuf bytes = {0};
    struct recording *r = NULL;
    struct input in;
    struct err err = {{0}};
    assert_int_equal(input_of_bytes(&in, text, size, "file", &err), 0);
    int code = import_take(&request, &in, import_format_named(format), &bytes, &err);
    input_release(&in);
    if (refusal) {
        if (!code || !strstr(err.text, refusal) || strchr(err.text, '\n'))
            fail_msg("%d '%s' should say '%s' in one line", code, err.text, refusal);
    } else {
        if (code)
            fail_msg("%s", err.text);
        assert_int_equal(recording_parse(bytes.data, bytes.size, "x.tide", &r, &err), 0);
        assert_true(r->complete);
    }
    strbuf_release(&bytes);
    return r;
}

#define IMPORTED(format, text)         imported(format, text, strlen(text), IMPORT_SAMPLES, NULL)
#define REFUSED(format, text, refusal) imported(format, text, strlen(text), IMPORT_SAMPLES, refusal)

static const struct import_format *guessed(const char *text, size_t size)
{
    for (size_t i = 0; i < IMPORT_FORMATS; i++)
        if (import_formats[i].is(text, size))
            return &import_formats[i];
    return NULL;
}

static void test_formats_are_known_by_content(void **state)
{
    static const struct {
        const char *name, *text;
    } cases[] = {{"heaptrack", "v 10400 3\nX a\n"},
                 {"massif", "desc: x\ncmd: a\ntime_unit: i\n"},
                 {"dhat", "{\"dhatFileVersion\":2,\"mode\":\"heap\"}"},
                 {"folded", "main;f 10\n"},
                 {"perf", "app 1/1 [000] 1.000001: 250000 cpu-clock:\n\t 55d0 f (app)\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct import_format *f = guessed(cases[i].text, strlen(cases[i].text));
        assert_non_null(f);
        assert_string_equal(f->name, cases[i].name);
    }
    assert_null(guessed("\x7f"
                        "ELF\1\1\1",
                        7));
    assert_null(import_format_named("xml"));
}

static void test_numbers(void **state)
{
    uint64_t n;
    const char *at = "18446744073709551615 rest";
    (void)state;
    assert_true(import_number(&at, &n));
    assert_true(n == UINT64_MAX);
    assert_string_equal(at, " rest");
    at = "18446744073709551616";
    assert_false(import_number(&at, &n));
    at = "x";
    assert_false(import_number(&at, &n));
    at = "-1";
    assert_false(import_number(&at, &n));
    at = "ffffffffffffffff,";
    assert_true(import_hex(&at, &n));
    assert_true(n == UINT64_MAX);
    assert_string_equal(at, ",");
    at = "10000000000000000";
    assert_false(import_hex(&at, &n));
}

#define HEAPTRACK                                                                                  \
    "v 10400 3\nX ./app\nI 1000 100\ns 4 main\ns 1 f\ns 3 a.c\ns 8 /bin/app\ni 1000 4 1 3 a\n"     \
    "i 2000 4 2 3 14\nt 1 0\nt 2 1\na 10 2\na 1000 2\n"

/* Blocks of 16 and 4096 bytes: what is live, the peak and temporary allocations. */
static void test_heaptrack(void **state)
{
    struct recording *r = IMPORTED("heaptrack", HEAPTRACK "+ 1\nc 64\n+ 0\n- 0\n- 1\n+ 0\nc 12c\n");
    const struct profile *p = r->profiles.items;
    uint64_t sums[COLUMNS] = {0};
    (void)state;
    for (size_t i = 0; i < p->rows.count; i++)
        for (int k = 0; k < COLUMNS; k++)
            sums[k] += p->rows.items[i].columns[k];
    assert_u64_equal(sums[COL_ALLOCS], 3);
    assert_u64_equal(sums[COL_BYTES], 4096 + 32);
    assert_u64_equal(sums[COL_FREES], 2);
    assert_u64_equal(sums[COL_TEMPS], 1); /* freed by the event that follows */
    assert_u64_equal(p->peak_bytes, 4096 + 16);
    assert_u64_equal(p->duration_ns, 300000000);
    assert_true(p->imported.unknown & UNKNOWN_THREADS);
    assert_false(p->imported.unknown & UNKNOWN_TIME);
    recording_free(r);
    REFUSED("heaptrack", HEAPTRACK "t 1 3\n", "refers to something that is missing");
    REFUSED("heaptrack", HEAPTRACK "+ 2\n", "refers to something that is missing");
    REFUSED("heaptrack", "+ 0\n", "begins with its version");
}

#define MASSIF                                                                                     \
    "desc: x\ncmd: ./app\ntime_unit: %s\n#---\nsnapshot=0\n#---\ntime=5\nmem_heap_B=%s\n"          \
    "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n%s"
#define TREE "n1: 300 (heap allocation functions) malloc\n n0: 300 0x10: f (a.c:3)\n"

static void massif(const char *unit, const char *bytes, const char *tree, const char *refusal,
                   uint32_t unknown)
{
    char text[1000];
    snprintf(text, sizeof text, MASSIF, unit, bytes, tree);
    struct recording *r = imported("massif", text, strlen(text), IMPORT_SAMPLES, refusal);
    if (!r)
        return;
    assert_u64_equal(r->profiles.items[0].peak_bytes, 300);
    assert_u64_equal(r->profiles.items[0].imported.unknown & UNKNOWN_TIME, unknown);
    assert_true(r->profiles.items[0].imported.unknown & UNKNOWN_COUNTS);
    recording_free(r);
}

/* Times are known if they are milliseconds; a tree has as many children as it says. */
static void test_massif(void **state)
{
    (void)state;
    massif("ms", "300", TREE, NULL, 0);
    massif("i", "300", TREE, NULL, UNKNOWN_TIME);
    massif("i", "300", "n2: 300 (heap allocation functions) malloc\n n0: 300 0x1: f (a.c:3)\n",
           "ends in the middle", 0);
    massif("i", "99999999999999999999999", TREE, "too large", 0);
}

#define DHAT                                                                                       \
    "{\"dhatFileVersion\":2,\"mode\":\"%s\",\"verb\":\"Allocated\",\"bklt\":%s,\"bkacc\":false,"   \
    "\"tu\":\"%s\",\"Mtu\":\"M\",\"tuth\":1,\"cmd\":\"./"                                          \
    "a\",\"pid\":3,\"te\":9,\"tg\":4,\"pps\":[{"                                                   \
    "\"tb\":50,\"tbk\":5,%s\"fs\":[%d]}],\"ftbl\":[\"[root]\",\"0x1: f (a.c:1)\"]}"
#define LIVES "\"tl\":1,\"mb\":10,\"mbk\":1,\"gb\":10,\"gbk\":1,\"eb\":10,\"ebk\":1,"

static struct recording *dhat(const char *mode, bool lives, const char *unit, int frame,
                              const char *refusal)
{
    char text[1000];
    snprintf(text, sizeof text, DHAT, mode, lives ? "true" : "false", unit, lives ? LIVES : "",
             frame);
    return imported("dhat", text, strlen(text), IMPORT_SAMPLES, refusal);
}

static void test_dhat(void **state)
{
    struct recording *r = dhat("heap", true, "instrs", 1, NULL);
    const struct profile *p = r->profiles.items;
    (void)state;
    assert_u64_equal(p->peak_bytes, 10);
    assert_u64_equal(p->pid, 3);
    assert_true(p->imported.unknown & UNKNOWN_TIME);
    recording_free(r);
    r = dhat("heap", false, "instrs", 1, NULL); /* --mode=ad-hoc aside, files without lifetimes */
    assert_true(r->profiles.items[0].imported.unknown & UNKNOWN_LIVE);
    recording_free(r);
    dhat("heap", true, "instrs", 2, "a stack has frame 2 of 2");
    dhat("copy", true, "instrs", 1, "mode 'copy'");
}

/* The number is what was asked for, and nothing else is known. */
static void test_folded(void **state)
{
    static const char text[] = "main;f 10\nmain 5\n# x\n\n";
    struct recording *r = imported("folded", text, sizeof text - 1, IMPORT_PEAK, NULL);
    const struct profile *p = r->profiles.items;
    (void)state;
    assert_u64_equal(p->peak_bytes, 15);
    assert_u64_equal(p->nodes.count, 3);
    assert_u64_equal(p->imported.unknown & (UNKNOWN_PEAK | UNKNOWN_LIVE | UNKNOWN_TOTALS),
                     UNKNOWN_LIVE | UNKNOWN_TOTALS);
    recording_free(r);
    REFUSED("folded", "main;f\n", "does not end in a number");
    REFUSED("folded", "main;f 1\nmain;\0x 2\n", "");
}

/* Cut at any place: a sentence, or what is complete up to there; never more memory than the file explains. */
static void test_cut_anywhere(void **state)
{
    static const char text[] = HEAPTRACK "+ 1\nc 64\n+ 0\n- 1\nc 12c\n";
    (void)state;
    for (size_t size = 1; size < sizeof text; size++) {
        struct import_request request = {.path = "file"};
        struct strbuf bytes = {0};
        struct input in;
        struct err err = {{0}};
        assert_int_equal(input_of_bytes(&in, text, size, "file", &err), 0);
        int code = import_take(&request, &in, import_format_named("heaptrack"), &bytes, &err);
        assert_true(code <= 0 && (!code || *err.text));
        input_release(&in);
        strbuf_release(&bytes);
    }
}

static void test_limit(void **state)
{
    struct recording *r = recording_new();
    struct input in = {.name = "file", .taken = 10};
    struct import m = {.in = &in, .recording = r, .profile = vec_push(&r->profiles)};
    struct err err = {{0}};
    (void)state;
    *m.profile = (struct profile){0};
    assert_int_equal(import_check(&m, 1 << 20, &err), 0);
    assert_true(import_check(&m, IMPORT_FREE + 10 * IMPORT_RATIO + (1 << 20), &err) < 0);
    in.taken = 1 << 20; /* a larger file may ask for more */
    assert_int_equal(import_check(&m, IMPORT_FREE + 10 * IMPORT_RATIO + (1 << 20), &err), 0);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats_are_known_by_content),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_heaptrack),
        cmocka_unit_test(test_massif),
        cmocka_unit_test(test_dhat),
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
