#include "answer/imported.h"

#include "base/say.h"
#include "answer/summary.h"

/* Words for users, the most important first. */
static const struct {
    uint32_t bit;
    const char *word;
} words[] = {
    {UNKNOWN_TOTALS, "allocations and frees"},
    {UNKNOWN_LIVE, "live memory"},
    {UNKNOWN_PEAK, "the peak"},
    {UNKNOWN_COUNTS, "numbers of blocks"},
    {UNKNOWN_HISTORY, "changes over time"},
    {UNKNOWN_TIME, "times"},
    {UNKNOWN_PEAK_TIME, "when the peak was"},
    {UNKNOWN_CPU_TIME, "CPU time per sample"},
    {UNKNOWN_THREADS, "threads"},
    {UNKNOWN_TEMPORARY, "temporary allocations"},
    {UNKNOWN_REALLOCATIONS, "reallocations"},
    {UNKNOWN_OWN_PEAK, "peaks of stacks"},
    {UNKNOWN_LARGEST, "largest blocks"},
    {UNKNOWN_USABLE, "usable sizes"},
    {UNKNOWN_MAPPED, "mappings"},
    {UNKNOWN_LOSSES, "losses"},
    {UNKNOWN_PROCESS, "the pid"},
    {UNKNOWN_COMMAND, "the command"},
};

/* Need not be mentioned, because it follows from something else in the line. */
static bool follows(uint32_t unknown, uint32_t bit)
{
    return (bit == UNKNOWN_PEAK_TIME && unknown & (UNKNOWN_TIME | UNKNOWN_PEAK)) ||
           (bit == UNKNOWN_TIME && unknown & UNKNOWN_HISTORY) ||
           (unknown & UNKNOWN_TOTALS &&
            bit & (UNKNOWN_TEMPORARY | UNKNOWN_REALLOCATIONS | UNKNOWN_LARGEST | UNKNOWN_USABLE)) ||
           (unknown & UNKNOWN_PEAK && bit == UNKNOWN_OWN_PEAK) ||
           bit & (UNKNOWN_PROCESS | UNKNOWN_COMMAND | UNKNOWN_LOSSES);
}

static bool applies(const struct profile *p, uint32_t bit)
{
    if (p->sampling.alone) /* samples have nothing to do with blocks */
        return bit & (UNKNOWN_HISTORY | UNKNOWN_TIME | UNKNOWN_CPU_TIME | UNKNOWN_THREADS);
    return bit != UNKNOWN_CPU_TIME || p->sampling.cpu_period_ns;
}

static void put(const struct profile *p, struct strbuf *out)
{
    const struct imported *i = &p->imported;
    bool any = false;
    say(out, "from %s (%s)", i->from, i->file && *i->file ? i->file : "?");
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (!(i->unknown & words[k].bit) || follows(i->unknown, words[k].bit) ||
            !applies(p, words[k].bit))
            continue;
        say(out, "%r%r", any ? ", " : "; not known: ", words[k].word);
        any = true;
    }
}

void imported_line(const struct profile *p, struct strbuf *out)
{
    strbuf_puts(out, "imported ");
    put(p, out);
}

void imported_summary(const struct profile *p, const struct style *s, struct strbuf *out)
{
    if (!p->imported.from)
        return;
    size_t start = summary_begin(out, s, "imported");
    put(p, out);
    summary_end(out, s, start);
}

void imported_json(struct json *j, const struct profile *p)
{
    if (!p->imported.from)
        return;
    json_object(j, "imported");
    json_string(j, "from", p->imported.from);
    json_string(j, "file", p->imported.file);
    json_array(j, "not_known");
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (p->imported.unknown & words[k].bit && applies(p, words[k].bit))
            json_string(j, NULL, words[k].word);
    json_end(j);
    json_end(j);
}
