#include "model/aggregate.h"

#include <stdlib.h>
#include <string.h>

static uint32_t group_of(const struct call_tree *t, const struct group *g, uint32_t call)
{
    return g->of_frame[t->frame.items[call]];
}

void aggregate_groups(struct answer_rows *out, const struct call_tree *t, const struct group *g)
{
    struct value *self = xcalloc(g->count + 1, sizeof *self);
    struct value *total = xcalloc(g->count + 1, sizeof *total);
    /* Per group: calls on the current path. */
    uint32_t *active = xcalloc(g->count + 1, sizeof *active);
    struct call_walk walk = {0};
    for (uint32_t c = 1; c < t->parent.count; c++) {
        for (uint32_t left; (left = call_walk_leave(&walk, t, c)) != CALL_NONE;)
            active[group_of(t, g, left)]--;
        uint32_t n = group_of(t, g, c);
        value_join(&self[n], t->own[c], t->by_max);
        if (active[n]++ == 0)
            value_join(&total[n], t->below[c], t->by_max);
    }
    for (uint32_t n = 0; n < g->count; n++) {
        if (value_is_zero(self[n]) && value_is_zero(total[n]))
            continue;
        struct answer_row row = row_labelled(g, n);
        row.call = n;
        row.self = self[n];
        row.total = total[n];
        *vec_push(&out->rows) = row;
    }
    vec_release(&walk.path);
    free(self);
    free(total);
    free(active);
}

void aggregate_threads(struct answer_rows *out, const struct call_tree *t, const struct measure *m,
                       const struct profile *p)
{
    struct strpool names = {0};
    struct map rows = {0};
    uint32_t *row_of = xmalloc((p->threads.count + 1) * sizeof *row_of);
    for (size_t i = 0; i <= p->threads.count; i++) { /* one more, for sites of unknown threads */
        const char *name = i < p->threads.count ? p->threads.items[i].name : NULL;
        name = name && *name ? name : "[unknown]";
        uint32_t *row = map_at(&rows, strpool_add(&names, name));
        if (*row == MAP_NONE) {
            *row = (uint32_t)out->rows.count;
            *vec_push(&out->rows) = (struct answer_row){.name = name};
        }
        row_of[i] = *row;
        out->rows.items[*row].threads += i < p->threads.count;
    }
    for (size_t s = 0; s < m->count; s++) {
        if (t->site_call[s] == CALL_NONE)
            continue;
        size_t thread = p->sites.items[s].thread;
        struct answer_row *row =
            &out->rows.items[row_of[thread < p->threads.count ? thread : p->threads.count]];
        value_join(&row->self, m->sites[s], t->by_max);
    }
    answer_rows_keep_own(out);
    free(row_of);
    map_release(&rows);
    strpool_release(&names);
}
