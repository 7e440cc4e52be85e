#include "report/report.h"

#include <inttypes.h>
#include <string.h>

/* RFC 4180: quoted where needed, quotes doubled. */
static void csv_text(struct strbuf *out, const char *text)
{
    if (!text)
        return;
    if (!strpbrk(text, ",\"\r\n")) {
        strbuf_puts(out, text);
        return;
    }
    strbuf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            strbuf_putc(out, '"');
        strbuf_putc(out, *text);
    }
    strbuf_putc(out, '"');
}

static void csv_stack(const struct answer *a, const struct answer_row *row, struct strbuf *out)
{
    struct strbuf stack = {0};
    strbuf_puts(&stack, "");
    for (uint32_t n = row->call; n; n = a->merged.parent.items[n]) {
        uint32_t frame = a->merged.key.items[n];
        strbuf_printf(&stack, "%s%s", stack.size ? ";" : "",
                      frame_table_string(&a->frames, a->frames.frames.items[frame].name));
    }
    strbuf_printf(out, "%" PRId64 ",%" PRId64 ",", row->self.amount, row->self.count);
    csv_text(out, row->thread);
    strbuf_putc(out, ',');
    csv_text(out, stack.data);
    strbuf_putc(out, '\n');
    strbuf_release(&stack);
}

static void csv_row(const struct answer_row *row, bool tree, struct strbuf *out)
{
    if (tree)
        strbuf_printf(out, "%" PRIu32 ",", row->depth);
    csv_text(out, row->name);
    strbuf_putc(out, ',');
    csv_text(out, row->module);
    strbuf_putc(out, ',');
    csv_text(out, row->file);
    strbuf_putc(out, ',');
    if (row->line)
        strbuf_printf(out, "%" PRIu32, row->line);
    strbuf_printf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", row->self.amount,
                  row->self.count, row->total.amount, row->total.count);
}

void report_csv(const struct answer *a, const struct report_sink *sink, struct strbuf *out)
{
    bool tree = a->query->shape == SHAPE_TREE, stack = a->query->by == BY_STACK;
    strbuf_puts(
        out, stack  ? "bytes,count,thread,stack\n"
             : tree ? "depth,name,module,file,line,self_bytes,self_count,total_bytes,total_count\n"
                    : "name,module,file,line,self_bytes,self_count,total_bytes,total_count\n");
    for (size_t i = 0; i < a->rows.rows.count; i++) {
        if (stack)
            csv_stack(a, &a->rows.rows.items[i], out);
        else
            csv_row(&a->rows.rows.items[i], tree, out);
        report_flush(sink, out);
    }
}
