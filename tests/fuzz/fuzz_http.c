/* Any bytes as the head of a request to tidemark view --serve. */
#include "fuzz.h"

#include "view/http.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static void must_be_within(struct http_text t, const uint8_t *data, size_t size)
{
    const char *start = (const char *)data;
    fuzz_must(!t.at || (t.at >= start && t.at + t.size <= start + size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_request r;
    int status = http_parse((const char *)data, size, &r);
    must_be_within(r.method, data, size);
    must_be_within(r.path, data, size);
    must_be_within(r.token, data, size);
    must_be_within(r.host, data, size);
    must_be_within(r.origin, data, size);
    fuzz_must(status == 0 || status == 1 || (status >= 400 && status < 500));
    if (status == 1) {
        fuzz_must(r.head <= size && r.body <= HTTP_BODY_MOST);
        /* Nobody gets in who does not know the token. */
        fuzz_must(http_refused(&r, TOKEN) != 0 || memmem(data, size, TOKEN, strlen(TOKEN)));
    }
    return 0;
}

void fuzz_seeds(const char *folder)
{
    static const char *const texts[] = {
        "GET /?token=" TOKEN " HTTP/1.1\r\nHost: localhost:80\r\n\r\n",
        "POST /ask?token=" TOKEN " HTTP/1.1\r\nHost: [::1]:1\r\nOrigin: http://[::1]:1\r\n"
        "Content-Length: 3\r\n\r\nabc"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        fuzz_save(folder, (const char[]){(char)('a' + i), '\0'}, texts[i], strlen(texts[i]));
}
