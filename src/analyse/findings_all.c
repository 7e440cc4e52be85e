#include "analyse/findings_all.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct findings *findings_chosen(const struct findings_all *all)
{
    return &all->of.items[0]->findings;
}

static const struct profile *profile_of(const struct findings *f)
{
    return f->places.total.profile;
}

static const char *program_of(const struct profile *p)
{
    return p->executable && *p->executable ? p->executable
           : p->command.count              ? p->command.items[0]
                                           : "";
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* Takes over `process`. NULL: nothing can be told of this process. */
static struct process_findings *look(const struct recording *r, const struct query *q,
                                     char *process, int *code, struct err *err)
{
    struct process_findings *p = xcalloc(1, sizeof *p);
    *p = (struct process_findings){.process = process, .query = *q};
    if (process)
        p->query.process = process;
    *code = findings_init(&p->findings, r, &p->query, err);
    if (!*code)
        return p;
    free(process);
    free(p);
    return NULL;
}

static void process_findings_free(struct process_findings *p)
{
    findings_release(&p->findings);
    free(p->process);
    free(p);
}

static int by_peak(const void *a, const void *b)
{
    const struct profile *x = *(const struct profile *const *)a,
                         *y = *(const struct profile *const *)b;
    if (x->peak_bytes != y->peak_bytes)
        return x->peak_bytes > y->peak_bytes ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void add_basis(struct findings_all *all, const struct findings *f)
{
    all->looked++;
    all->lost_bytes = wrapped(all->lost_bytes, f->basis.lost_bytes);
    all->lost_blocks = wrapped(all->lost_blocks, f->basis.lost_blocks);
    all->planted_bytes += f->planted_bytes;
    all->planted_blocks += f->planted_blocks;
}

/* Counts, by the name of the program, the processes that were looked at. */
static void count_program(struct strpool *programs, struct map *counts, const struct profile *p)
{
    uint32_t *count = map_at(counts, strpool_add(programs, program_of(p)));
    *count = *count == MAP_NONE ? 1 : *count + 1;
}

static void look_at_others(struct findings_all *all, const struct query *q, uint64_t end_ns,
                           struct strpool *programs, struct map *counts)
{
    const struct recording *r = all->recording;
    const struct profile *chosen = profile_of(findings_chosen(all));
    const struct profile **order = xcalloc(r->profiles.count, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; i < r->profiles.count; i++)
        if (&r->profiles.items[i] != chosen)
            order[count++] = &r->profiles.items[i];
    qsort(order, count, sizeof *order, by_peak);
    for (size_t i = 0; i < count; i++) {
        if (i == FINDINGS_PROCESSES_MAX || (end_ns && now_ns() >= end_ns)) {
            all->left_out = count - i;
            break;
        }
        int code;
        struct process_findings *p = look(r, q, answer_process_word(r, order[i]), &code, NULL);
        if (!p)
            continue;
        count_program(programs, counts, order[i]);
        add_basis(all, &p->findings);
        if (p->findings.list.count)
            *vec_push(&all->of) = p;
        else
            process_findings_free(p);
    }
    free(order);
}

/* --- joining ---------------------------------------------------------------------------------- */

static const char *function_of(const struct findings *f, uint32_t call)
{
    return call ? frame_table_string(&f->places.total.frames, places_frame(&f->places, call)->name)
                : "";
}

/* What makes findings of two processes the same. */
static uint32_t identity(struct strpool *pool, const struct findings *f, const struct finding *n)
{
    struct strbuf text = {0};
    strbuf_printf(&text, "%d\n%s\n%s\n%s", (int)n->kind, program_of(profile_of(f)),
                  function_of(f, n->call),
                  function_of(f, f->places.total.tree.parent.items[n->call]));
    uint32_t number = strpool_add(pool, text.data);
    strbuf_release(&text);
    return number;
}

/* What a process is in the whole recording: by its peak, or by its time where that is wasted. */
static double scale_of(const struct findings_all *all, const struct findings *f,
                       enum finding_kind kind)
{
    uint64_t peak = 0, time = 0;
    const struct profile *p = profile_of(f);
    if (p->together)
        return 1;
    for (size_t i = 0; i < all->recording->profiles.count; i++) {
        const struct profile *each = &all->recording->profiles.items[i];
        peak = each->peak_bytes > peak ? each->peak_bytes : peak;
        time = each->duration_ns > time ? each->duration_ns : time;
    }
    double space = peak ? (double)p->peak_bytes / (double)peak : 1;
    double share = time ? (double)p->duration_ns / (double)time : 1;
    bool is_time = kind == FINDING_CHURN || kind == FINDING_CHAIN;
    return is_time && share > space ? share : space;
}

static void join(struct joined_finding *j, const struct findings *f, const struct finding *n,
                 double worth)
{
    bool larger = n->bytes > j->own->bytes;
    struct finding sum = larger ? *n : j->sum;
    *vec_push(&j->pids) = profile_of(f)->pid;
    sum.bytes = wrapped(j->sum.bytes, n->bytes);
    sum.count = wrapped(j->sum.count, n->count);
    sum.of_bytes = wrapped(j->sum.of_bytes, n->of_bytes);
    sum.freed_bytes = wrapped(j->sum.freed_bytes, n->freed_bytes);
    sum.never_less = j->sum.never_less && n->never_less;
    sum.worth = j->sum.worth + worth;
    j->sum = sum;
    if (!larger)
        return;
    j->of = f;
    j->own = n;
    size_t last = j->pids.count - 1;
    uint32_t first = j->pids.items[0];
    j->pids.items[0] = j->pids.items[last];
    j->pids.items[last] = first;
}

static int by_worth(const void *a, const void *b)
{
    const struct joined_finding *x = a, *y = b;
    if (x->sum.worth != y->sum.worth)
        return x->sum.worth > y->sum.worth ? -1 : 1;
    if (x->sum.bytes != y->sum.bytes)
        return x->sum.bytes > y->sum.bytes ? -1 : 1;
    if (x->pids.items[0] != y->pids.items[0])
        return x->pids.items[0] < y->pids.items[0] ? -1 : 1;
    return (x->own->place > y->own->place) - (x->own->place < y->own->place);
}

static void join_all(struct findings_all *all, struct strpool *programs, const struct map *counts)
{
    struct strpool pool = {0};
    struct map places = {0}; /* identity -> entry */
    for (size_t i = 0; i < all->of.count; i++) {
        const struct findings *f = &all->of.items[i]->findings;
        uint32_t alike = map_get(counts, strpool_add(programs, program_of(profile_of(f))));
        for (size_t k = 0; k < f->list.count; k++) {
            const struct finding *n = &f->list.items[k];
            double worth = n->worth * scale_of(all, f, n->kind);
            uint32_t *at = map_at(&places, identity(&pool, f, n));
            if (*at != MAP_NONE) {
                join(&all->list.items[*at], f, n, worth);
                continue;
            }
            *at = (uint32_t)all->list.count;
            struct joined_finding *j = vec_push(&all->list);
            *j = (struct joined_finding){.of = f, .own = n, .sum = *n, .alike = alike};
            j->sum.worth = worth;
            *vec_push(&j->pids) = profile_of(f)->pid;
        }
    }
    map_release(&places);
    strpool_release(&pool);
    if (all->list.count)
        qsort(all->list.items, all->list.count, sizeof *all->list.items, by_worth);
    for (size_t i = FINDINGS_MAX; i < all->list.count; i++)
        vec_release(&all->list.items[i].pids);
    if (all->list.count > FINDINGS_MAX)
        all->list.count = FINDINGS_MAX;
}

/* --- all of it -------------------------------------------------------------------------------- */

int findings_all_init(struct findings_all *all, const struct recording *r, const struct query *q,
                      uint64_t budget_ns, struct err *err)
{
    uint64_t end_ns = budget_ns ? now_ns() + budget_ns : 0;
    struct strpool programs = {0};
    struct map counts = {0};
    int code;
    *all = (struct findings_all){.recording = r};
    struct process_findings *chosen = look(r, q, NULL, &code, err);
    if (!chosen)
        return code;
    *vec_push(&all->of) = chosen;
    add_basis(all, &chosen->findings);
    count_program(&programs, &counts, profile_of(&chosen->findings));
    if (!q->process)
        look_at_others(all, q, end_ns, &programs, &counts);
    join_all(all, &programs, &counts);
    map_release(&counts);
    strpool_release(&programs);
    return 0;
}

void findings_all_release(struct findings_all *all)
{
    for (size_t i = 0; i < all->list.count; i++)
        vec_release(&all->list.items[i].pids);
    vec_release(&all->list);
    for (size_t i = 0; i < all->of.count; i++)
        process_findings_free(all->of.items[i]);
    vec_release(&all->of);
}
