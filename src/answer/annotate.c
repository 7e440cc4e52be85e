/* An annotated function as data: nested JSON, and CSV with one row for each line, each line that
 * was inlined there and each instruction. */
#include "answer/annotate.h"

#include "base/say.h"
#include "answer/columns.h"
#include "answer/json_parts.h"

/* --- columns ---------------------------------------------------------------------------------- */

/* What columns depend on: the kind of a row in JSON. */
enum { LINE = 1, INLINED = 2, CODE = 4, NOT_CODE = 8 };

static const struct annotated_place *place_of(struct spot s)
{
    return &((const struct annotation *)s.answer)
                ->places.items[((const struct listing_row *)s.row)->place];
}

/* NULL: the row is a line. */
static const struct annotated_instruction *instruction_of(struct spot s)
{
    const struct listing_row *row = s.row;
    const struct annotation *a = s.answer;
    return row->kind == LISTING_CODE ? &a->instructions.items[row->instruction] : NULL;
}

static struct cell get_kind(struct spot s)
{
    enum listing_kind kind = ((const struct listing_row *)s.row)->kind;
    return CELL_OF(kind == LISTING_LINE      ? "line"
                   : kind == LISTING_INLINED ? "inlined"
                                             : "instruction");
}

static bool is_inlined(const void *row)
{
    return ((const struct listing_row *)row)->kind == LISTING_INLINED;
}

static struct cell get_function(struct spot s)
{
    return CELL_OF(
        strpool_get(&((const struct annotation *)s.answer)->strings, place_of(s)->function));
}

static struct cell get_file(struct spot s)
{
    const struct listing_row *row = s.row;
    const struct annotation *a = s.answer;
    uint32_t file = is_inlined(row) ? place_of(s)->file : a->sources.items[row->source].file;
    return CELL_OF(file && (is_inlined(row) || row->source) ? strpool_get(&a->strings, file)
                                                            : NULL);
}

static struct cell get_address(struct spot s)
{
    const struct annotated_instruction *i = instruction_of(s);
    if (i)
        say(s.made, "0x%x", i->address);
    return CELL_OF(s.made->data);
}

static struct cell get_module(struct spot s)
{
    const struct annotated_instruction *i = instruction_of(s);
    const struct annotation *a = s.answer;
    return CELL_OF(i ? a->codes.items[i->code].module->path : NULL);
}

static struct cell get_text(struct spot s)
{
    const struct listing_row *row = s.row;
    size_t size = 0;
    if (row->kind == LISTING_CODE)
        return CELL_OF(instruction_of(s)->text);
    const char *source = annotation_text(s.answer, row->source, row->line, &size);
    strbuf_add(s.made, source ? source : "", size);
    return source ? CELL_OF(s.made->data) : CELL_NOT_KNOWN;
}

enum { TOTAL = 1, COUNT = 2 };

static struct cell get_value(struct spot s)
{
    struct listing_value v = listing_value(s.answer, s.row);
    const struct value *one = s.column->number & TOTAL ? &v.total : &v.self;
    return CELL_OF(s.column->number & COUNT ? one->count : one->amount);
}

static const struct column_def columns[] = {
    {"kind", NULL, COLUMN_WORD, .get = get_kind, .json_if = COLUMN_NEVER},
    {"depth", NULL, COLUMN_COUNT, FIELD(struct listing_row, depth), .json_if = INLINED},
    {"function", NULL, COLUMN_NAME, .get = get_function, .known = is_inlined, .json_if = INLINED},
    {"file", NULL, COLUMN_PATH, .get = get_file, .json_if = INLINED},
    {"line", NULL, COLUMN_COUNT, FIELD(struct listing_row, line), .zero_is_unknown = true,
     .json_if = NOT_CODE},
    {"address", NULL, COLUMN_WORD, .get = get_address, .json_if = CODE},
    {"module", NULL, COLUMN_PATH, .get = get_module, .json_if = CODE},
    {"text", NULL, COLUMN_WORDS, .get = get_text, .json_if = LINE},
    {"text", NULL, COLUMN_WORDS, .get = get_text, .json_if = CODE, .csv_if = COLUMN_NEVER},
    {"self_bytes", NULL, COLUMN_AMOUNT, .get = get_value},
    {"self_count", NULL, COLUMN_COUNT, .get = get_value, .number = COUNT},
    {"total_bytes", NULL, COLUMN_AMOUNT, .get = get_value, .number = TOTAL},
    {"total_count", NULL, COLUMN_COUNT, .get = get_value, .number = TOTAL | COUNT},
};

static void members(struct json *j, const struct annotation *a, const struct listing_row *row)
{
    struct rows rows = {COLUMN_DEFS(columns), .answer = a};
    rows.is = row->kind == LISTING_LINE      ? LINE | NOT_CODE
              : row->kind == LISTING_INLINED ? INLINED | NOT_CODE
                                             : CODE;
    row_json(&rows, row, j);
}

/* --- JSON and CSV ----------------------------------------------------------------------------- */

/* Writes the members "inlined" and "instructions" of the line before them. Not recursive, because
 * trees may be deep. */
static void below(struct json *j, const struct annotation *a, const struct listing_row *from,
                  const struct listing_row *end, enum listing_kind kind)
{
    json_array(j, kind == LISTING_INLINED ? "inlined" : "instructions");
    for (const struct listing_row *row = from; row < end; row++) {
        if (row->kind != kind)
            continue;
        json_object(j, NULL);
        members(j, a, row);
        json_end(j);
    }
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
    json_object(j, NULL);
    members(j, a, row);
    below(j, a, row + 1, end, LISTING_INLINED);
    if (code)
        below(j, a, row + 1, end, LISTING_CODE);
    json_end(j);
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
    json_i64(&j, "self_bytes", a->self.amount);
    json_i64(&j, "self_count", a->self.count);
    json_i64(&j, "total_bytes", a->total.amount);
    json_i64(&j, "total_count", a->total.count);
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

void annotate_csv(const struct annotation *a, bool code, struct strbuf *out)
{
    struct listing l;
    size_t kept = 0;
    listing_build(&l, a, code, CONTEXT_ALL);
    for (size_t i = 0; i < l.rows.count; i++) {
        const struct listing_row row = l.rows.items[i];
        if (row.kind == LISTING_LINE || row.kind == LISTING_INLINED || row.kind == LISTING_CODE)
            l.rows.items[kept++] = row;
    }
    l.rows.count = kept;
    struct rows rows = {COLUMN_DEFS(columns), ITEMS(l.rows), .answer = a};
    rows_csv(&rows, NULL, out);
    listing_release(&l);
}
