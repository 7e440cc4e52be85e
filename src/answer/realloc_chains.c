#include "answer/realloc_chains.h"

#include <math.h>

#include "base/say.h"
#include "answer/location.h"
#include "answer/place_columns.h"
#include "answer/wrap.h"

static void place_words(const struct places *p, uint32_t call, struct strbuf *out)
{
    const struct call_frame *frame = places_frame(p, call);
    location_put(out, location_file(&p->total.frames, frame), frame->line,
                 placed_name(&(struct placed){p, call, 0}));
}

static void reserve_words(const struct chain *c, struct strbuf *out)
{
    strbuf_puts(out, "reserve ");
    if (!c->item_bytes) {
        say(out, "%N bytes", c->of.largest_bytes);
        return;
    }
    say(out, "%N item(s) of %N byte(s) (%B)", c->of.largest_bytes / c->item_bytes, c->item_bytes,
        c->of.largest_bytes);
}

void chain_advice(const struct places *p, const struct chain *c, struct chain_events events,
                  struct strbuf *out)
{
    /* An array that is kept grows in a few events only: an average over all events would be
     * meaningless. */
    bool by_event = events.mark && events.count > 1 && c->of.chains >= events.count / 2;
    double n = by_event ? (double)events.count : 1;
    double growths = round((double)c->of.growths / n);
    bool about = by_event && c->of.growths % events.count;
    reserve_words(c, out);
    strbuf_puts(out, " at ");
    place_words(p, c->call, out);
    say(out, "%r%N growth(s)%r%B of copying", about ? ": about " : ": ", growths,
        c->of.by_realloc ? " and at most " : " and ", (double)c->of.copied_bytes / n);
    if (by_event)
        say(out, " per '%s'", events.mark);
    else if (c->of.chains > 1)
        say(out, " in %N array(s)", c->of.chains);
    strbuf_puts(out, " saved");
    if (c->of.chains > 1) /* a single array belongs to no event */
        say(out, "; reserve this maximum once and keep it, not the size that each %r needs",
            events.mark ? "event" : "array");
}

static void history_words(const struct chain *c, struct strbuf *out)
{
    say(out, "%B to %B by a factor of %.3g, in up to %N growth(s)", c->of.first_bytes,
        c->of.largest_bytes, c->factor, c->of.longest);
    if (c->of.by_realloc) {
        strbuf_puts(out,
                    c->of.by_realloc == c->of.growths ? ", by realloc" : ", partly by realloc");
        if (c->of.in_place) {
            say(out, " (%N of %N in place)", c->of.in_place, c->of.growths);
        }
    }
    say(out, "%r%B during a copy, %B left behind in freed blocks",
        c->of.by_realloc ? "; at most " : "; ", c->of.transient_bytes, c->of.left_bytes);
}

void chains_text(const struct places *p, const struct chains *c, struct chain_events events,
                 size_t most, const struct style *s, struct strbuf *out)
{
    struct strbuf text = {0};
    size_t shown = 0, rest = 0;
    for (size_t i = 0; i < c->list.count; i++)
        rest += chain_matters(p, &c->list.items[i]);
    if (!rest)
        return;
    strbuf_printf(out, "%sarrays that grow step by step%s\n", style_bold(s), style_plain(s));
    for (size_t i = 0; i < c->list.count && shown < most; i++) {
        const struct chain *chain = &c->list.items[i];
        if (!chain_matters(p, chain))
            continue;
        shown++;
        strbuf_clear(&text);
        say(&text, "%s: from ", placed_name(&(struct placed){p, chain->call, 0}));
        history_words(chain, &text);
        strbuf_puts(&text, "; ");
        chain_advice(p, chain, events, &text);
        wrap_text("  - ", text.data, s->width, out);
    }
    if (rest > shown)
        strbuf_printf(out, "and %zu more; --top shows them\n", rest - shown);
    strbuf_release(&text);
    strbuf_putc(out, '\n');
}

/* --- JSON ------------------------------------------------------------------------------------- */

struct listed {
    struct placed_rows rows;
    const struct places *places;
    struct chain_events events;
};

static struct placed where(const void *answer, const void *row)
{
    uint32_t call = ((const struct chain *)row)->call;
    return (struct placed){((const struct listed *)answer)->places, call, call};
}

static struct cell get_length(struct spot s)
{
    return CELL_OF(((const struct chain *)s.row)->of.longest + 1);
}

static struct cell get_advice(struct spot s)
{
    const struct listed *l = s.answer;
    chain_advice(l->places, s.row, l->events, s.made);
    return CELL_OF(s.made->data);
}

#define CHAIN(member) FIELD(struct chain, member)

static const struct column_def columns[] = {
    PLACED_STACK,
    {"length", NULL, COLUMN_COUNT, .get = get_length},
    {"count", NULL, COLUMN_COUNT, CHAIN(of.chains)},
    {"growths", NULL, COLUMN_COUNT, CHAIN(of.growths)},
    {"realloc_growths", NULL, COLUMN_COUNT, CHAIN(of.by_realloc)},
    {"in_place_growths", NULL, COLUMN_COUNT, CHAIN(of.in_place)},
    {"factor", NULL, COLUMN_REAL, CHAIN(factor)},
    {"first_bytes", NULL, COLUMN_BYTES, CHAIN(of.first_bytes)},
    {"final_bytes", NULL, COLUMN_BYTES, CHAIN(of.largest_bytes)},
    {"item_bytes", NULL, COLUMN_BYTES, CHAIN(item_bytes), .zero_is_unknown = true},
    {"copied_bytes", NULL, COLUMN_BYTES, CHAIN(of.copied_bytes)},
    {"transient_peak_bytes", NULL, COLUMN_BYTES, CHAIN(of.transient_bytes)},
    {"kept_bytes", NULL, COLUMN_BYTES, CHAIN(of.left_bytes)},
    {"advice", NULL, COLUMN_WORDS, .get = get_advice},
};

void chains_json(struct json *j, const struct places *p, const struct chains *c,
                 struct chain_events events, size_t most)
{
    const struct listed l = {{where}, p, events};
    struct rows rows = {COLUMN_DEFS(columns), ITEMS(c->list), .answer = &l};
    rows.count = rows.count < most ? rows.count : most;
    rows_json(&rows, "chains", NULL, j);
}
