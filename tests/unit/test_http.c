#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/strbuf.h"
#include "view/http.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static int parse(const char *text, struct http_request *out)
{
    return http_parse(text, strlen(text), out);
}

static void test_request(void **state)
{
    (void)state;
    struct http_request r;
    static const char text[] = "POST /ask?a=1&token=" TOKEN "&b HTTP/1.1\r\nhost: localhost:80\r\n"
                               "ORIGIN:http://localhost:80 \r\nContent-Length: 17\r\n\r\nabc";
    assert_int_equal(parse(text, &r), 1);
    assert_true(http_is(r.method, "POST"));
    assert_true(http_is(r.path, "/ask"));
    assert_true(http_is(r.token, TOKEN));
    assert_true(http_is(r.host, "localhost:80"));
    assert_true(http_is(r.origin, "http://localhost:80"));
    assert_int_equal(r.body, 17);
    assert_int_equal(r.head, strlen(text) - 3);
    for (size_t size = 0; size < r.head; size++) { /* exact memory, for sanitizers */
        char *part = malloc(size ? size : 1);
        struct http_request cut;
        memcpy(part, text, size);
        assert_int_equal(http_parse(part, size, &cut), 0);
        free(part);
    }
}

static void test_nonsense(void **state)
{
    (void)state;
    struct http_request r;
    static const struct {
        const char *text;
        int status;
    } wrong[] = {
        {"\r\n\r\n", 400},
        {"GET\r\n\r\n", 400},
        {"GET /\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\n\r\n", 400},
        {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\nContent-Length:\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", 413},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(parse(wrong[i].text, &r), wrong[i].status);
    struct strbuf large = {0};
    strbuf_puts(&large, "GET / HTTP/1.1\r\nX: ");
    while (large.size < HTTP_HEAD_MOST)
        strbuf_putc(&large, 'x');
    assert_int_equal(http_parse(large.data, large.size, &r), 431);
    strbuf_release(&large);
}

static int refused(const char *host, const char *origin, const char *token)
{
    struct strbuf text = {0};
    struct http_request r;
    strbuf_printf(&text, "GET /%s%s HTTP/1.1\r\n", token ? "?token=" : "", token ? token : "");
    if (host)
        strbuf_printf(&text, "Host: %s\r\n", host);
    if (origin)
        strbuf_printf(&text, "Origin: %s\r\n", origin);
    strbuf_puts(&text, "\r\n");
    assert_int_equal(http_parse(text.data, text.size, &r), 1);
    int status = http_refused(&r, TOKEN);
    strbuf_release(&text);
    return status;
}

static void test_who_may_ask(void **state)
{
    (void)state;
    static const char *const hosts[] = {"localhost", "LOCALHOST:8000", "127.0.0.1:1",
                                        "[::1]:65535"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        assert_int_equal(refused(hosts[i], NULL, TOKEN), 0);
    assert_int_equal(refused("localhost:9", "http://localhost:9", TOKEN), 0);

    static const char *const others[] = {"evil.example",
                                         "localhost.evil.example",
                                         "127.0.0.1.evil:80",
                                         "localhost:x",
                                         "localhost:",
                                         "localhost:99999",
                                         "",
                                         "10.0.0.1"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(refused(others[i], NULL, TOKEN), 421);
    assert_int_equal(refused(NULL, NULL, TOKEN), 421);

    static const char *const origins[] = {"http://evil.example", "null",
                                          "https://localhost:9", "http://localhost:8",
                                          "http://localhost:99", ""};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        assert_int_equal(refused("localhost:9", origins[i], TOKEN), 403);

    assert_int_equal(refused("localhost", NULL, NULL), 403);
    assert_int_equal(refused("localhost", NULL, ""), 403);
    assert_int_equal(refused("localhost", NULL, TOKEN "0"), 403);
    assert_int_equal(refused("localhost", NULL, "0123456789abcdef0123456789abcdee"), 403);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_who_may_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
