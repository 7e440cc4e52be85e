#include "answer/document.h"

void document_text(const struct document *d, const struct style *s, struct strbuf *out)
{
    if (d->text(d->rows.answer, s, out))
        rows_text(&d->rows, s, out);
}

void document_json(const struct document *d, const struct report_sink *sink, struct strbuf *out)
{
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", d->schema);
    if (d->json)
        d->json(d->rows.answer, &j);
    rows_json(&d->rows, d->key, sink, &j);
    if (d->json_after)
        d->json_after(d->rows.answer, &j);
    json_end(&j);
}
