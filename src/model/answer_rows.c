#include "model/answer_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int compare_amounts(int64_t a, int64_t b)
{
    uint64_t x = amount_size(a), y = amount_size(b);
    if (x != y)
        return x > y ? -1 : 1;
    return a == b ? 0 : a > b ? -1 : 1; /* of equal size: growth comes before shrinking */
}

static int compare_rows(const void *pa, const void *pb)
{
    const struct answer_row *a = pa, *b = pb;
    int c = compare_amounts(a->self.amount, b->self.amount);
    c = c ? c : compare_amounts(a->total.amount, b->total.amount);
    c = c ? c : compare_amounts(a->self.count, b->self.count);
    c = c ? c : compare_amounts(a->total.count, b->total.count);
    c = c ? c : text_compare(a->name, b->name);
    c = c ? c : text_compare(a->module, b->module);
    c = c ? c : text_compare(a->file, b->file);
    c = c ? c : (a->line > b->line) - (a->line < b->line);
    c = c ? c : text_compare(a->thread, b->thread);
    return c ? c : (a->call > b->call) - (a->call < b->call);
}

void answer_rows_keep_own(struct answer_rows *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->rows.count; i++) {
        r->rows.items[i].total = r->rows.items[i].self;
        if (!value_is_zero(r->rows.items[i].self))
            r->rows.items[kept++] = r->rows.items[i];
    }
    r->rows.count = kept;
}

void answer_rows_sort(struct answer_rows *r)
{
    if (r->rows.count)
        qsort(r->rows.items, r->rows.count, sizeof *r->rows.items, compare_rows);
}

void answer_rows_cut(struct answer_rows *r, const struct query *q, int64_t scale, bool by_max)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->rows.count; i++) {
        const struct answer_row *row = &r->rows.items[i];
        uint64_t self = amount_size(row->self.amount), total = amount_size(row->total.amount);
        if (query_keeps(q, kept, (double)(self > total ? self : total), (double)scale)) {
            r->rows.items[kept++] = *row;
        } else {
            r->left_out++;
            value_join(&r->left_out_value, row->self, by_max);
        }
    }
    r->rows.count = kept;
}

struct answer_row row_labelled(const struct group *g, uint32_t number)
{
    struct group_label l = group_label(g, number);
    return (struct answer_row){
        .name = l.name, .module = l.module, .file = l.file, .line = l.line, .kind = l.kind};
}

void answer_rows_release(struct answer_rows *r)
{
    vec_release(&r->rows);
}
