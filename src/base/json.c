#include "base/json.h"

#include <math.h>

#include "base/utf8.h"

void json_init(struct json *j, struct strbuf *out)
{
    *j = (struct json){.out = out};
}

static void json_quote(struct strbuf *out, const char *text)
{
    /* Unchanged characters begin here. */
    const unsigned char *s = (const unsigned char *)text, *plain = s;
    strbuf_putc(out, '"');
    while (*s) {
        int n = *s < 0x80 ? 1 : utf8_length(s);
        if (n && *s >= 0x20 && *s != '"' && *s != '\\') {
            s += n;
            continue;
        }
        strbuf_add(out, plain, (size_t)(s - plain));
        if (n == 0)
            strbuf_puts(out, "\\ufffd");
        else
            strbuf_printf(out, *s < 0x20 ? "\\u%04x" : "\\%c", *s);
        plain = ++s;
    }
    strbuf_add(out, plain, (size_t)(s - plain));
    strbuf_putc(out, '"');
}

char *json_decoded(const char *text)
{
    struct strbuf out = {0};
    strbuf_puts(&out, "");
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        if (n == 0)
            strbuf_puts(&out, "\xef\xbf\xbd");
        else
            strbuf_add(&out, s, (size_t)n);
        s += n ? n : 1;
    }
    return strbuf_detach(&out);
}

static void json_item(struct json *j, const char *key)
{
    if (j->started[j->depth])
        strbuf_putc(j->out, ',');
    j->started[j->depth] = true;
    if (key) {
        json_quote(j->out, key);
        strbuf_putc(j->out, ':');
    }
}

static void json_open(struct json *j, const char *key, char opening, char closing)
{
    json_item(j, key);
    strbuf_putc(j->out, opening);
    j->depth++;
    j->started[j->depth] = false;
    j->closing[j->depth] = closing;
}

void json_object(struct json *j, const char *key)
{
    json_open(j, key, '{', '}');
}

void json_array(struct json *j, const char *key)
{
    json_open(j, key, '[', ']');
}

void json_end(struct json *j)
{
    strbuf_putc(j->out, j->closing[j->depth]);
    if (--j->depth == 0)
        strbuf_putc(j->out, '\n');
}

void json_string(struct json *j, const char *key, const char *value)
{
    if (!value) {
        json_null(j, key);
        return;
    }
    json_item(j, key);
    json_quote(j->out, value);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
    json_item(j, key);
    strbuf_u64(j->out, value);
}

void json_i64(struct json *j, const char *key, int64_t value)
{
    json_item(j, key);
    if (value < 0)
        strbuf_putc(j->out, '-');
    strbuf_u64(j->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_double(struct json *j, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(j, key);
        return;
    }
    json_item(j, key);
    strbuf_printf(j->out, "%.17g", value);
}

void json_bool(struct json *j, const char *key, bool value)
{
    json_item(j, key);
    strbuf_puts(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
    json_item(j, key);
    strbuf_puts(j->out, "null");
}

void json_i64_if(struct json *j, const char *key, bool known, int64_t value)
{
    if (known)
        json_i64(j, key, value);
    else
        json_null(j, key);
}

void json_u64_if(struct json *j, const char *key, bool known, uint64_t value)
{
    if (known)
        json_u64(j, key, value);
    else
        json_null(j, key);
}
