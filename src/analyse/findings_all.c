#include "analyse/findings_all.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define WORTH_LEAST 0.0005 /* for processes other than the chosen one */

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

/* --- one process ------------------------------------------------------------------------------ */

/* Takes ownership of `process`. NULL: nothing is known about this process. */
static struct process_findings *analyse_process(const struct recording *r, const struct query *q,
                                                char *process, int *code, struct err *err)
{
    struct process_findings *p = xcalloc(1, sizeof *p);
    *p = (struct process_findings){.process = process, .query = *q};
    p->query.filter.lenient = r->profiles.count > 1;
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

static int by_memory(const void *a, const void *b)
{
    const struct profile *x = *(const struct profile *const *)a,
                         *y = *(const struct profile *const *)b;
    if (profile_memory(x) != profile_memory(y))
        return profile_memory(x) > profile_memory(y) ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void add_basis(struct findings_all *all, const struct findings *f)
{
    all->analysed++;
    all->lost_bytes = wrapped(all->lost_bytes, f->basis.lost_bytes);
    all->lost_blocks = wrapped(all->lost_blocks, f->basis.lost_blocks);
    all->planted_bytes += f->planted_bytes;
    all->planted_blocks += f->planted_blocks;
    all->cut_stacks += f->cut_stacks;
    all->cut_peak_bytes += f->cut_peak_bytes;
    all->cut_lost_bytes = wrapped(all->cut_lost_bytes, f->cut_lost_bytes);
    all->cut_lost_blocks = wrapped(all->cut_lost_blocks, f->cut_lost_blocks);
}

/* --- joining processes ------------------------------------------------------------------------ */

/* State while the processes are analysed, one after the other. */
struct joining {
    struct strpool programs, identities;
    struct map by_pid;  /* pid -> its last profile */
    struct map alike;   /* program -> number of its processes in the recording */
    struct map workers; /* program -> number of those that a process of the same program forked */
    struct map counts;  /* program -> number of those that were analysed */
    struct map unknown; /* program -> number of those whose lost blocks are unknown */
    struct map entries; /* identity -> entry of the list */
    VEC(int64_t) most;  /* by entry: the bytes of the process that has most */
};

static void joining_release(struct joining *j)
{
    strpool_release(&j->programs);
    strpool_release(&j->identities);
    map_release(&j->by_pid);
    map_release(&j->alike);
    map_release(&j->counts);
    map_release(&j->workers);
    map_release(&j->unknown);
    map_release(&j->entries);
    vec_release(&j->most);
}

static const char *function_of(const struct places *p, uint32_t call)
{
    return call ? frame_table_string(&p->total.frames, places_frame(p, call)->name) : "";
}

/* The identity of a finding: findings of two processes with the same identity are joined. */
static uint32_t identity(struct strpool *pool, const struct findings *f, const struct finding *n)
{
    const struct places *places = finding_places(f, n);
    struct strbuf text = {0};
    strbuf_printf(&text, "%d\n%s\n%s\n%s", (int)n->kind, program_of(profile_of(f)),
                  function_of(places, n->call),
                  function_of(places, places->total.tree.parent.items[n->call]));
    uint32_t number = strpool_add(pool, text.data);
    strbuf_release(&text);
    return number;
}

/* The size of a process: its peak or its resident memory, whichever is larger. */
static uint64_t size_of(const struct profile *p)
{
    struct findings_basis b;
    resident_highest(p, &b);
    return b.rss_bytes > p->peak_bytes ? b.rss_bytes : p->peak_bytes;
}

/* The weight of a process in the whole recording: its size; for churn, which wastes time, its run
 * time if that weighs more. */
static double scale_of(const struct findings_all *all, const struct findings *f,
                       enum finding_kind kind)
{
    const struct profile *p = profile_of(f);
    if (p->together)
        return 1;
    double space = all->largest_bytes ? (double)size_of(p) / (double)all->largest_bytes : 1;
    double share = all->longest_ns ? (double)p->duration_ns / (double)all->longest_ns : 1;
    return kind == FINDING_CHURN && share > space ? share : space;
}

static void join(struct joined_finding *j, const struct profile *p, size_t number,
                 const struct finding *n, double worth, int64_t *most)
{
    bool larger = n->bytes > *most;
    struct finding sum = larger ? *n : j->sum;
    *vec_push(&j->pids) = p->pid;
    sum.bytes = wrapped(j->sum.bytes, n->bytes);
    sum.count = wrapped(j->sum.count, n->count);
    sum.of_bytes = wrapped(j->sum.of_bytes, n->of_bytes);
    sum.freed_bytes = wrapped(j->sum.freed_bytes, n->freed_bytes);
    sum.led_bytes = wrapped(j->sum.led_bytes, n->led_bytes);
    sum.led_count = wrapped(j->sum.led_count, n->led_count);
    sum.never_less = j->sum.never_less && n->never_less;
    sum.worth = j->sum.worth + worth;
    j->sum = sum;
    if (!larger)
        return;
    *most = n->bytes;
    j->profile = p;
    j->number = number;
    size_t last = j->pids.count - 1;
    uint32_t first = j->pids.items[0];
    j->pids.items[0] = j->pids.items[last];
    j->pids.items[last] = first;
}

static void count_one(struct map *counts, uint32_t program)
{
    uint32_t *count = map_at(counts, program);
    *count = *count == MAP_NONE ? 1 : *count + 1;
}

static uint32_t counted(const struct map *counts, uint32_t program)
{
    uint32_t count = map_get(counts, program);
    return count == MAP_NONE ? 0 : count;
}

/* Was it forked by a process that runs the same program? */
static bool is_worker(const struct findings_all *all, const struct joining *j, uint32_t pid)
{
    const struct profile *items = all->recording->profiles.items;
    uint32_t own = map_get(&j->by_pid, pid);
    uint32_t parent = own == MAP_NONE ? MAP_NONE : map_get(&j->by_pid, items[own].ppid);
    return parent != MAP_NONE && strcmp(program_of(&items[parent]), program_of(&items[own])) == 0;
}

/* Counts the processes of each program, whether they are analysed or not; if `only` is given, just
 * that one. */
static void count_programs(const struct findings_all *all, struct joining *j,
                           const struct profile *only)
{
    const struct recording *r = all->recording;
    for (size_t i = 0; i < r->profiles.count; i++)
        *map_at(&j->by_pid, r->profiles.items[i].pid) = (uint32_t)i;
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        if (only && p != only)
            continue;
        uint32_t program = strpool_add(&j->programs, program_of(p));
        count_one(&j->alike, program);
        if (is_worker(all, j, p->pid))
            count_one(&j->workers, program);
    }
}

/* Adds the findings of one more process. */
static void take(struct findings_all *all, struct joining *j, const struct findings *f)
{
    const struct profile *p = profile_of(f);
    uint32_t program = strpool_add(&j->programs, program_of(p));
    count_one(&j->counts, program);
    if (!f->basis.reach_known)
        count_one(&j->unknown, program);
    add_basis(all, f);
    for (size_t i = 0; i < f->list.count; i++) {
        const struct finding *n = &f->list.items[i];
        double worth = n->worth * scale_of(all, f, n->kind);
        uint32_t *at = map_at(&j->entries, identity(&j->identities, f, n));
        if (*at != MAP_NONE) {
            join(&all->list.items[*at], p, i, n, worth, &j->most.items[*at]);
            continue;
        }
        *at = (uint32_t)all->list.count;
        struct joined_finding *entry = vec_push(&all->list);
        *entry = (struct joined_finding){.profile = p, .number = i, .sum = *n};
        entry->sum.worth = worth;
        *vec_push(&entry->pids) = p->pid;
        *vec_push(&j->most) = n->bytes;
    }
}

static void analyse_others(struct findings_all *all, struct joining *j, const struct query *q,
                           uint64_t end_ns)
{
    const struct recording *r = all->recording;
    const struct profile *chosen = profile_of(findings_chosen(all));
    const struct profile **order = xcalloc(r->profiles.count, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; i < r->profiles.count; i++)
        if (&r->profiles.items[i] != chosen)
            order[count++] = &r->profiles.items[i];
    qsort(order, count, sizeof *order, by_memory);
    for (size_t i = 0; i < count; i++) {
        if (i == FINDINGS_PROCESSES_MAX || (end_ns && thread_cpu_ns() >= end_ns)) {
            all->left_out = count - i;
            break;
        }
        int code;
        struct process_findings *p =
            analyse_process(r, q, answer_process_word(r, order[i]), &code, NULL);
        if (!p)
            continue;
        take(all, j, &p->findings);
        process_findings_free(p);
    }
    free(order);
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
    return (x->number > y->number) - (x->number < y->number);
}

/* A few bytes of a launcher are no finding about the program that it starts. */
static void leave_out_small(struct findings_all *all)
{
    const struct profile *chosen = profile_of(findings_chosen(all));
    size_t kept = 0;
    for (size_t i = 0; i < all->list.count; i++) {
        struct joined_finding *j = &all->list.items[i];
        bool own = false;
        for (size_t k = 0; k < j->pids.count; k++)
            own |= j->pids.items[k] == chosen->pid;
        if (own || j->sum.worth >= WORTH_LEAST)
            all->list.items[kept++] = *j;
        else
            vec_release(&j->pids);
    }
    all->list.count = kept;
}

/* The findings of a process in the list, computed once more. */
static const struct findings *findings_again(struct findings_all *all, const struct query *q,
                                             const struct profile *p)
{
    for (size_t i = 0; i < all->of.count; i++)
        if (profile_of(&all->of.items[i]->findings) == p)
            return &all->of.items[i]->findings;
    int code;
    struct process_findings *again =
        analyse_process(all->recording, q, answer_process_word(all->recording, p), &code, NULL);
    *vec_push(&all->of) = again;
    return &again->findings;
}

static void finish(struct findings_all *all, const struct joining *j, const struct query *q)
{
    leave_out_small(all);
    if (all->list.count)
        qsort(all->list.items, all->list.count, sizeof *all->list.items, by_worth);
    for (size_t i = FINDINGS_MAX; i < all->list.count; i++)
        vec_release(&all->list.items[i].pids);
    if (all->list.count > FINDINGS_MAX)
        all->list.count = FINDINGS_MAX;
    for (size_t i = 0; i < all->list.count; i++) {
        struct joined_finding *e = &all->list.items[i];
        e->of = findings_again(all, q, e->profile);
        e->own = &e->of->list.items[e->number];
        for (uint32_t k = 0; k < j->programs.strings.count; k++)
            if (strcmp(strpool_get(&j->programs, k), program_of(e->profile)) == 0) {
                e->alike = counted(&j->alike, k);
                e->not_analysed = e->alike - counted(&j->counts, k);
                e->workers = counted(&j->workers, k);
                e->unknown = counted(&j->unknown, k);
            }
        for (size_t k = 0; k < e->pids.count; k++)
            e->workers = is_worker(all, j, e->pids.items[k]) ? e->workers : 0;
        /* This pointed into the findings that were freed. */
        e->sum.chain = e->own->chain;
        e->sum.mark = e->own->mark;
    }
}

/* --- findings_all_init ------------------------------------------------------------------------ */

int findings_all_init(struct findings_all *all, const struct recording *r, const struct query *q,
                      uint64_t budget_ns, struct err *err)
{
    uint64_t end_ns = budget_ns ? thread_cpu_ns() + budget_ns : 0;
    struct joining joining = {0};
    int code;
    *all = (struct findings_all){.recording = r};
    struct process_findings *chosen = analyse_process(r, q, NULL, &code, err);
    if (!chosen)
        return code;
    *vec_push(&all->of) = chosen;
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        uint64_t size = size_of(p);
        all->largest_bytes = size > all->largest_bytes ? size : all->largest_bytes;
        all->longest_ns = p->duration_ns > all->longest_ns ? p->duration_ns : all->longest_ns;
    }
    count_programs(all, &joining, q->process ? profile_of(&chosen->findings) : NULL);
    take(all, &joining, &chosen->findings);
    if (!q->process)
        analyse_others(all, &joining, q, end_ns);
    finish(all, &joining, q);
    joining_release(&joining);
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
