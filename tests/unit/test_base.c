/* strbuf and its varints, vec, map and strpool, json, err. */
#include "unit.h"

#include <math.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/rows.h"

/* --- waiting ---------------------------------------------------------------------------------- */

static void test_patience(void **state)
{
    (void)state;
    struct patience p = {0};
    uint64_t now = 5000;
    assert_u64_equal(patience_waited(&p, now), 0);
    assert_u64_equal(patience_waited(&p, now += 50000), 50000);
    /* A process that was frozen for a minute has not waited for a minute. */
    assert_u64_equal(patience_waited(&p, now += UINT64_C(60000000000)), 50000 + PATIENCE_TURN_NS);
    assert_u64_equal(patience_waited(&p, now += 1), 50001 + PATIENCE_TURN_NS);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void test_zigzag(void **state)
{
    (void)state;
    static const struct {
        int64_t plain;
        uint64_t folded;
    } pairs[] = {{0, 0},
                 {-1, 1},
                 {1, 2},
                 {-2, 3},
                 {63, 126},
                 {-64, 127},
                 {INT64_MAX, UINT64_MAX - 1},
                 {INT64_MIN, UINT64_MAX}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_u64_equal(zigzag(pairs[i].plain), pairs[i].folded);
        assert_u64_equal(unzigzag(pairs[i].folded), pairs[i].plain);
    }
    uint64_t seed = 7;
    for (int i = 0; i < 10000; i++) {
        int64_t v = (int64_t)(unit_random(&seed) >> i % 64);
        assert_u64_equal(unzigzag(zigzag(v)), v);
        assert_u64_equal(unzigzag(zigzag(-v)), -v);
    }
}

static void test_varint(void **state)
{
    (void)state;
    struct strbuf b = {0};
    for (unsigned bits = 0; bits <= 64; bits++) {
        uint64_t largest = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        for (unsigned less = 0; less < 2; less++) {
            uint64_t v = largest - (largest ? less : 0);
            strbuf_clear(&b);
            strbuf_varint(&b, v);
            unsigned width = v ? 64 - (unsigned)__builtin_clzll(v) : 1;
            assert_int_equal(b.size, (width + 6) / 7);
            assert_int_equal(b.data[b.size], '\0');
            struct cursor c = {.at = (uint8_t *)b.data, .end = (uint8_t *)b.data + b.size};
            assert_u64_equal(cursor_varint(&c), v);
            assert_false(c.bad);
            assert_ptr_equal(c.at, c.end);
            if (b.size > 1) { /* cut short: damage, not a smaller number */
                c = (struct cursor){.at = (uint8_t *)b.data, .end = (uint8_t *)b.data + b.size - 1};
                assert_u64_equal(cursor_varint(&c), 0);
                assert_true(c.bad);
            }
        }
    }
    strbuf_clear(&b);
    strbuf_varint(&b, 300);
    assert_memory_equal(b.data, "\xac\x02", 2);
    strbuf_release(&b);
}

static void test_varint_that_never_ends(void **state)
{
    (void)state;
    uint8_t bytes[16];
    memset(bytes, 0xff, sizeof bytes);
    struct cursor c = {.at = bytes, .end = bytes + sizeof bytes};
    assert_u64_equal(cursor_varint(&c), 0);
    assert_true(c.bad);
    assert_ptr_equal(c.at, c.end);
    c = (struct cursor){.at = bytes, .end = bytes};
    assert_u64_equal(cursor_varint(&c), 0);
    assert_true(c.bad);
}

static void test_count_fits_what_is_left(void **state)
{
    (void)state;
    const uint8_t bytes[] = {4, 1, 1, 1, 1};
    struct cursor c = {.at = bytes, .end = bytes + 5};
    assert_u64_equal(cursor_count(&c, 1), 4);
    assert_false(c.bad);
    c = (struct cursor){.at = bytes, .end = bytes + 4};
    assert_u64_equal(cursor_count(&c, 1), 0);
    assert_true(c.bad);
    c = (struct cursor){.at = bytes, .end = bytes + 5};
    assert_u64_equal(cursor_count(&c, 2), 0);
    assert_true(c.bad);
    const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'x'};
    c = (struct cursor){.at = huge, .end = huge + sizeof huge};
    char *s = cursor_string(&c);
    assert_string_equal(s, "");
    assert_true(c.bad);
    free(s);
}

/* --- strbuf, vec ------------------------------------------------------------------------------ */

static void test_strbuf(void **state)
{
    (void)state;
    struct strbuf b = {0};
    strbuf_add(&b, NULL, 0);
    assert_string_equal(b.data, "");
    strbuf_puts(&b, "tide");
    strbuf_putc(&b, 'm');
    strbuf_add(&b, "arkXX", 3);
    assert_string_equal(b.data, "tidemark");
    assert_int_equal(b.size, 8);
    strbuf_printf(&b, "%s", "");
    assert_int_equal(b.size, 8);
    strbuf_printf(&b, " %d%%", 42);
    assert_string_equal(b.data, "tidemark 42%");
    strbuf_clear(&b);
    assert_string_equal(b.data, "");
    assert_int_equal(b.size, 0);

    /* Over every growth, by every way of adding. */
    for (int i = 0; i < 1000; i++) {
        strbuf_printf(&b, "%03d", i);
        assert_true(b.capacity > b.size);
        assert_int_equal(b.data[b.size], '\0');
    }
    assert_int_equal(b.size, 3000);
    assert_memory_equal(b.data + 2997, "999", 4);
    strbuf_add(&b, "a\0b", 3);
    assert_int_equal(b.size, 3003);
    assert_memory_equal(b.data + 3000, "a\0b", 4);

    char *text = strbuf_detach(&b);
    assert_null(b.data);
    assert_int_equal(b.size + b.capacity, 0);
    assert_memory_equal(text, "000001002", 9);
    free(text);
    text = strbuf_detach(&b);
    assert_string_equal(text, "");
    free(text);
    strbuf_release(&b);
    strbuf_release(&b);
}

static void test_vec(void **state)
{
    (void)state;
    VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 1000; i++)
        *vec_push(&v) = i * 3;
    assert_int_equal(v.count, 1000);
    assert_true(v.capacity >= 1000 && v.capacity < 2100);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(v.items[i], i * 3);
    assert_int_equal(*vec_last(&v), 2997);
    vec_release(&v);
    assert_null(v.items);
    vec_reserve(&v, 5);
    assert_int_equal(v.capacity, 16);
    vec_reserve(&v, 100);
    assert_int_equal(v.capacity, 100);
    assert_int_equal(v.count, 0);
    vec_release(&v);
}

static void test_err(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(err_set(&e, -5, "%s is %d", "it", 7), -5);
    assert_string_equal(e.text, "it is 7");
    assert_int_equal(err_set(NULL, -6, "nobody asked"), -6);
    char *large = xmalloc(2000);
    memset(large, 'x', 1999);
    large[1999] = '\0';
    err_set(&e, -1, "%s", large);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    free(large);
    char *s = xstrndup("abcdef", 3);
    assert_string_equal(s, "abc");
    free(s);
    s = xasprintf("%d-%s", 1, "b");
    assert_string_equal(s, "1-b");
    free(s);
    free(xmalloc(0));
    free(xcalloc(0, 8));
}

/* --- map, strpool ----------------------------------------------------------------------------- */

static void test_map(void **state)
{
    (void)state;
    struct map m = {0};
    assert_int_equal(map_get(&m, 0), MAP_NONE);
    assert_int_equal(map_get(&m, UINT64_MAX), MAP_NONE);
    *map_at(&m, 0) = 5; /* no key is special */
    *map_at(&m, UINT64_MAX) = 6;
    assert_int_equal(map_get(&m, 0), 5);
    assert_int_equal(map_get(&m, UINT64_MAX), 6);
    assert_int_equal(*map_at(&m, 0), 5);
    assert_int_equal(m.count, 2);
    assert_int_equal(*map_at(&m, 77), MAP_NONE);
    map_release(&m);
    assert_int_equal(map_get(&m, 0), MAP_NONE);
}

/* Keys that differ only in their low or only in their high bits, over many growths. */
static void test_map_growth(void **state)
{
    (void)state;
    struct map m = {0};
    const uint32_t n = 50000;
    for (uint32_t i = 0; i < n; i++) {
        *map_at(&m, i) = i;
        *map_at(&m, (uint64_t)(i + 1) << 44) = n + i;
        assert_true(m.count * 4 <= m.size * 3);
    }
    assert_int_equal(m.count, 2 * n);
    assert_int_equal(m.size & (m.size - 1), 0);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(map_get(&m, i), i);
        assert_int_equal(map_get(&m, (uint64_t)(i + 1) << 44), i + n);
        assert_int_equal(map_get(&m, (uint64_t)n + i), MAP_NONE);
    }
    for (uint32_t i = 0; i < n; i++)
        *map_at(&m, i) = 0;
    assert_int_equal(m.count, 2 * n);
    assert_int_equal(map_get(&m, 1), 0);
    map_release(&m);
}

static void test_strpool(void **state)
{
    (void)state;
    struct strpool p = {0};
    assert_string_equal(strpool_get(&p, 0), "");
    assert_string_equal(strpool_get(&p, 9), "");
    assert_int_equal(strpool_add(&p, "first"), 1); /* 0 is the empty string */
    assert_int_equal(strpool_add(&p, ""), 0);
    assert_int_equal(strpool_add(&p, "second"), 2);
    assert_int_equal(strpool_add(&p, "first"), 1);
    assert_int_equal(strpool_add_n(&p, "firstly", 5), 1);
    assert_int_equal(strpool_add_n(&p, "firstly", 7), 3);
    assert_int_equal(strpool_add_n(&p, "first", 4), 4);
    assert_string_equal(strpool_get(&p, 3), "firstly");
    assert_string_equal(strpool_get(&p, 4), "firs");
    assert_string_equal(strpool_get(&p, 5), "");
    assert_string_equal(strpool_get(&p, UINT32_MAX), "");
    assert_int_equal(p.strings.count, 5);
    char name[32];
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 20000; i++) {
            snprintf(name, sizeof name, "s%u", i);
            assert_int_equal(strpool_add(&p, name), 5 + i);
        }
    assert_int_equal(p.strings.count, 20005);
    assert_string_equal(strpool_get(&p, 20004), "s19999");
    strpool_release(&p);
    assert_int_equal(strpool_add(&p, ""), 0);
    assert_int_equal(strpool_add(&p, "again"), 1);
    strpool_release(&p);
}

/* A string with a NUL inside is its part before the NUL. ASan sees what it would read otherwise. */
static void test_strpool_nul_inside(void **state)
{
    (void)state;
    struct strpool p = {0};
    uint32_t number = strpool_add_n(&p, "a\0bcdefghijklmnopqrstuvwxyz", 27);
    assert_string_equal(strpool_get(&p, number), "a");
    assert_int_equal(strpool_add_n(&p, "a\0bcdefghijklmnopqrstuvwxyz", 27), number);
    assert_int_equal(strpool_add(&p, "a"), number);
    strpool_release(&p);
}

/* --- json ------------------------------------------------------------------------------------- */

static void check_string(const char *text, const char *wanted)
{
    struct strbuf b = {0};
    struct json j;
    json_init(&j, &b);
    json_array(&j, NULL);
    json_string(&j, NULL, text);
    json_end(&j);
    char *line = xasprintf("[\"%s\"]\n", wanted);
    assert_string_equal(b.data, line);
    free(line);
    strbuf_release(&b);
}

static void test_json_strings(void **state)
{
    (void)state;
    check_string("", "");
    check_string("a\"b\\c/", "a\\\"b\\\\c/");
    check_string("\n\t\x01\x1f\x7f", "\\u000a\\u0009\\u0001\\u001f\x7f");
    check_string("é", "é");
    check_string("€", "€");
    check_string("𝄞", "𝄞");
    check_string("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"); /* U+10FFFF */
    check_string("\xef\xbf\xbf", "\xef\xbf\xbf");
}

static void test_json_repairs_utf8(void **state)
{
    (void)state;
    check_string("\x80", "\\ufffd"); /* a continuation alone */
    check_string("a\xff"
                 "b",
                 "a\\ufffdb");
    check_string("\xc3", "\\ufffd"); /* cut at the end of the string */
    check_string("\xe2\x82", "\\ufffd\\ufffd");
    check_string("\xf0\x9d\x84", "\\ufffd\\ufffd\\ufffd");
    check_string("\xc3(", "\\ufffd(");          /* cut in the middle */
    check_string("\xc0\xaf", "\\ufffd\\ufffd"); /* overlong */
    check_string("\xc1\xbf", "\\ufffd\\ufffd");
    check_string("\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd");
    check_string("\xf0\x8f\xbf\xbf", "\\ufffd\\ufffd\\ufffd\\ufffd");
    check_string("\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd");            /* a surrogate */
    check_string("\xed\x9f\xbf", "\xed\x9f\xbf");                     /* the last before them */
    check_string("\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"); /* beyond U+10FFFF */
    check_string("\xf5\x80\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd");
}

static void test_text_cannot_drive_a_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } texts[] = {
        {"plain", "plain"},
        {"\033[31m", "?[31m"},
        {"a\177\tb", "a??b"},
        {"\xc2\x9b"
         "31m",
         "??31m"}, /* U+009B is ESC [ to terminals */
        {"\x9b"
         "31m",
         "?31m"},
        {"\xc3\xa4 \xe2\x96\x88 \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x96\x88 \xf0\x9f\x98\x80"},
        {"\xc3", "?"},
        {"\xff\xfe", "??"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct strbuf out = {0};
        unit_text(&out, texts[i].text);
        assert_string_equal(out.data, texts[i].shown);
        strbuf_release(&out);
    }
}

static void test_json_values(void **state)
{
    (void)state;
    struct strbuf b = {0};
    struct json j;
    json_init(&j, &b);
    json_object(&j, NULL);
    json_u64(&j, "u", UINT64_MAX);
    json_i64(&j, "i", INT64_MIN);
    json_double(&j, "d", 0.5);
    json_double(&j, "nan", NAN);
    json_double(&j, "inf", -INFINITY);
    json_bool(&j, "t", true);
    json_bool(&j, "f", false);
    json_null(&j, "n");
    json_string(&j, "s", NULL);
    json_array(&j, "\"k\"");
    json_end(&j);
    json_object(&j, "o");
    json_end(&j);
    json_array(&j, "a");
    json_object(&j, NULL);
    json_u64(&j, "x", 0);
    json_end(&j);
    json_array(&j, NULL);
    json_u64(&j, NULL, 1);
    json_u64(&j, NULL, 2);
    json_end(&j);
    json_bool(&j, NULL, false);
    json_end(&j);
    json_u64(&j, "last", 3);
    json_end(&j);
    assert_string_equal(b.data, "{\"u\":18446744073709551615,\"i\":-9223372036854775808,\"d\":0.5,"
                                "\"nan\":null,\"inf\":null,\"t\":true,\"f\":false,\"n\":null,"
                                "\"s\":null,\"\\\"k\\\"\":[],\"o\":{},"
                                "\"a\":[{\"x\":0},[1,2],false],\"last\":3}\n");
    strbuf_release(&b);
}

static void test_json_depth(void **state)
{
    (void)state;
    struct strbuf b = {0};
    struct json j;
    json_init(&j, &b);
    for (int i = 0; i < JSON_DEPTH - 1; i++)
        json_array(&j, NULL);
    for (int i = 0; i < JSON_DEPTH - 1; i++)
        json_end(&j);
    assert_int_equal(j.depth, 0);
    assert_int_equal(b.size, 2 * (JSON_DEPTH - 1) + 1);
    for (int i = 0; i < JSON_DEPTH - 1; i++) {
        assert_int_equal(b.data[i], '[');
        assert_int_equal(b.data[JSON_DEPTH - 1 + i], ']');
    }
    strbuf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zigzag),
        cmocka_unit_test(test_varint),
        cmocka_unit_test(test_varint_that_never_ends),
        cmocka_unit_test(test_count_fits_what_is_left),
        cmocka_unit_test(test_strbuf),
        cmocka_unit_test(test_vec),
        cmocka_unit_test(test_err),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_map_growth),
        cmocka_unit_test(test_strpool),
        cmocka_unit_test(test_strpool_nul_inside),
        cmocka_unit_test(test_json_strings),
        cmocka_unit_test(test_json_repairs_utf8),
        cmocka_unit_test(test_text_cannot_drive_a_terminal),
        cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_json_depth),
        cmocka_unit_test(test_patience),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
