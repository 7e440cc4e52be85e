#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void strbuf_reserve(struct strbuf *b, size_t extra)
{
    size_t wanted = b->size + extra + 1;
    if (wanted <= b->capacity)
        return;
    size_t larger = b->capacity ? b->capacity * 2 : 64;
    if (larger < wanted)
        larger = wanted;
    b->data = xrealloc(b->data, larger);
    b->capacity = larger;
}

void strbuf_add(struct strbuf *b, const void *bytes, size_t size)
{
    strbuf_reserve(b, size);
    if (size)
        memcpy(b->data + b->size, bytes, size);
    b->size += size;
    b->data[b->size] = '\0';
}

void strbuf_puts(struct strbuf *b, const char *text)
{
    strbuf_add(b, text, strlen(text));
}

void strbuf_putc(struct strbuf *b, char c)
{
    strbuf_add(b, &c, 1);
}

void strbuf_printf(struct strbuf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n > 0) {
        strbuf_reserve(b, (size_t)n);
        vsnprintf(b->data + b->size, (size_t)n + 1, format, again);
        b->size += (size_t)n;
    }
    va_end(again);
}

void strbuf_u64(struct strbuf *b, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    strbuf_add(b, digits + at, sizeof digits - at);
}

void strbuf_varint(struct strbuf *b, uint64_t value)
{
    strbuf_reserve(b, VARINT_MOST);
    strbuf_varint_there(b, value);
    b->data[b->size] = '\0';
}

void strbuf_clear(struct strbuf *b)
{
    b->size = 0;
    if (b->data)
        b->data[0] = '\0';
}

void strbuf_release(struct strbuf *b)
{
    free(b->data);
    *b = (struct strbuf){0};
}

char *strbuf_detach(struct strbuf *b)
{
    strbuf_reserve(b, 0);
    b->data[b->size] = '\0';
    char *data = b->data;
    *b = (struct strbuf){0};
    return data;
}
