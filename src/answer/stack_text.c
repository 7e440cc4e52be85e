#include "answer/stack_text.h"

#include <string.h>

#include "base/say.h"
#include "model/name.h"
#include "answer/units.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void add_frame(const struct frame_table *t, uint32_t number, const struct style *s,
                      struct strbuf *out)
{
    const struct call_frame *f = &t->frames.items[number];
    struct strbuf name = {0}, place = {0};
    say(&name, "%s", frame_table_string(t, f->name));
    if (f->file) {
        say(&place, "  %s", base_name(frame_table_string(t, f->file)));
        if (f->line)
            strbuf_printf(&place, ":%u", (unsigned)f->line);
    } else if (f->module) {
        say(&place, "  %s", frame_table_string(t, f->module));
    }
    if (f->kind == FRAME_INLINED && s->width >= 60)
        strbuf_puts(&place, " (inlined)");
    strbuf_puts(out, "    ");
    name_shorten(out, name.data, s->width > place.size + 24 ? s->width - place.size - 4 : 20);
    if (place.size)
        strbuf_printf(out, "%s%s%s", style_faint(s), place.data, style_plain(s));
    strbuf_putc(out, '\n');
    strbuf_release(&name);
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
