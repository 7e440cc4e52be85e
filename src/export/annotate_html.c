#include "export/annotate_html.h"

#include <inttypes.h>

#include "export/svg.h"
#include "answer/annotate.h"
#include "answer/report.h"
#include "answer/summary.h"
#include "answer/metric_unit.h"

static const char head[] =
    "<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<style>\n"
    "body { font: 14px sans-serif; margin: 1.5em; color: #222; background: #fff }\n"
    "h1 { font-size: 1.2em } p { margin: .3em 0 } .note { color: #a50 }\n"
    "table { border-collapse: collapse; font: 13px monospace; margin-top: 1em }\n"
    "td { padding: 0 .6em; text-align: right; white-space: pre }\n"
    "th { padding: .2em .6em; text-align: right; position: sticky; top: 0; background: #eee }\n"
    "td:last-child, th:last-child { text-align: left }\n"
    ".file td { font-weight: bold; padding-top: .6em; text-align: left }\n"
    ".line td:nth-child(6) { color: #888 }\n"
    ".inlined td:last-child { color: #06c } .code td:nth-child(n+6) { color: #666 }\n"
    ".gap { color: #888 }\n"
    "</style>\n";

static void escaped(struct strbuf *out, const struct strbuf *text)
{
    if (text->size)
        svg_text(out, text->data);
}

static void cell_value(struct strbuf *out, const struct annotation *a, struct value v)
{
    strbuf_puts(out, "<td>");
    if (!value_is_zero(v))
        unit_amount(out, a->query.metric, v.amount);
    strbuf_puts(out, "<td>");
    if (!value_is_zero(v))
        unit_percent(out, annotate_share(a, v), 1);
}

/* The hotter, the redder. */
static void open_row(struct strbuf *out, const struct annotation *a, const char *class,
                     struct listing_value v)
{
    double share = annotate_share(a, v.total), self = annotate_share(a, v.self);
    share = self > share ? self : share;
    strbuf_printf(out, "<tr class=\"%s\"", class);
    if (share >= 0.001)
        strbuf_printf(out, " style=\"background: rgba(255, 80, 0, %.2f)\"",
                      share < 1 ? 0.06 + 0.54 * share : 0.6);
    strbuf_putc(out, '>');
}

static void add_row(struct strbuf *out, const struct annotation *a, const struct listing_row *row)
{
    static const char *const classes[] = {
        [LISTING_FILE] = "file", [LISTING_LINE] = "line",  [LISTING_INLINED] = "inlined",
        [LISTING_CODE] = "code", [LISTING_LOOSE] = "file", [LISTING_GAP] = "gap"};
    struct strbuf text = {0};
    struct listing_value v = listing_value(a, row);
    listing_text(a, row, &text);
    if (row->kind == LISTING_FILE || row->kind == LISTING_LOOSE) {
        strbuf_puts(out, "<tr class=\"file\"><td colspan=\"7\">");
        escaped(out, &text);
        strbuf_putc(out, '\n');
        strbuf_release(&text);
        return;
    }
    open_row(out, a, classes[row->kind], v);
    cell_value(out, a, v.self);
    cell_value(out, a, v.total);
    strbuf_puts(out, "<td>");
    if (!value_is_zero(v.total))
        unit_count(out, v.total.count);
    strbuf_puts(out, "<td>");
    if (row->kind == LISTING_CODE)
        strbuf_printf(out, "%" PRIx64, a->instructions.items[row->instruction].address);
    else if (row->kind == LISTING_LINE && row->line)
        strbuf_printf(out, "%u", (unsigned)row->line);
    uint32_t indent = row->kind == LISTING_LINE ? 0 : 2 + 2 * (row->depth < 20 ? row->depth : 20);
    strbuf_printf(out, "<td>%*s", (int)indent, "");
    escaped(out, &text);
    strbuf_putc(out, '\n');
    strbuf_release(&text);
}

static void add_paragraph(struct strbuf *out, const char *class, const struct strbuf *text)
{
    if (!text->size)
        return;
    strbuf_printf(out, "<p class=\"%s\">", class);
    escaped(out, text);
    strbuf_putc(out, '\n');
}

void annotate_html(const struct annotation *a, bool code, struct strbuf *out)
{
    struct listing l;
    struct strbuf text = {0};
    strbuf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<title>");
    svg_text(out, a->name);
    strbuf_printf(out, "</title>\n%s<h1>", head);
    annotate_heading(a, &text);
    escaped(out, &text);
    strbuf_puts(out, "</h1>\n");
    strbuf_clear(&text);
    summary_command(a->answer.profile, 200, &text);
    add_paragraph(out, "command", &text);
    strbuf_clear(&text);
    annotate_hosts(a, &text);
    add_paragraph(out, "hosts", &text);
    for (size_t i = 0; i < a->notes.count; i++) {
        strbuf_clear(&text);
        unit_text(&text, a->notes.items[i]);
        add_paragraph(out, "note", &text);
    }
    listing_build(&l, a, code, CONTEXT_ALL);
    strbuf_printf(out, "<table>\n<tr><th>self<th>%%<th>total<th>%%<th>%s<th>line<th>source\n",
                  report_count_title(a->query.metric));
    for (size_t i = 0; i < l.rows.count; i++)
        add_row(out, a, &l.rows.items[i]);
    strbuf_puts(out, "</table>\n</html>\n");
    listing_release(&l);
    strbuf_release(&text);
}
