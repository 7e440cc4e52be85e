/*
 * The lines of a summary about CPython's memory for small objects (model/arenas_at.h).
 */
#include "base/say.h"
#include "model/arenas_at.h"
#include "answer/summary.h"
#include "answer/wrap.h"

/* Says that small objects are not charged one by one. */
void summary_arenas_charged(const struct answer *a, const struct style *s, struct strbuf *out)
{
    int64_t bytes = arenas_live(a->profile, &a->window.at).amount;
    if (bytes <= 0 || !metric_measures(a->query->metric, DOMAIN_ARENA))
        return;
    size_t start = out->size;
    summary_label(out, s, "python");
    say(out,
        "live includes %B of arenas, each charged to the line that made it grow; see "
        "--python=objects",
        bytes);
    wrap_since(out, start, SUMMARY_LABEL, s->width);
    strbuf_putc(out, '\n');
}

void summary_arenas(const struct profile *p, struct strbuf *out)
{
    if (!arenas_are_most(p))
        return;
    say(out,
        "%B of the peak of %B are arenas of Python for small objects, charged to the line that\n"
        "made them grow; 'run --python=objects' charges each object.\n",
        arenas_live_at_peak(p).amount, p->peak_bytes);
}
