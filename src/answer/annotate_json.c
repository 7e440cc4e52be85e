#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "answer/annotate.h"
#include "answer/json_parts.h"

static void values(struct json *j, struct value self, struct value total)
{
    json_i64(j, "self_bytes", self.amount);
    json_i64(j, "self_count", self.count);
    json_i64(j, "total_bytes", total.amount);
    json_i64(j, "total_count", total.count);
}

static void row_values(struct json *j, const struct annotation *a, const struct listing_row *row)
{
    struct listing_value v = listing_value(a, row);
    values(j, v.self, v.total);
}

static void instruction(struct json *j, const struct annotation *a, const struct listing_row *row)
{
    const struct annotated_instruction *i = &a->instructions.items[row->instruction];
    char address[32];
    snprintf(address, sizeof address, "0x%" PRIx64, i->address);
    json_object(j, NULL);
    json_string(j, "address", address);
    json_string(j, "module", a->codes.items[i->code].module->path);
    json_string(j, "text", i->text);
    row_values(j, a, row);
    json_end(j);
}

static void inlined(struct json *j, const struct annotation *a, const struct listing_row *row)
{
    const struct annotated_place *p = &a->places.items[row->place];
    json_object(j, NULL);
    json_u64(j, "depth", row->depth);
    json_string(j, "function", strpool_get(&a->strings, p->function));
    json_string(j, "file", p->file ? strpool_get(&a->strings, p->file) : NULL);
    if (p->line)
        json_u64(j, "line", p->line);
    else
        json_null(j, "line");
    row_values(j, a, row);
    json_end(j);
}

/* Members inlined and instructions of the line before them; flat, for trees may be deep. */
static void below(struct json *j, const struct annotation *a, const struct listing_row *from,
                  const struct listing_row *end, enum listing_kind kind)
{
    json_array(j, kind == LISTING_INLINED ? "inlined" : "instructions");
    for (const struct listing_row *row = from; row < end; row++)
        if (row->kind == kind)
            kind == LISTING_INLINED ? inlined(j, a, row) : instruction(j, a, row);
    json_end(j);
}

static const struct listing_row *line_end(const struct listing_row *row,
                                          const struct listing_row *end)
{
    while (row < end && (row->kind == LISTING_INLINED || row->kind == LISTING_CODE))
        row++;
    return row;
}

static void line(struct json *j, const struct annotation *a, const struct listing_row *row,
                 const struct listing_row *end, bool code)
{
    struct strbuf text = {0};
    size_t size = 0;
    const char *source = annotation_text(a, row->source, row->line, &size);
    strbuf_add(&text, source ? source : "", size);
    json_object(j, NULL);
    if (row->line)
        json_u64(j, "line", row->line);
    else
        json_null(j, "line");
    json_string(j, "text", source ? text.data : NULL);
    row_values(j, a, row);
    below(j, a, row + 1, end, LISTING_INLINED);
    if (code)
        below(j, a, row + 1, end, LISTING_CODE);
    json_end(j);
    strbuf_release(&text);
}

static const struct listing_row *file(struct json *j, const struct annotation *a,
                                      const struct listing_row *row, const struct listing_row *end,
                                      bool code)
{
    const struct annotated_source *s = &a->sources.items[row->source];
    json_object(j, NULL);
    json_string(j, "file", row->source ? strpool_get(&a->strings, s->file) : NULL);
    json_string(j, "found", s->text.path);
    json_array(j, "lines");
    for (row++; row < end && row->kind == LISTING_LINE;) {
        const struct listing_row *next = line_end(row + 1, end);
        line(j, a, row, next, code);
        row = next;
    }
    json_end(j);
    json_end(j);
    return row;
}

void annotate_json(const struct annotation *a, bool code, struct strbuf *out)
{
    const struct answer *answer = &a->answer;
    struct listing l;
    struct json j;
    listing_build(&l, a, code, CONTEXT_ALL);
    const struct listing_row *row = l.rows.items, *end = row + l.rows.count;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.annotate/1");
    json_program(&j, answer->recording, answer->profile);
    json_string(&j, "since", answer->window.since.word);
    json_string(&j, "at", answer->window.at.word);
    json_string(&j, "metric", metric_name(a->query.metric));
    json_string(&j, "unit", a->query.metric == METRIC_CPU ? "ns" : "bytes");
    json_string(&j, "size", size_kind_name(a->query.size));
    json_value(&j, "sum", answer->tree.sum);
    json_string(&j, "function", a->name);
    json_string(&j, "module", a->module);
    json_string(&j, "kind", a->python ? "python" : a->inlined ? "inlined" : "native");
    values(&j, a->self, a->total);
    json_array(&j, "inlined_into");
    for (size_t i = 0; i < a->hosts.count; i++)
        json_string(&j, NULL, strpool_get(&a->strings, a->hosts.items[i]));
    json_end(&j);
    json_array(&j, "files");
    while (row < end && row->kind == LISTING_FILE)
        row = file(&j, a, row, end, l.code);
    json_end(&j);
    if (l.code)
        below(&j, a, row, end, LISTING_CODE);
    json_array(&j, "notes");
    for (size_t i = 0; i < a->notes.count; i++)
        json_string(&j, NULL, a->notes.items[i]);
    json_end(&j);
    json_end(&j);
    listing_release(&l);
}
