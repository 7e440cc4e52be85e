#include "view/http.h"

#include <string.h>
#include <strings.h>

bool http_is(struct http_text text, const char *word)
{
    return text.at && text.size == strlen(word) && memcmp(text.at, word, text.size) == 0;
}

/* The text up to a character, which is consumed too; false: the character is not there. */
static bool take(struct http_text *from, char end, struct http_text *out)
{
    const char *at = memchr(from->at, end, from->size);
    if (!at)
        return false;
    *out = (struct http_text){from->at, (size_t)(at - from->at)};
    from->size -= out->size + 1;
    from->at = at + 1;
    return true;
}

static struct http_text trimmed(struct http_text t)
{
    while (t.size && (*t.at == ' ' || *t.at == '\t'))
        t.at++, t.size--;
    while (t.size && (t.at[t.size - 1] == ' ' || t.at[t.size - 1] == '\t'))
        t.size--;
    return t;
}

static bool is_name(struct http_text t, const char *name)
{
    return t.size == strlen(name) && strncasecmp(t.at, name, t.size) == 0;
}

static bool take_number(struct http_text t, size_t *out)
{
    *out = 0;
    for (size_t i = 0; i < t.size; i++) {
        if (t.at[i] < '0' || t.at[i] > '9' || *out > HTTP_BODY_MOST)
            return false;
        *out = *out * 10 + (size_t)(t.at[i] - '0');
    }
    return t.size > 0;
}

/* METHOD PATH?token=TOKEN HTTP/1.x */
static bool take_line(struct http_text line, struct http_request *out)
{
    static const char word[] = "token=";
    struct http_text target, path;
    if (!take(&line, ' ', &out->method) || !take(&line, ' ', &target) || line.size != 8 ||
        memcmp(line.at, "HTTP/1.", 7) != 0)
        return false;
    if (!take(&target, '?', &path)) {
        out->path = target;
        return true;
    }
    out->path = path;
    while (target.at) {
        struct http_text pair = target;
        if (!take(&target, '&', &pair))
            target.at = NULL;
        if (pair.size >= strlen(word) && memcmp(pair.at, word, strlen(word)) == 0)
            out->token = (struct http_text){pair.at + strlen(word), pair.size - strlen(word)};
    }
    return true;
}

/* If a header occurs twice, a proxy and we may use different ones. */
static bool take_once(struct http_text *into, struct http_text value)
{
    bool first = !into->at;
    *into = value;
    return first;
}

int http_parse(const char *bytes, size_t size, struct http_request *out)
{
    *out = (struct http_request){0};
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);
    if (!end)
        return size >= HTTP_HEAD_MOST ? 431 : 0;
    out->head = (size_t)(end - bytes) + 4;
    if (out->head > HTTP_HEAD_MOST)
        return 431;
    struct http_text rest = {bytes, out->head - 2}, line, length = {0};
    for (bool first = true; rest.size && take(&rest, '\n', &line); first = false) {
        struct http_text name;
        if (!line.size || line.at[line.size - 1] != '\r')
            return 400;
        line.size--;
        if (first) {
            if (!take_line(line, out))
                return 400;
            continue;
        }
        if (!take(&line, ':', &name))
            return 400;
        line = trimmed(line);
        bool good = true;
        if (is_name(name, "host"))
            good = take_once(&out->host, line);
        else if (is_name(name, "origin"))
            good = take_once(&out->origin, line);
        else if (is_name(name, "content-length"))
            good = take_once(&length, line);
        else if (is_name(name, "transfer-encoding"))
            good = false;
        if (!good)
            return 400;
    }
    if (length.at && !take_number(length, &out->body))
        return 413;
    return out->body > HTTP_BODY_MOST ? 413 : 1;
}

/* Takes the same time wherever the first difference is. */
static bool is_token(struct http_text given, const char *token)
{
    unsigned difference = 0;
    if (!given.at || given.size != strlen(token))
        return false;
    for (size_t i = 0; i < given.size; i++)
        difference |= (unsigned char)given.at[i] ^ (unsigned char)token[i];
    return difference == 0;
}

/* Accepts any port: `ssh -L` may have changed it. */
static bool is_this_machine(struct http_text host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; host.at && i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (host.size < size || strncasecmp(host.at, names[i], size) != 0)
            continue;
        if (host.size == size)
            return true;
        struct http_text port = {host.at + size + 1, host.size - size - 1};
        size_t number;
        if (host.at[size] == ':' && take_number(port, &number) && number < 65536)
            return true;
    }
    return false;
}

int http_refused(const struct http_request *r, const char *token)
{
    static const char scheme[] = "http://";
    if (!is_this_machine(r->host))
        return 421;
    if (r->origin.at && (r->origin.size != strlen(scheme) + r->host.size ||
                         memcmp(r->origin.at, scheme, strlen(scheme)) != 0 ||
                         memcmp(r->origin.at + strlen(scheme), r->host.at, r->host.size) != 0))
        return 403;
    return is_token(r->token, token) ? 0 : 403;
}
