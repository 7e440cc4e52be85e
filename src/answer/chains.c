#include "answer/chains.h"

#include <math.h>

#include "base/say.h"
#include "answer/json_parts.h"
#include "answer/location.h"
#include "answer/wrap.h"

static void place_words(const struct places *p, uint32_t call, struct strbuf *out)
{
    const struct frame_table *frames = &p->total.frames;
    const struct call_frame *frame = places_frame(p, call);
    location_put(out, location_file(frames, frame), frame->line,
                 frame_table_string(frames, frame->name));
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
    /* An array that is kept grows in a few events only: an average over all of them says nothing.
     */
    bool by_event = events.mark && events.count > 1 && c->of.chains >= events.count / 2;
    double n = by_event ? (double)events.count : 1;
    double growths = round((double)c->of.growths / n);
    bool about = by_event && c->of.growths % events.count;
    reserve_words(c, out);
    strbuf_puts(out, " at ");
    place_words(p, c->call, out);
    say(out, "%r%N growth(s)%r%B of copying", about ? ": about " : ": ", growths,
        c->of.by_realloc ? " and at most " : " and ", (double)c->of.copied_bytes / n);
    if (by_event) {
        say(out, " per '%s'", events.mark);
    } else if (c->of.chains > 1) {
        say(out, " in %N array(s)", c->of.chains);
    }
    strbuf_puts(out, " saved");
    if (c->of.chains > 1) /* one array is of no event */
        strbuf_puts(out, "; reserve this maximum once and keep it, not the size that each event "
                         "needs");
}

static void history_words(const struct chain *c, struct strbuf *out)
{
    say(out, "%B to %B by a factor of %.3g, in up to %N growth(s)", c->of.first_bytes,
        c->of.largest_bytes, c->factor, c->of.longest);
    if (c->of.by_realloc) {
        strbuf_puts(out,
                    c->of.by_realloc == c->of.growths ? ", by realloc" : ", partly by realloc");
        if (c->of.in_place)
            say(out, " (%N of %N in place)", c->of.in_place, c->of.growths);
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
        say(&text, "%s: from ",
            frame_table_string(&p->total.frames, places_frame(p, chain->call)->name));
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

void chains_json(struct json *j, const struct places *p, const struct chains *c,
                 struct chain_events events, size_t most)
{
    const struct answer *a = &p->total;
    struct json_stacks stacks = {.frames = &a->frames};
    struct strbuf advice = {0};
    json_array(j, "chains");
    for (size_t i = 0; i < c->list.count && i < most; i++) {
        const struct chain *chain = &c->list.items[i];
        const struct chain_figures *of = &chain->of;
        strbuf_clear(&advice);
        chain_advice(p, chain, events, &advice);
        json_object(j, NULL);
        json_frames(j, &stacks, a->tree.parent.items, a->tree.frame.items, chain->call);
        json_u64(j, "length", of->longest + 1);
        json_u64(j, "count", of->chains);
        json_u64(j, "growths", of->growths);
        json_u64(j, "realloc_growths", of->by_realloc);
        json_u64(j, "in_place_growths", of->in_place);
        json_double(j, "factor", chain->factor);
        json_u64(j, "first_bytes", of->first_bytes);
        json_u64(j, "final_bytes", of->largest_bytes);
        json_i64_if(j, "item_bytes", chain->item_bytes, (int64_t)chain->item_bytes);
        json_u64(j, "copied_bytes", of->copied_bytes);
        json_u64(j, "transient_peak_bytes", of->transient_bytes);
        json_u64(j, "kept_bytes", of->left_bytes);
        json_string(j, "advice", advice.data);
        json_end(j);
    }
    json_end(j);
    strbuf_release(&advice);
    json_stacks_release(&stacks);
}
