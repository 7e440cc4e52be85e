#include "model/arenas_at.h"
#include "report/summary.h"
#include "report/units.h"

/* What is charged for small objects is not each of them. */
void summary_arenas_charged(const struct answer *a, const struct style *s, struct strbuf *out)
{
    int64_t bytes = arenas_live(a->profile, &a->window.at).amount;
    if (bytes <= 0 || !metric_measures(a->query->metric, DOMAIN_ARENA))
        return;
    summary_label(out, s, "python");
    strbuf_puts(out, "live includes ");
    unit_bytes(out, bytes);
    strbuf_puts(out,
                " of arenas, each charged to the line that made it grow; see --python=objects\n");
}

void summary_arenas(const struct profile *p, struct strbuf *out)
{
    if (!arenas_are_most(p))
        return;
    unit_bytes(out, arenas_live_at_peak(p).amount);
    strbuf_puts(out, " of the peak of ");
    unit_bytes(out, (int64_t)p->peak_bytes);
    strbuf_puts(out, " are arenas of Python for small objects, charged to the line that\n"
                     "made them grow; 'run --python=objects' charges each object.\n");
}
