#include "answer/units.h"

#define TICK_NS UINT64_C(10000000)

void unit_percent(struct strbuf *out, double part, double whole)
{
    if (whole == 0)
        strbuf_putc(out, '-');
    else
        strbuf_printf(out, "%.1f", part / whole * 100 + 0.0); /* + 0.0: no "-0.0" */
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
    else if (metric == METRIC_SAMPLES)
        unit_count(out, amount);
    else
        unit_bytes(out, amount);
}

void unit_process(struct strbuf *out, const char *process)
{
    if (!process)
        return;
    strbuf_puts(out, " --process ");
    unit_text(out, process);
}
