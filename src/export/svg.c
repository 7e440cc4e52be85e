#include "export/svg.h"

#include <stdint.h>
#include <string.h>

/* The number of bytes of the UTF-8 character that begins here; 0: it is none. */
static size_t utf8_size(const char *text)
{
    const uint8_t *c = (const uint8_t *)text;
    size_t size = c[0] < 0x80       ? 1
                  : c[0] >> 5 == 6  ? 2
                  : c[0] >> 4 == 14 ? 3
                  : c[0] >> 3 == 30 ? 4
                                    : 0;
    for (size_t i = 1; i < size; i++)
        if (c[i] >> 6 != 2)
            return 0;
    return size;
}

void svg_text(struct strbuf *out, const char *text)
{
    strbuf_puts(out, "");
    while (*text) {
        size_t size = utf8_size(text);
        if (size == 0 || ((uint8_t)*text < 0x20 && *text != '\n')) {
            strbuf_putc(out, '?');
            text++;
            continue;
        }
        const char *safe = *text == '&'   ? "&amp;"
                           : *text == '<' ? "&lt;"
                           : *text == '>' ? "&gt;"
                           : *text == '"' ? "&quot;"
                                          : NULL;
        if (safe)
            strbuf_puts(out, safe);
        else
            strbuf_add(out, text, size);
        text += size;
    }
}

void svg_open(struct strbuf *out, double width, double height)
{
    strbuf_printf(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
                  "width=\"100%%\" height=\"%.0f\" preserveAspectRatio=\"xMidYMin\" "
                  "font-family=\"monospace\" font-size=\"12\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                  width, height, height);
}

void svg_label(struct strbuf *out, double x, double y, const char *attributes, const char *text)
{
    strbuf_printf(out, "<text x=\"%.2f\" y=\"%.2f\" %s>", x, y, attributes);
    svg_text(out, text);
    strbuf_puts(out, "</text>\n");
}
