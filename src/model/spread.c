#include "model/spread.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model/answer.h"

/* --- keys ------------------------------------------------------------------------------------- */

static uint64_t hash_words(uint64_t a, uint64_t b)
{
    uint64_t words[2] = {a, b};
    return XXH3_64bits(words, sizeof words);
}

/* Unknown code is at different addresses in each input. */
static uint64_t hash_name(const char *name)
{
    static const char unknown[] = "[unknown]";
    size_t size = sizeof unknown - 1;
    bool is = strncmp(name, "[unknown]+0x", size + 3) == 0;
    return XXH3_64bits(name, is ? size : strlen(name));
}

static uint64_t hash_text(uint64_t before, const char *text)
{
    return hash_words(before, text ? XXH3_64bits(text, strlen(text)) : 0);
}

static uint64_t hash_frame(const struct frame_table *t, const struct call_frame *f)
{
    uint64_t h = hash_name(frame_table_string(t, f->name));
    h = hash_text(h, frame_table_known(t, f->module));
    h = hash_text(h, frame_table_known(t, f->file));
    return hash_words(h, (uint64_t)f->line << 8 | f->kind);
}

void spread_keys_init(struct spread_keys *k, enum grouping by, const struct frame_table *frames,
                      const struct merged *merged)
{
    *k = (struct spread_keys){.by = by};
    if (by != BY_STACK)
        return;
    uint64_t *of_frame = xcalloc(frames->frames.count + 1, sizeof *of_frame);
    k->of_node = xcalloc(merged->parent.count + 1, sizeof *k->of_node);
    for (size_t n = 1; n < merged->parent.count; n++) { /* a parent comes before its children */
        uint32_t frame = merged->key.items[n];
        if (!of_frame[frame])
            of_frame[frame] = hash_frame(frames, &frames->frames.items[frame]);
        k->of_node[n] = hash_words(k->of_node[merged->parent.items[n]], of_frame[frame]);
    }
    free(of_frame);
}

void spread_keys_release(struct spread_keys *k)
{
    free(k->of_node);
    *k = (struct spread_keys){0};
}

uint64_t spread_key(const struct spread_keys *k, const struct answer_row *row)
{
    uint64_t h = 0;
    /* The same identity of a row as in model/group.c. */
    const char *module = row->kind == FRAME_PYTHON ? row->file : row->module;
    switch (k->by) {
    case BY_STACK:
        h = hash_text(k->of_node[row->call], row->thread);
        break;
    case BY_LINE:
        h = hash_text(hash_text(hash_name(row->name), module), row->file);
        h = hash_words(h, row->line);
        break;
    case BY_FUNCTION:
        h = hash_text(hash_name(row->name), module);
        break;
    default: /* the name alone */
        h = hash_name(row->name);
    }
    return hash_words(h, k->by + 1);
}

/* --- values ----------------------------------------------------------------------------------- */

void spread_add(struct input_spread *s, const struct input_spread *other, bool by_max, bool before)
{
    if (!other->inputs)
        return;
    if (!s->inputs) {
        *s = *other;
        return;
    }
    if (other->max > s->max || (other->max == s->max && before)) {
        s->max = other->max;
        s->where = other->where;
    }
    s->min = other->min < s->min ? other->min : s->min;
    s->inputs += other->inputs;
    if (!by_max)
        s->sum = wrapped(s->sum, other->sum);
    else if (other->sum > s->sum)
        s->sum = other->sum;
}

int64_t spread_min(const struct input_spread *s, const struct merge *m)
{
    return s->inputs < m->inputs.count && s->min > 0 ? 0 : s->min;
}

int64_t spread_mean(const struct input_spread *s, const struct merge *m)
{
    int64_t n = (int64_t)m->inputs.count, half = n / 2;
    return s->sum < 0 ? (s->sum - half) / n : wrapped(s->sum, half) / n;
}

/* --- spreads of an answer --------------------------------------------------------------------- */

/* Does the question give rows of a report without options, perhaps fewer? */
static bool is_kept(const struct answer *a)
{
    const struct query *q = a->query;
    const struct stack_filter *f = &q->filter;
    bool at_default = !q->at || strcmp(q->at, q->metric == METRIC_PEAK ? "peak" : "end") == 0;
    return a->profile->merge && !q->since && at_default && q->size == SIZE_REQUESTED &&
           q->shape == SHAPE_TABLE && !q->histogram && !f->fold.patterns.count &&
           !f->merge.rules.count && !f->no_fold && !f->python_only && !f->native_only && !f->match;
}

static const struct input_spread *find(const struct merge *m, uint64_t key, uint8_t metric,
                                       enum spread_of of, int64_t sum)
{
    struct spread_row wanted = {.key = key, .metric = metric, .of = (uint8_t)of};
    size_t at;
    BISECT(at, m->spreads.count, spread_row_order(&m->spreads.items[at], &wanted) < 0);
    if (at == m->spreads.count || spread_row_order(&m->spreads.items[at], &wanted) != 0)
        return NULL;
    const struct input_spread *s = &m->spreads.items[at].spread;
    return s->sum == sum ? s : NULL;
}

void spread_find(struct answer *a)
{
    const struct merge *m = a->profile->merge;
    if (!is_kept(a))
        return;
    uint8_t metric = 0;
    while (metric < m->metrics.count &&
           strcmp(m->metrics.items[metric], metric_name(a->query->metric)) != 0)
        metric++;
    if (metric == m->metrics.count)
        return;
    struct spread_keys keys;
    spread_keys_init(&keys, a->query->by, &a->frames, &a->merged);
    for (size_t i = 0; i < a->rows.rows.count; i++) {
        struct answer_row *row = &a->rows.rows.items[i];
        uint64_t key = spread_key(&keys, row);
        row->self_spread = find(m, key, metric, SPREAD_SELF, row->self.amount);
        row->total_spread = a->query->by == BY_STACK || a->query->by == BY_THREAD
                                ? row->self_spread
                                : find(m, key, metric, SPREAD_TOTAL, row->total.amount);
    }
    a->sum_spread = find(m, SPREAD_KEY_ALL, metric, SPREAD_SELF, a->tree.sum.amount);
    spread_keys_release(&keys);
}
