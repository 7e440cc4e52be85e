#include "base/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define TICK_NS UINT64_C(10000000)

void unit_bytes(struct strbuf *out, int64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = bytes < 0 ? -(double)bytes : (double)bytes;
    if (size < 1024) {
        strbuf_printf(out, "%" PRId64 " B", bytes);
        return;
    }
    int unit = -1;
    /* 1023.95 would print as 1024.0 */
    for (; size >= 1023.95 && unit < 5; unit++)
        size /= 1024;
    strbuf_printf(out, "%s%.1f %s", bytes < 0 ? "-" : "", size, units[unit < 0 ? 0 : unit]);
}

void unit_count(struct strbuf *out, int64_t count)
{
    char digits[24];
    uint64_t size = count < 0 ? -(uint64_t)count : (uint64_t)count;
    int n = snprintf(digits, sizeof digits, "%" PRIu64, size);
    if (count < 0)
        strbuf_putc(out, '-');
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            strbuf_putc(out, ',');
        strbuf_putc(out, digits[i]);
    }
}

void unit_counted(struct strbuf *out, int64_t count, const char *word)
{
    size_t size = strlen(word);
    unit_count(out, count);
    strbuf_printf(out, " %s", word);
    if (count != 1)
        strbuf_puts(out, size && word[size - 1] == 's' ? "es" : "s");
}

void unit_time(struct strbuf *out, uint64_t ns)
{
    double s = (double)ns / 1e9;
    if (!ns)
        strbuf_puts(out, "0 s");
    else if (ns < 1000000)
        strbuf_printf(out, "%.1f us", s * 1e6);
    else if (ns < UINT64_C(1000000000))
        strbuf_printf(out, "%.1f ms", s * 1e3);
    else if (s < 120)
        strbuf_printf(out, "%.3f s", s);
    else if (s < 7200)
        strbuf_printf(out, "%d min %d s", (int)(s / 60), (int)s % 60);
    else
        strbuf_printf(out, "%" PRIu64 " h %d min", ns / 3600000000000u,
                      (int)(ns / 60000000000u % 60));
}

void unit_ms(struct strbuf *out, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, tenths = (size + 50000) / 100000;
    strbuf_puts(out, ns < 0 && tenths ? "-" : "");
    unit_count(out, (int64_t)(tenths / 10));
    strbuf_printf(out, ".%u ms", (unsigned)(tenths % 10));
}

void unit_ticks(struct strbuf *out, uint64_t ns)
{
    if (ns < TICK_NS) {
        strbuf_puts(out, ns ? "less than 10 ms" : "0 ms");
        return;
    }
    strbuf_puts(out, "about ");
    unit_count(out, (int64_t)((ns + TICK_NS / 2) / TICK_NS * (TICK_NS / 1000000)));
    strbuf_puts(out, " ms");
}

void unit_percent(struct strbuf *out, double part, double whole)
{
    if (whole == 0)
        strbuf_putc(out, '-');
    else
        strbuf_printf(out, "%.1f", part / whole * 100 + 0.0); /* + 0.0: no "-0.0" */
}

/* The number of bytes of the character at `s`; 0: it is a control character, or not UTF-8. U+0080
 * to U+009F are control characters too: terminals obey U+009B as they do ESC [. */
static int printable(const unsigned char *s)
{
    bool control = s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
    return control ? 0 : utf8_length(s);
}

void unit_text(struct strbuf *out, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int size = printable(s);
        if (size)
            strbuf_add(out, (const char *)s, (size_t)size);
        else
            strbuf_putc(out, '?');
        s += size ? size : 1;
    }
}

size_t unit_columns(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}
