/*
 * A report as CSV; its columns are in report_columns.c.
 */
#include "answer/histogram.h"
#include "answer/report_columns.h"

/* Writes one histogram for all rows, or one for each row, whose lines begin with that row. */
static void csv_histograms(const struct report_table *t, const struct report_sink *sink,
                           struct strbuf *out)
{
    const struct answer *a = t->answer;
    struct strbuf front = {0};
    if (!a->query->histogram_rows) {
        histogram_csv(&a->histograms, NULL, "", out);
        histogram_csv(&a->histograms, &a->histograms.all, "", out);
        return;
    }
    row_csv(&t->label, NULL, &front);
    histogram_csv(&a->histograms, NULL, front.data, out);
    for (size_t i = 0; i < a->rows.rows.count; i++) {
        strbuf_clear(&front);
        row_csv(&t->label, &a->rows.rows.items[i], &front);
        histogram_csv(&a->histograms, &a->histograms.rows.items[i], front.data, out);
        report_flush(sink, out);
    }
    strbuf_release(&front);
}

void report_csv(const struct answer *a, const struct report_sink *sink, struct strbuf *out)
{
    struct report_table table;
    report_table_init(&table, a);
    if (a->query->histogram)
        csv_histograms(&table, sink, out);
    else
        rows_csv(&table.rows, sink, out);
    report_table_release(&table);
}
