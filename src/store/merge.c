#include "store/merge.h"

#include <stdlib.h>
#include <string.h>

struct merge *merge_new(void)
{
    return xcalloc(1, sizeof(struct merge));
}

void merge_input_release(struct merge_input *in)
{
    free(in->label);
    free(in->file);
    free(in->host);
    free(in->program);
    *in = (struct merge_input){0};
}

void merge_free(struct merge *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->inputs.count; i++)
        merge_input_release(&m->inputs.items[i]);
    for (size_t i = 0; i < m->metrics.count; i++)
        free(m->metrics.items[i]);
    vec_release(&m->inputs);
    vec_release(&m->metrics);
    vec_release(&m->spreads);
    free(m);
}

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

int merge_input_order(const struct merge_input *a, const struct merge_input *b)
{
    COMPARE(a->rank1 - 1, b->rank1 - 1); /* inputs without a rank come last */
    int order = strcmp(a->label, b->label);
    if (!order)
        order = strcmp(a->host, b->host);
    if (order)
        return order;
    COMPARE(a->start_unix_ns, b->start_unix_ns);
    COMPARE(a->pid, b->pid);
    return strcmp(a->file, b->file);
}

int spread_row_order(const struct spread_row *a, const struct spread_row *b)
{
    COMPARE(a->key, b->key);
    COMPARE(a->metric, b->metric);
    COMPARE(a->of, b->of);
    return 0;
}
