#include "import/json_reader.h"

#include <errno.h>
#include <string.h>

void json_reader_init(struct json_reader *r, struct input *in)
{
    *r = (struct json_reader){.in = in, .pushed = -1};
}

void json_reader_release(struct json_reader *r)
{
    strbuf_release(&r->text);
}

static int bad(const struct json_reader *r, const char *why, struct err *err)
{
    return err_set(err, -EBADMSG, "%s is not the JSON that it should be: %s", r->in->name, why);
}

/* The next byte; -1: the end; less than -1: an error. */
static int take(struct json_reader *r, struct err *err)
{
    uint8_t byte;
    if (r->pushed >= 0) {
        byte = (uint8_t)r->pushed;
        r->pushed = -1;
        return byte;
    }
    if (r->in->out_at < r->in->out_size)
        return r->in->out[r->in->out_at++];
    int64_t n = input_read(r->in, &byte, 1, err);
    return n < 0 ? (n == -1 ? -EIO : (int)n) : n == 0 ? -1 : byte;
}

static int take_filled(struct json_reader *r, struct err *err)
{
    int c;
    do {
        c = take(r, err);
    } while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
    return c;
}

static void put_utf8(struct strbuf *b, uint32_t c)
{
    if (c < 0x80) {
        strbuf_putc(b, (char)c);
    } else if (c < 0x800) {
        strbuf_putc(b, (char)(0xc0 | c >> 6));
        strbuf_putc(b, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        strbuf_putc(b, (char)(0xe0 | c >> 12));
        strbuf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
        strbuf_putc(b, (char)(0x80 | (c & 0x3f)));
    } else {
        strbuf_putc(b, (char)(0xf0 | c >> 18));
        strbuf_putc(b, (char)(0x80 | (c >> 12 & 0x3f)));
        strbuf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
        strbuf_putc(b, (char)(0x80 | (c & 0x3f)));
    }
}

/* Four hexadecimal digits; negative: something else. */
static int32_t take_unit(struct json_reader *r, struct err *err)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int c = take(r, err);
        const char *digits = "0123456789abcdefABCDEF", *at = c > 0 ? strchr(digits, c) : NULL;
        if (!at)
            return -1;
        int32_t value = (int32_t)(at - digits);
        unit = unit * 16 + (value > 15 ? value - 6 : value);
    }
    return unit;
}

static bool take_escape(struct json_reader *r, struct err *err)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = take(r, err);
    const char *at = c > 0 ? strchr(from, c) : NULL;
    if (at) {
        strbuf_putc(&r->text, to[at - from]);
        return true;
    }
    int32_t unit = c == 'u' ? take_unit(r, err) : -1;
    if (unit < 0)
        return false;
    if (unit >= 0xd800 && unit < 0xdc00) { /* the first of a pair */
        if (take(r, err) != '\\' || take(r, err) != 'u')
            return false;
        int32_t low = take_unit(r, err);
        if (low < 0xdc00 || low > 0xdfff)
            return false;
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    } else if (unit >= 0xdc00 && unit < 0xe000) {
        unit = 0xfffd;
    }
    put_utf8(&r->text, (uint32_t)unit);
    return true;
}

static int take_string(struct json_reader *r, struct err *err)
{
    strbuf_clear(&r->text);
    strbuf_puts(&r->text, "");
    for (int c; (c = take(r, err)) != '"';) {
        if (c < -1)
            return c;
        if (c == -1)
            return bad(r, "it ends in a string", err);
        if (r->text.size > JSON_READER_STRING)
            return bad(r, "a string is longer than 1 MiB", err);
        if (c != '\\')
            strbuf_putc(&r->text, (char)c);
        else if (!take_escape(r, err))
            return bad(r, "a string has an escape that is none", err);
    }
    return JSON_STRING;
}

static int take_number(struct json_reader *r, int c, struct err *err)
{
    bool whole = true, overflow = false, any = false, minus = c == '-';
    r->number = 0;
    if (minus)
        c = take(r, err);
    for (; c >= 0 && strchr("0123456789.eE+-", c) && c; c = take(r, err)) {
        whole = whole && c >= '0' && c <= '9';
        any = true;
        if (whole)
            overflow |= __builtin_mul_overflow(r->number, 10, &r->number) ||
                        __builtin_add_overflow(r->number, (uint64_t)(c - '0'), &r->number);
    }
    if (c < -1)
        return c;
    r->pushed = c;
    if (!any || overflow)
        return bad(r, any ? "a number is too large" : "a number is missing", err);
    if (minus)
        r->number = 0;
    return JSON_NUMBER;
}

static int take_word(struct json_reader *r, int c, struct err *err)
{
    strbuf_clear(&r->text);
    for (; c >= 'a' && c <= 'z' && r->text.size < 8; c = take(r, err))
        strbuf_putc(&r->text, (char)c);
    if (c < -1)
        return c;
    r->pushed = c;
    strbuf_puts(&r->text, "");
    bool is = strcmp(r->text.data, "true") == 0 || strcmp(r->text.data, "false") == 0 ||
              strcmp(r->text.data, "null") == 0;
    return is ? JSON_WORD : bad(r, "a value is missing", err);
}

static int open_level(struct json_reader *r, bool object, struct err *err)
{
    if (r->depth == JSON_READER_DEPTH)
        return bad(r, "it is nested too deeply", err);
    r->object[r->depth++] = object;
    r->after_value = false;
    return object ? JSON_OBJECT : JSON_ARRAY;
}

static int take_key(struct json_reader *r, struct err *err)
{
    int code = take_string(r, err);
    if (code < 0)
        return code;
    if (take_filled(r, err) != ':')
        return bad(r, "a colon is missing", err);
    r->after_key = true;
    return JSON_KEY;
}

int json_next(struct json_reader *r, struct err *err)
{
    int c = take_filled(r, err);
    bool object = r->depth && r->object[r->depth - 1] && !r->after_key;
    if (c < -1)
        return c;
    if (!r->depth && r->after_value)
        return c == -1 ? JSON_END : bad(r, "something follows its end", err);
    if (c == -1)
        return bad(r, "it ends too early", err);
    if (r->depth && !r->after_key && c == (object ? '}' : ']')) {
        r->depth--;
        r->after_value = true;
        return JSON_CLOSE;
    }
    if (r->after_value && !r->after_key) {
        if (c != ',')
            return bad(r, "a comma is missing", err);
        c = take_filled(r, err);
        r->after_value = false;
    }
    if (object)
        return c == '"' ? take_key(r, err) : bad(r, "a name is missing", err);
    r->after_key = false;
    if (c == '{' || c == '[')
        return open_level(r, c == '{', err);
    r->after_value = true;
    if (c == '"')
        return take_string(r, err);
    return c == '-' || (c >= '0' && c <= '9') ? take_number(r, c, err) : take_word(r, c, err);
}

int json_skip(struct json_reader *r, int token, struct err *err)
{
    int depth = r->depth;
    if (token != JSON_OBJECT && token != JSON_ARRAY)
        return token < 0 ? token : 0;
    while (r->depth >= depth && token >= 0)
        token = json_next(r, err);
    return token < 0 ? token : 0;
}
