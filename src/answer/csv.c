#include "answer/csv.h"

#include <string.h>

void csv_end_line(struct strbuf *out)
{
    out->data[out->size - 1] = '\n';
}

void csv_text(struct strbuf *out, const char *text)
{
    if (!text)
        return;
    if (!strpbrk(text, ",\"\r\n")) {
        strbuf_puts(out, text);
        return;
    }
    strbuf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            strbuf_putc(out, '"');
        strbuf_putc(out, *text);
    }
    strbuf_putc(out, '"');
}
