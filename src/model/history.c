#include "model/history.h"

#include <stdlib.h>
#include <string.h>

#include "model/answer_rows.h"

static void run_release(struct history_run *r)
{
    for (size_t i = 0; i < r->labels.count; i++) {
        free(r->labels.items[i].key);
        free(r->labels.items[i].value);
    }
    free(r->file);
    free(r->program);
    free(r->host);
    vec_release(&r->labels);
    vec_release(&r->functions);
    vec_release(&r->changes);
}

void history_release(struct history *h)
{
    for (size_t i = 0; i < h->runs.count; i++)
        run_release(&h->runs.items[i]);
    vec_release(&h->runs);
    strpool_release(&h->strings);
}

static const struct strpool *sorted_names; /* qsort has no context */

static int larger_first(const void *a, const void *b)
{
    const struct history_change *x = a, *y = b;
    uint64_t p = amount_size(wrapped_less(x->after, x->before)),
             q = amount_size(wrapped_less(y->after, y->before));
    if (p != q)
        return p > q ? -1 : 1;
    int order = strcmp(strpool_get(sorted_names, x->name), strpool_get(sorted_names, y->name));
    return order
               ? order
               : strcmp(strpool_get(sorted_names, x->module), strpool_get(sorted_names, y->module));
}

static void compare(struct history *h, const struct history_run *before, struct history_run *run,
                    size_t most)
{
    struct map of = {0}; /* name, module -> change */
    run->compared = true;
    run->change_bytes = wrapped_less(run->bytes, before->bytes);
    const struct history_run *both[] = {before, run};
    for (int which = 0; which < 2; which++)
        for (size_t i = 0; i < both[which]->functions.count; i++) {
            const struct history_function *f = &both[which]->functions.items[i];
            uint32_t *number = map_at(&of, (uint64_t)f->name << 32 | f->module);
            if (*number == MAP_NONE) {
                if (which && !before->all_functions)
                    continue; /* its earlier value is not known */
                *number = (uint32_t)run->changes.count;
                *vec_push(&run->changes) =
                    (struct history_change){.name = f->name,
                                            .module = f->module,
                                            .after = which || run->all_functions ? 0 : INT64_MIN};
            }
            struct history_change *c = &run->changes.items[*number];
            *(which ? &c->after : &c->before) = f->bytes;
        }
    size_t kept = 0;
    for (size_t i = 0; i < run->changes.count; i++) {
        const struct history_change *c = &run->changes.items[i];
        if (c->after != INT64_MIN && c->after != c->before)
            run->changes.items[kept++] = *c;
    }
    run->changes.count = kept;
    sorted_names = &h->strings;
    if (kept)
        qsort(run->changes.items, kept, sizeof *run->changes.items, larger_first);
    if (kept > most)
        run->changes.count = most;
    map_release(&of);
}

void history_compare(struct history *h, size_t most)
{
    const struct history_run *before = NULL;
    for (size_t i = 0; i < h->runs.count; i++) {
        struct history_run *run = &h->runs.items[i];
        if (!run->known)
            continue;
        if (before)
            compare(h, before, run, most);
        before = run;
    }
}
