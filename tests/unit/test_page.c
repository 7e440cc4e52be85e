#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "view/metric_limit.h"
#include "view/page.h"

static const char template[] = "<head>\n<!-- tidemark:policy sha256-HASH -->\n</head>"
                               "<!-- tidemark:data -->\n<script>x</script>";

/* Names and JSON cannot end the element that they are in. */
static void test_served(void **state)
{
    (void)state;
    struct page p = {.template = template,
                     .template_size = strlen(template),
                     .serve = true,
                     .files = 2,
                     .paths = {"/a/<script><b>&.tide", "/b/\"'.tide"},
                     .limits = "[\"<!--\"]"};
    struct strbuf out = {0};
    struct err err;
    assert_int_equal(page_make(&p, &out, &err), 0);
    assert_non_null(strstr(out.data, "<meta http-equiv=\"Content-Security-Policy\" "
                                     "content=\"default-src 'none'; script-src 'sha256-HASH' "));
    assert_non_null(strstr(out.data, "connect-src 'self'"));
    assert_non_null(strstr(out.data, "[\"\\u003cscript\\u003e\\u003cb\\u003e\\u0026.tide\""
                                     ",\"\\\"'.tide\"]"));
    assert_non_null(strstr(out.data, "[\"\\u003c!--\"]"));
    assert_non_null(strstr(out.data, "\n<script>x</script>"));
    assert_null(strstr(out.data, "tidemark:"));
    strbuf_release(&out);
    p.serve = false;
    p.files = 0;
    assert_int_equal(page_make(&p, &out, &err), 0);
    assert_non_null(strstr(out.data, "connect-src 'none'"));
    strbuf_release(&out);
}

static void check_name(const struct page *p, size_t which, const char *want)
{
    char *name = page_name(p, which);
    assert_string_equal(name, want);
    free(name);
}

static void test_names(void **state)
{
    (void)state;
    struct page p = {.files = 2, .paths = {"/x/a.tide", "y/b.tide"}};
    check_name(&p, 0, "a.tide");
    check_name(&p, 1, "b.tide");
    p.paths[1] = "y/a.tide";
    check_name(&p, 0, "/x/a.tide");
    check_name(&p, 1, "y/a.tide");
    p.paths[0] = "/x/-o.tide"; /* not an option */
    check_name(&p, 0, "./-o.tide");
    p.paths[0] = "caf\xe9.tide"; /* not UTF-8, which a page cannot hold */
    check_name(&p, 0, "caf\xef\xbf\xbd.tide");
}

static void test_no_viewer(void **state)
{
    (void)state;
    struct page p = {.template = "", .files = 1, .paths = {"a.tide"}};
    struct strbuf out = {0};
    struct err err;
    assert_true(page_make(&p, &out, &err) < 0);
    assert_non_null(strstr(err.text, "without the viewer"));
    strbuf_release(&out);
}

static void test_limits(void **state)
{
    (void)state;
    struct limit l;
    struct err err;
    assert_int_equal(limit_parse(&l, "peak +5 %", &err), 0);
    assert_true(l.metric == METRIC_PEAK && l.more && l.percent == 5 && l.amount == 0);
    assert_int_equal(limit_parse(&l, "live+64KiB", &err), 0);
    assert_true(l.metric == METRIC_LIVE && l.more && l.percent == 0 && l.amount == 65536);
    assert_int_equal(limit_parse(&l, "temporary 1.5 MB", &err), 0);
    assert_true(l.metric == METRIC_TEMPORARY && !l.more && l.amount == 1500000);
    assert_int_equal(limit_parse(&l, "cpu 1.5s", &err), 0);
    assert_true(l.metric == METRIC_CPU && !l.more && l.amount == 1500000000);
    static const char *const wrong[] = {"",         "peak",      "peak +",    "peak 5 %",
                                        "peak 5s",  "cpu 5 MiB", "peak -5 %", "peek +1",
                                        "peak +x%", "peak ++1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_true(limit_parse(&l, wrong[i], &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_served),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_viewer),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
