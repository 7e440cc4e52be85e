#include "answer/stack_text.h"

#include "base/say.h"
#include "answer/location.h"

static void add_frame(const struct frame_table *t, uint32_t number, const struct style *s,
                      struct strbuf *out)
{
    const struct call_frame *f = &t->frames.items[number];
    struct strbuf place = {0};
    strbuf_puts(&place, f->file || f->module ? "  " : "");
    location_of_frame(&place, t, f);
    if (f->kind == FRAME_INLINED && s->width >= 60)
        strbuf_puts(&place, " (inlined)");
    strbuf_puts(out, "    ");
    location_name(out, frame_table_string(t, f->name),
                  s->width > place.size + 24 ? s->width - place.size - 4 : 20);
    if (place.size)
        strbuf_printf(out, "%s%s%s", style_faint(s), place.data, style_plain(s));
    strbuf_putc(out, '\n');
    strbuf_release(&place);
}

void stack_text(const struct frame_table *t, const struct merged *m, uint32_t node, uint32_t most,
                const struct style *s, struct strbuf *out)
{
    uint32_t frames = 0;
    for (uint32_t n = node; n; n = m->parent.items[n])
        if (frames++ < most)
            add_frame(t, m->key.items[n], s, out);
    if (frames <= most)
        return;
    say(out, "    ... %N more frame(s); --json lists all\n", frames - most);
}

void stack_names(const struct frame_table *t, const uint32_t *parent, const uint32_t *frame,
                 uint32_t node, struct strbuf *out)
{
    strbuf_puts(out, "");
    for (uint32_t n = node; n; n = parent[n])
        strbuf_printf(out, "%s%s", n == node ? "" : ";",
                      frame_table_string(t, t->frames.items[frame[n]].name));
}
