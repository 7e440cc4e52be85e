#include "answer/wrap.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* The columns of `size` bytes: UTF-8 continuation bytes and escape sequences take none. */
static size_t columns_of(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\033')
            while (i + 1 < size && text[i] != 'm')
                i++;
        else
            n += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return n;
}

void wrap_text(const char *first, const char *text, size_t width, struct strbuf *out)
{
    size_t indent = strlen(first), used = indent;
    strbuf_puts(out, first);
    while (*text) {
        size_t size = strcspn(text, " "), columns = columns_of(text, size);
        if (used > indent && used + 1 + columns > width) {
            strbuf_printf(out, "\n%*s", (int)indent, "");
            used = indent;
        } else if (used > indent) {
            strbuf_putc(out, ' ');
            used++;
        }
        strbuf_add(out, text, size);
        used += columns;
        text += size + (text[size] == ' ');
    }
    strbuf_putc(out, '\n');
}

void wrap_since(struct strbuf *out, size_t start, size_t hang, size_t width)
{
    if (out->size <= start)
        return;
    char *text = xstrndup(out->data + start, out->size - start), *word = text;
    size_t used = 0;
    if (columns_of(text, strlen(text)) <= width) {
        free(text);
        return;
    }
    out->size = start;
    out->data[start] = '\0';
    while (*word) { /* several spaces are part of a label: they stay with the word after them */
        size_t gap = strspn(word, " "), size = strcspn(word + gap, " ");
        size_t columns = columns_of(word + gap, size);
        if (used > hang && used + gap + columns > width) {
            strbuf_printf(out, "\n%*s", (int)hang, "");
            used = hang;
        } else {
            strbuf_add(out, word, gap);
            used += gap;
        }
        strbuf_add(out, word + gap, size);
        used += columns;
        word += gap + size;
    }
    free(text);
}
