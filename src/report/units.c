#include "report/units.h"

#include <string.h>

#define TICK_NS UINT64_C(10000000)

void unit_percent(struct strbuf *out, double part, double whole)
{
    if (whole == 0)
        strbuf_putc(out, '-');
    else
        strbuf_printf(out, "%.1f", part / whole * 100 + 0.0); /* + 0.0: no "-0.0" */
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

void unit_amount(struct strbuf *out, enum metric metric, int64_t amount)
{
    if (metric_is_time(metric))
        unit_ms(out, amount);
    else
        unit_bytes(out, amount);
}

void unit_text(struct strbuf *out, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++)
        strbuf_putc(out, *s < 0x20 || *s == 0x7f ? '?' : (char)*s);
}

void unit_process(struct strbuf *out, const char *process)
{
    if (!process)
        return;
    strbuf_puts(out, " --process ");
    unit_text(out, process);
}

size_t unit_columns(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}
