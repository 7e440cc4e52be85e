#include "analyse/tree.h"

#include <stdlib.h>

#include "model/imported.h"

struct activity {
    int64_t gained, freed, count, own_gained, own_freed;
    uint64_t first_ns; /* 0: none */
};

/* Adds up what each node of the tree did itself. */
static void add_rows(struct activity *a, const struct tree *d)
{
    const struct profile *p = d->places.total.profile;
    const uint32_t *site_call = d->places.total.tree.site_call;
    for (size_t i = d->window.since.intervals; i < d->window.at.intervals; i++) {
        const struct interval *v = &p->intervals.items[i];
        for (size_t k = v->first_row; k < v->first_row + v->row_count; k++) {
            const struct row *row = &p->rows.items[k];
            if (site_call[row->site] == CALL_NONE ||
                !domain_is_live(p->sites.items[row->site].domain))
                continue;
            struct activity *n = &a[d->tree.of_call[site_call[row->site]]];
            n->own_gained = wrapped(n->own_gained, (int64_t)row->columns[COL_BYTES]);
            n->own_freed = wrapped(n->own_freed, (int64_t)row->columns[COL_FREED]);
            n->count = wrapped(n->count, (int64_t)row->columns[COL_ALLOCS]);
            n->first_ns = n->first_ns ? n->first_ns : v->end_ns;
        }
    }
}

/* A parent comes before its children. */
static void sum_up(struct activity *a, const struct tree *d)
{
    for (uint32_t n = (uint32_t)d->tree.parent.count; n-- > 0;) {
        a[n].gained = wrapped(a[n].gained, a[n].own_gained);
        a[n].freed = wrapped(a[n].freed, a[n].own_freed);
        if (!n)
            break;
        struct activity *up = &a[d->tree.parent.items[n]];
        up->gained = wrapped(up->gained, a[n].gained);
        up->freed = wrapped(up->freed, a[n].freed);
        up->count = wrapped(up->count, a[n].count);
        if (a[n].first_ns && (!up->first_ns || a[n].first_ns < up->first_ns))
            up->first_ns = a[n].first_ns;
    }
}

struct sibling {
    uint32_t node, parent;
    uint64_t rank; /* the smallest is listed first */
};

static int in_order(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static void list(struct tree *d, const struct activity *a, bool by_size)
{
    size_t n = d->tree.parent.count;
    struct sibling *all = xmalloc(n * sizeof *all);
    uint32_t *first = xcalloc(n + 1, sizeof *first), *depth = xcalloc(n, sizeof *depth);
    VEC(uint32_t) stack = {0};
    size_t count = 0;
    for (uint32_t i = 1; i < n; i++) {
        uint64_t change = amount_size(a[i].gained) + amount_size(a[i].freed);
        if (!a[i].first_ns)
            continue;
        all[count++] = (struct sibling){i, d->tree.parent.items[i],
                                        by_size ? UINT64_MAX - change : a[i].first_ns};
        first[d->tree.parent.items[i] + 1]++;
    }
    qsort(all, count, sizeof *all, in_order);
    for (size_t i = 1; i <= n; i++)
        first[i] += first[i - 1];
    for (uint32_t i = first[1]; i-- > first[0];)
        *vec_push(&stack) = all[i].node;
    while (stack.count) {
        uint32_t node = stack.items[--stack.count], parent = d->tree.parent.items[node];
        depth[node] = parent ? depth[parent] + 1 : 0;
        *vec_push(&d->calls) = (struct tree_call){.node = node,
                                                  .depth = depth[node],
                                                  .first_ns = a[node].first_ns,
                                                  .gained = a[node].gained,
                                                  .freed = a[node].freed,
                                                  .count = a[node].count,
                                                  .own_gained = a[node].own_gained,
                                                  .own_freed = a[node].own_freed};
        for (uint32_t i = first[node + 1]; i-- > first[node];)
            *vec_push(&stack) = all[i].node;
    }
    vec_release(&stack);
    free(depth);
    free(first);
    free(all);
}

int tree_init(struct tree *d, const struct recording *r, const struct query *q, bool by_size,
              struct err *err)
{
    *d = (struct tree){0};
    int code = places_init(&d->places, r, q, err);
    if (code)
        return code;
    code = known_all(d->places.total.profile, UNKNOWN_TIME | UNKNOWN_HISTORY, "changes over time",
                     err);
    if (!code)
        code = window_resolve(d->places.total.profile, q->since, q->at, &d->window, err);
    if (code) {
        places_release(&d->places);
        return code;
    }
    merged_build(&d->tree, &d->places.total.tree, NULL, false);
    struct activity *a = xcalloc(d->tree.parent.count, sizeof *a);
    add_rows(a, d);
    sum_up(a, d);
    list(d, a, by_size);
    free(a);
    return 0;
}

void tree_release(struct tree *d)
{
    vec_release(&d->calls);
    merged_release(&d->tree);
    places_release(&d->places);
}
