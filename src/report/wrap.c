#include "report/wrap.h"

#include <string.h>

void wrap_text(const char *first, const char *text, size_t width, struct strbuf *out)
{
    size_t indent = strlen(first), used = indent;
    strbuf_puts(out, first);
    while (*text) {
        size_t size = strcspn(text, " "), columns = size;
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
