#include "answer/report.h"

#include <inttypes.h>

#include "answer/csv.h"
#include "answer/histogram.h"

static void add_thread_and_stack(const struct answer *a, const struct answer_row *row,
                                 struct strbuf *out)
{
    struct strbuf stack = {0};
    strbuf_puts(&stack, "");
    for (uint32_t n = row->call; n; n = a->merged.parent.items[n]) {
        uint32_t frame = a->merged.key.items[n];
        strbuf_printf(&stack, "%s%s", stack.size ? ";" : "",
                      frame_table_string(&a->frames, a->frames.frames.items[frame].name));
    }
    csv_text(out, row->thread);
    strbuf_putc(out, ',');
    csv_text(out, stack.data);
    strbuf_release(&stack);
}

static void csv_stack(const struct answer *a, const struct answer_row *row, struct strbuf *out)
{
    strbuf_printf(out, "%" PRId64 ",%" PRId64 ",", row->self.amount, row->self.count);
    add_thread_and_stack(a, row, out);
    strbuf_putc(out, '\n');
}

static void add_label(const struct answer_row *row, struct strbuf *out)
{
    csv_text(out, row->name);
    strbuf_putc(out, ',');
    csv_text(out, row->module);
    strbuf_putc(out, ',');
    csv_text(out, row->file);
    strbuf_putc(out, ',');
    if (row->line)
        strbuf_printf(out, "%" PRIu32, row->line);
}

static void csv_row(const struct answer_row *row, bool tree, struct strbuf *out)
{
    if (tree)
        strbuf_printf(out, "%" PRIu32 ",", row->depth);
    add_label(row, out);
    strbuf_printf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", row->self.amount,
                  row->self.count, row->total.amount, row->total.count);
}

/* One for all, or the rows' own, each line with its row in front. */
static void csv_histograms(const struct answer *a, const struct report_sink *sink,
                           struct strbuf *out)
{
    bool stack = a->query->by == BY_STACK, rows = a->query->histogram_rows;
    strbuf_printf(out, "%s%s",
                  !rows   ? ""
                  : stack ? "thread,stack,"
                          : "name,module,file,line,",
                  HISTOGRAM_CSV_COLUMNS);
    if (!rows)
        histogram_csv(&a->histograms, &a->histograms.all, "", out);
    for (size_t i = 0; rows && i < a->rows.rows.count; i++) {
        struct strbuf front = {0};
        if (stack)
            add_thread_and_stack(a, &a->rows.rows.items[i], &front);
        else
            add_label(&a->rows.rows.items[i], &front);
        strbuf_putc(&front, ',');
        histogram_csv(&a->histograms, &a->histograms.rows.items[i], front.data, out);
        strbuf_release(&front);
        report_flush(sink, out);
    }
}

void report_csv(const struct answer *a, const struct report_sink *sink, struct strbuf *out)
{
    bool tree = a->query->shape == SHAPE_TREE, stack = a->query->by == BY_STACK;
    if (a->query->histogram) {
        csv_histograms(a, sink, out);
        return;
    }
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
