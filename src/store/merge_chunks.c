/*
 * merge_chunks: the inputs of a merged recording and the spreads of its rows, as the bytes of INPT
 * and SPRD chunks (docs/FORMAT.md). INPT comes before SPRD: a spread that points beyond the inputs
 * is damage.
 */
#include "store/chunk_table.h"

#include <string.h>

#include "store/merge.h"

#define LEAST_INPUT  12 /* the fewest bytes that one can take, without its values */
#define LEAST_SPREAD 3

/* --- INPT ------------------------------------------------------------------------------------- */

void inputs_put(struct strbuf *b, const struct profile *p)
{
    const struct merge *m = p->merge;
    strbuf_varint(b, m->filters_differ);
    strbuf_varint(b, INPUT_VALUES);
    strbuf_varint(b, m->inputs.count);
    for (size_t i = 0; i < m->inputs.count; i++) {
        const struct merge_input *in = &m->inputs.items[i];
        string_put(b, in->label);
        string_put(b, in->file);
        string_put(b, in->host);
        string_put(b, in->program);
        strbuf_varint(b, in->rank1);
        strbuf_varint(b, in->pid);
        strbuf_varint(b, in->processes);
        strbuf_varint(b, in->start_unix_ns);
        strbuf_varint(b, in->duration_ns);
        strbuf_varint(b, zigzag(in->exit_code));
        strbuf_varint(b, (uint64_t)in->signal);
        strbuf_varint(b, in->complete);
        for (int k = 0; k < INPUT_VALUES; k++)
            strbuf_varint(b, in->values[k]);
    }
}

static void take_input(struct cursor *c, struct merge *m, uint64_t values)
{
    struct merge_input *in = vec_push(&m->inputs);
    *in = (struct merge_input){0};
    in->label = cursor_string(c);
    in->file = cursor_string(c);
    in->host = cursor_string(c);
    in->program = cursor_string(c);
    in->rank1 = (uint32_t)cursor_varint(c);
    in->pid = (uint32_t)cursor_varint(c);
    in->processes = (uint32_t)cursor_varint(c);
    in->start_unix_ns = cursor_varint(c);
    in->duration_ns = cursor_varint(c);
    in->exit_code = (int)unzigzag(cursor_varint(c));
    in->signal = (int)cursor_varint(c) & 0xff;
    in->complete = cursor_varint(c) & 1;
    for (uint64_t k = 0; k < values; k++) { /* a later version may have more values than we know */
        uint64_t v = cursor_varint(c);
        if (k < INPUT_VALUES)
            in->values[k] = v;
    }
}

void inputs_take(struct cursor *c, struct profile *p)
{
    struct merge *m = p->merge = merge_new();
    m->filters_differ = cursor_varint(c) & 1;
    uint64_t values = cursor_varint(c);
    if (values > (uint64_t)(c->end - c->at)) {
        c->bad = true;
        values = 0;
    }
    uint64_t n = cursor_items(c, LEAST_INPUT + values, sizeof(struct merge_input));
    for (; n > 0 && !c->bad; n--)
        take_input(c, m, values);
    if (!m->inputs.count) { /* a damaged file: a merge has at least one */
        c->bad = true;
        merge_free(m);
        p->merge = NULL;
    }
}

/* --- SPRD ------------------------------------------------------------------------------------- */

enum { EVEN = 1, CONTINUED = 2, TOTAL = 4, FLAG_BITS = 3 };

/* Are all values equal? Then the sum need not be stored. */
static bool is_even(const struct input_spread *s)
{
    return s->min == s->max && (uint64_t)s->sum == s->inputs * (uint64_t)s->max;
}

void spreads_put(struct strbuf *b, const struct profile *p)
{
    const struct merge *m = p->merge;
    uint64_t key = 0;
    strbuf_varint(b, m->metrics.count);
    for (size_t i = 0; i < m->metrics.count; i++)
        string_put(b, m->metrics.items[i]);
    strbuf_varint(b, m->spreads.count);
    for (size_t i = 0; i < m->spreads.count; i++) {
        const struct spread_row *r = &m->spreads.items[i];
        const struct input_spread *s = &r->spread;
        bool even = is_even(s), same = i && r->key == key;
        strbuf_varint(b, (uint64_t)r->metric << FLAG_BITS | (even ? EVEN : 0) |
                             (same ? CONTINUED : 0) | (r->of == SPREAD_TOTAL ? TOTAL : 0));
        if (!same)
            strbuf_varint(b, r->key - key);
        key = r->key;
        strbuf_varint(b, s->inputs);
        strbuf_varint(b, zigzag(s->max));
        strbuf_varint(b, s->where);
        if (even)
            continue;
        strbuf_varint(b, zigzag(s->min));
        strbuf_varint(b, zigzag(s->sum));
    }
}

void spreads_take(struct cursor *c, struct profile *p)
{
    struct merge *m = p->merge;
    uint64_t key = 0;
    if (!m) { /* without the inputs, spreads mean nothing */
        c->bad = true;
        return;
    }
    uint64_t metrics = cursor_count(c, 1);
    for (c->bad |= metrics > MERGE_METRICS; metrics > 0 && !c->bad; metrics--)
        *vec_push(&m->metrics) = cursor_string(c);
    for (uint64_t n = cursor_items(c, LEAST_SPREAD, sizeof(struct spread_row)); n > 0; n--) {
        uint64_t flags = cursor_varint(c);
        key += flags & CONTINUED ? 0 : cursor_varint(c);
        struct spread_row r = {.key = key,
                               .metric = (uint8_t)(flags >> FLAG_BITS),
                               .of = flags & TOTAL ? SPREAD_TOTAL : SPREAD_SELF};
        r.spread.inputs = cursor_varint(c);
        r.spread.max = r.spread.min = unzigzag(cursor_varint(c));
        uint64_t where = cursor_varint(c);
        r.spread.where = (uint32_t)where;
        r.spread.sum = (int64_t)(r.spread.inputs * (uint64_t)r.spread.max);
        if (!(flags & EVEN)) {
            r.spread.min = unzigzag(cursor_varint(c));
            r.spread.sum = unzigzag(cursor_varint(c));
        }
        c->bad |= flags >> FLAG_BITS >= m->metrics.count || where >= m->inputs.count ||
                  (m->spreads.count && spread_row_order(vec_last(&m->spreads), &r) >= 0);
        if (c->bad)
            return;
        *vec_push(&m->spreads) = r;
    }
}
