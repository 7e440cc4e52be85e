#include "analyse/leaks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/imported.h"
#include "model/sample_sums.h"

#define GREW_BLOCKS 16 /* fewer may look steady by chance */

static const char *const kind_names[REACHES] = {
    [REACH_UNKNOWN] = "unclassified",
    [REACH_LOST] = "lost",
    [REACH_INDIRECT] = "indirect",
    [REACH_REACHABLE] = "reachable",
};

/* What matters most comes first. */
static const int kind_ranks[REACHES] = {
    [REACH_LOST] = 0, [REACH_INDIRECT] = 1, [REACH_UNKNOWN] = 2, [REACH_REACHABLE] = 3};

const char *leak_kind_name(enum reach kind)
{
    return kind_names[kind];
}

int leak_kinds_parse(const char *text, unsigned *kinds, struct err *err)
{
    *kinds = 0;
    for (const char *word = text;; word++) {
        size_t size = strcspn(word, ",");
        int kind = REACHES - 1;
        while (kind >= 0 && (strncmp(kind_names[kind], word, size) != 0 || kind_names[kind][size]))
            kind--;
        if (kind < 0)
            return err_set(err, -EINVAL,
                           "--kind '%.*s' is not known; it is one of lost, indirect, reachable, "
                           "unclassified, or several with commas",
                           size > 80 ? 80 : (int)size, word);
        *kinds |= LEAKS_OF(kind);
        word += size;
        if (!*word)
            return 0;
    }
}

bool leak_grew(const struct leak *leak)
{
    uint64_t most = 0, late = 0;
    size_t parts = 0;
    for (size_t i = 0; i < LEAK_PARTS; i++) {
        most = leak->allocated_in[i] > most ? leak->allocated_in[i] : most;
        late += i >= LEAK_PARTS / 2 ? leak->allocated_in[i] : 0;
        parts += leak->allocated_in[i] > 0;
    }
    /* A block in each of many processes that came one after the other: none of these grew. */
    uint64_t of_each = leak->blocks / (leak->processes ? leak->processes : 1);
    /* The first and the last parts of a program's life are different. */
    return of_each >= GREW_BLOCKS && parts >= LEAK_PARTS - 1 && most <= leak->blocks / 2 &&
           late >= leak->blocks / 4;
}

static void add_sum(struct leak_sum *sum, struct leak_sum more)
{
    sum->blocks += more.blocks;
    sum->bytes += more.bytes;
    sum->places += more.places;
}

struct leak_sum leaks_lost(const struct profile *p)
{
    const char *why;
    const struct scan *s = leak_scan_judged(p, &why);
    struct leak_sum sum = {0};
    for (size_t i = 0; s && i < s->row_count; i++) {
        const struct live_row *r = &p->live.items[s->first_row + i];
        if (r->reach == REACH_LOST || r->reach == REACH_INDIRECT)
            add_sum(&sum, (struct leak_sum){.blocks = r->blocks, .bytes = r->bytes});
    }
    return sum;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Rows of one kind that become entries. */
struct source {
    const struct live_row *rows;
    size_t count;
    int kind; /* enum reach; -1: any */
};

static bool counts(const struct leaks *l, const struct source *s, const struct live_row *r)
{
    uint64_t older = l->question->older_ns, at = l->scan->time_ns;
    return (s->kind < 0 || r->reach == (uint32_t)s->kind) && r->interval >= l->since.intervals &&
           (!older || (at >= older && r->last_ns <= at - older));
}

struct share {
    uint32_t entry, thread;
    uint64_t bytes;
};

/* State while the entries of one group are made. */
struct making {
    struct leaks *l;
    struct leak_group *group;
    VEC(struct leak) entries;
    struct map of_node;       /* node of the merged tree -> entry */
    VEC(struct share) shares; /* by name: the threads of entries */
    struct map of_share;
    struct strpool names;
    uint32_t *name_of;     /* thread -> name; one more for unknown threads */
    uint32_t *process_of;  /* thread -> process, in a combined profile; otherwise NULL */
    struct map of_process; /* of entries */
};

/* The threads of a combined profile are those of its processes, one after the other. */
static void number_processes(struct making *m)
{
    const struct profile *p = m->l->profile;
    const struct recording *r = m->l->recording;
    size_t thread = 0;
    if (!p->together || p->merge)
        return;
    m->process_of = xcalloc(p->threads.count + 1, sizeof *m->process_of);
    for (size_t i = 0; i < r->profiles.count; i++)
        for (size_t k = 0; k < r->profiles.items[i].threads.count && thread < p->threads.count; k++)
            m->process_of[thread++] = (uint32_t)i;
}

static void count_process(struct making *m, uint32_t entry, const struct live_row *r)
{
    size_t thread = m->l->profile->sites.items[r->site].thread;
    if (!m->process_of || thread >= m->l->profile->threads.count)
        return;
    uint32_t *place = map_at(&m->of_process, (uint64_t)entry << 32 | m->process_of[thread]);
    if (*place == MAP_NONE) {
        *place = 0;
        m->entries.items[entry].processes++;
    }
}

static void name_threads(struct making *m)
{
    const struct profile *p = m->l->profile;
    m->name_of = xmalloc((p->threads.count + 1) * sizeof *m->name_of);
    for (size_t i = 0; i < p->threads.count; i++)
        m->name_of[i] =
            strpool_add(&m->names, p->threads.items[i].name ? p->threads.items[i].name : "");
    m->name_of[p->threads.count] = strpool_add(&m->names, "");
}

static uint32_t entry_of(struct making *m, const struct live_row *r, enum reach kind)
{
    const struct merged *tree = &m->group->merged;
    uint32_t node = tree->of_call[m->group->tree.site_call[r->site]];
    uint32_t *place = map_at(&m->of_node, node);
    if (*place == MAP_NONE) {
        *place = (uint32_t)m->entries.count;
        *vec_push(&m->entries) =
            (struct leak){.kind = kind, .node = node, .tree = tree, .first_ns = UINT64_MAX};
    }
    return *place;
}

static void add_share(struct making *m, uint32_t entry, const struct live_row *r)
{
    const struct profile *p = m->l->profile;
    size_t thread = p->sites.items[r->site].thread;
    uint32_t name = m->name_of[thread < p->threads.count ? thread : p->threads.count];
    uint32_t *place = map_at(&m->of_share, (uint64_t)entry << 32 | name);
    if (*place == MAP_NONE) {
        *place = (uint32_t)m->shares.count;
        *vec_push(&m->shares) = (struct share){entry, (uint32_t)thread, 0};
        m->entries.items[entry].threads++;
    }
    m->shares.items[*place].bytes += r->bytes;
}

static size_t part_of(const struct leaks *l, uint64_t time_ns)
{
    double part = (double)time_ns * LEAK_PARTS / ((double)l->scan->time_ns + 1);
    return part < LEAK_PARTS ? (size_t)part : LEAK_PARTS - 1;
}

static void add_row(struct making *m, const struct live_row *r, enum reach kind)
{
    if (m->group->tree.site_call[r->site] == CALL_NONE || (!r->blocks && !r->bytes))
        return;
    uint32_t entry = entry_of(m, r, kind);
    struct leak *e = &m->entries.items[entry];
    e->blocks += r->blocks;
    e->bytes += r->bytes;
    e->usable += r->usable;
    e->untouched += r->untouched;
    e->led_blocks += r->led_blocks;
    e->led_bytes += r->led_bytes;
    e->first_ns = r->first_ns < e->first_ns ? r->first_ns : e->first_ns;
    e->last_ns = r->last_ns > e->last_ns ? r->last_ns : e->last_ns;
    /* For a row that spans several parts, only its two ends are certain. */
    e->allocated_in[part_of(m->l, r->first_ns)] += r->blocks - r->blocks / 2;
    e->allocated_in[part_of(m->l, r->last_ns)] += r->blocks / 2;
    add_share(m, entry, r);
    count_process(m, entry, r);
}

static void choose_threads(struct making *m)
{
    const struct profile *p = m->l->profile;
    uint64_t *most = xcalloc(m->entries.count + 1, sizeof *most);
    for (size_t i = 0; i < m->shares.count; i++) {
        const struct share *s = &m->shares.items[i];
        struct leak *e = &m->entries.items[s->entry];
        if (e->thread && s->bytes <= most[s->entry])
            continue;
        most[s->entry] = s->bytes;
        e->thread = s->thread < p->threads.count ? p->threads.items[s->thread].name : NULL;
    }
    free(most);
}

static void finish(struct making *m, unsigned kinds, struct leak_sum *sum, struct leak_list *list)
{
    struct leaks *l = m->l;
    choose_threads(m);
    for (size_t i = 0; i < m->entries.count; i++) {
        struct leak *e = &m->entries.items[i];
        const struct leak_sum own = {e->blocks, e->bytes, 1};
        add_sum(sum, own);
        if (e->kind == REACH_REACHABLE && list == &l->list && leak_grew(e))
            add_sum(&l->growing, own);
        if (kinds & LEAKS_OF(e->kind))
            *vec_push(&list->leaks) = *e;
    }
    vec_release(&m->entries);
    vec_release(&m->shares);
    map_release(&m->of_node);
    map_release(&m->of_share);
    map_release(&m->of_process);
    free(m->process_of);
    strpool_release(&m->names);
    free(m->name_of);
}

static int add_group(struct leaks *l, struct leak_group *g, const struct source *s, unsigned kinds,
                     struct leak_sum *sum, struct leak_list *list, struct err *err)
{
    struct measure m = {.sites = xcalloc(l->profile->sites.count + 1, sizeof *m.sites),
                        .count = l->profile->sites.count};
    for (size_t i = 0; i < s->count; i++)
        if (counts(l, s, &s->rows[i]))
            value_join(&m.sites[s->rows[i].site],
                       (struct value){(int64_t)s->rows[i].bytes, (int64_t)s->rows[i].blocks},
                       false);
    int code = call_tree_build(&g->tree, &l->frames, &m, NULL, CHARGE_INNERMOST, err);
    measure_release(&m);
    if (code)
        return code;
    merged_build(&g->merged, &g->tree, NULL, false);
    struct making making = {.l = l, .group = g};
    name_threads(&making);
    number_processes(&making);
    for (size_t i = 0; i < s->count; i++)
        if (counts(l, s, &s->rows[i]))
            add_row(&making, &s->rows[i], (enum reach)(s->kind < 0 ? REACH_UNKNOWN : s->kind));
    finish(&making, kinds, sum, list);
    return 0;
}

/* --- order ------------------------------------------------------------------------------------ */

/* The size by which an entry is sorted. Data formats list indirect blocks themselves; text shows
 * them with the lost blocks that lead to them. */
static struct leak_sum size_of(const struct leak *e, const struct leaks_question *q)
{
    return (struct leak_sum){.blocks = e->blocks + (q->by_size ? 0 : e->led_blocks),
                             .bytes = e->bytes + (q->by_size ? 0 : e->led_bytes),
                             .places = 1};
}

static int compare_leaks(const void *pa, const void *pb, void *question)
{
    const struct leak *a = pa, *b = pb;
    const struct leaks_question *q = question;
    uint64_t size_a = size_of(a, q).bytes, size_b = size_of(b, q).bytes;
    int rank = kind_ranks[a->kind] - kind_ranks[b->kind];
    if (!q->by_size && rank)
        return rank;
    if (size_a != size_b)
        return size_a > size_b ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->blocks != b->blocks)
        return a->blocks > b->blocks ? -1 : 1;
    return rank ? rank : (a->node > b->node) - (a->node < b->node);
}

static void sort_and_cut(struct leak_list *list, const struct leaks_question *q)
{
    struct leaks_question by = *q;
    struct leak_sum all = {0};
    size_t kept = 0;
    if (list->leaks.count)
        qsort_r(list->leaks.items, list->leaks.count, sizeof *list->leaks.items, compare_leaks,
                &by);
    for (size_t i = 0; i < list->leaks.count; i++)
        add_sum(&all, size_of(&list->leaks.items[i], q));
    for (size_t i = 0; i < list->leaks.count; i++) {
        struct leak_sum size = size_of(&list->leaks.items[i], q);
        if (query_keeps(&q->query, kept, (double)size.bytes, (double)all.bytes))
            list->leaks.items[kept++] = list->leaks.items[i];
        else
            add_sum(&list->left_out, size);
    }
    list->leaks.count = kept;
}

/* --- leaks_find ------------------------------------------------------------------------------- */

static int resolve(struct leaks *l, struct err *err)
{
    const struct query *q = &l->question->query;
    if (q->filter.python_only && q->filter.native_only)
        return err_set(err, -EINVAL, "--python-only and --native-only exclude each other");
    int code = answer_process(l->recording, q, &l->profile, err);
    if (!code)
        code = sampled_heap_check(l->profile, err);
    if (!code && l->profile->merge && (q->since || l->question->older_ns))
        code = err_set(err, -EINVAL,
                       "a merged recording does not keep when blocks were allocated; leave out %s",
                       q->since ? "--since" : "--older");
    if (!code)
        code = known_all(l->profile, UNKNOWN_LIVE | UNKNOWN_COUNTS, "blocks that were never freed",
                         err);
    if (!code)
        code = leak_scan_resolve(l->profile, q->at, &l->scan, err);
    if (!code)
        code = moment_resolve(l->profile, q->since ? q->since : "start", &l->since, err);
    if (!code && l->since.intervals > l->scan->intervals)
        code =
            err_set(err, -EINVAL,
                    "--since %s (%.3f s) comes after the leak scan (%.3f s); choose an earlier one",
                    l->since.word, (double)l->since.time_ns / 1e9, (double)l->scan->time_ns / 1e9);
    if (code)
        return code;
    struct window until = {.at = {.word = "end", .intervals = l->scan->intervals}};
    l->totals = totals_of(l->profile, &until);
    return 0;
}

static void add_left_out(struct call_tree *all, const struct call_tree *t)
{
    value_join(&all->ignored, t->ignored, false);
    value_join(&all->outside, t->outside, false);
    for (int i = 0; i < IGNORED_KINDS; i++)
        value_join(&all->ignored_by[i], t->ignored_by[i], false);
    for (int i = 0; i < PRESETS; i++)
        value_join(&all->presets[i], t->presets[i], false);
    for (size_t i = 0; i < t->suppressed.count; i++) {
        const struct ignored_rule *r = &t->suppressed.items[i];
        size_t k = 0; /* names are unique: each is one string of the list it came from */
        while (k < all->suppressed.count && all->suppressed.items[k].name != r->name)
            k++;
        if (k == all->suppressed.count)
            *vec_push(&all->suppressed) = (struct ignored_rule){.name = r->name};
        value_join(&all->suppressed.items[k].value, r->value, false);
    }
}

/* valgrind calls a block possible if only its inside is pointed to; we call it reachable. */
static const unsigned suppressed_kinds[REACHES] = {
    [REACH_UNKNOWN] = LEAK_KINDS,
    [REACH_LOST] = LEAK_DEFINITE,
    [REACH_INDIRECT] = LEAK_INDIRECT,
    [REACH_REACHABLE] = LEAK_REACHABLE | LEAK_POSSIBLE,
};

static int add_kinds(struct leaks *l, struct err *err)
{
    for (int kind = 0; kind < REACHES; kind++) {
        struct source s = {.count = l->scan->row_count, .kind = kind};
        s.rows = s.count ? &l->profile->live.items[l->scan->first_row] : NULL;
        struct leak_group *g = &l->groups[kind];
        l->filter.leak_kinds = suppressed_kinds[kind];
        int code = add_group(l, g, &s, l->question->kinds, &l->sums[kind], &l->list, err);
        if (code)
            return code;
        add_sum(&l->all, l->sums[kind]);
        add_left_out(&l->left_out, &g->tree);
    }
    return 0;
}

/* If what lost entries lead to is everything that is indirect here, it is not listed again. If the
 * filter leaves out some of it, each entry shows its own blocks only. */
static void join_indirect(struct leaks *l)
{
    uint64_t led = 0;
    size_t kept = 0;
    for (size_t i = 0; i < l->list.leaks.count; i++)
        led += l->list.leaks.items[i].led_bytes;
    bool whole = l->question->whole && l->scan->led && led == l->sums[REACH_INDIRECT].bytes;
    for (size_t i = 0; i < l->list.leaks.count; i++) {
        struct leak e = l->list.leaks.items[i];
        if (whole && e.kind == REACH_INDIRECT)
            continue;
        if (!whole && !l->question->by_size) /* data formats have both */
            e.led_blocks = e.led_bytes = 0;
        l->list.leaks.items[kept++] = e;
    }
    l->list.leaks.count = kept;
}

/* Adds blocks that might be within the filter: their stacks were cut off, and the missing frames
 * may match. */
static int add_may_match(struct leaks *l, struct err *err)
{
    const struct profile *p = l->profile;
    bool within = l->filter.within.patterns.count || l->filter.paths.count;
    uint64_t cut = 0;
    for (size_t i = 0; i < p->intervals.count; i++)
        cut += p->intervals.items[i].truncated_stacks;
    if (!within || !cut)
        return 0;
    struct stack_filter anywhere = l->filter;
    anywhere.within.patterns.count = 0;
    anywhere.paths.count = 0;
    struct frame_table frames;
    frame_table_init(&frames, l->recording, p, &anywhere);
    uint8_t *ends = profile_stack_ends(p);
    int code = 0;
    for (int kind = 0; kind < REACH_REACHABLE && !code; kind++) {
        struct source s = {.count = l->scan->row_count, .kind = kind};
        s.rows = s.count ? &p->live.items[l->scan->first_row] : NULL;
        struct measure m = {.sites = xcalloc(p->sites.count + 1, sizeof *m.sites),
                            .count = p->sites.count};
        for (size_t i = 0; i < s.count; i++)
            if (counts(l, &s, &s.rows[i]) &&
                ends[p->sites.items[s.rows[i].site].node] == NODE_TRUNCATED)
                value_join(&m.sites[s.rows[i].site],
                           (struct value){(int64_t)s.rows[i].bytes, (int64_t)s.rows[i].blocks},
                           false);
        anywhere.leak_kinds = suppressed_kinds[kind];
        struct call_tree tree;
        code = call_tree_build(&tree, &frames, &m, NULL, CHARGE_INNERMOST, err);
        for (size_t i = 0; !code && i < p->sites.count; i++)
            if (tree.site_call[i] != CALL_NONE && l->groups[kind].tree.site_call[i] == CALL_NONE) {
                l->may_match.bytes += (uint64_t)m.sites[i].amount;
                l->may_match.blocks += (uint64_t)m.sites[i].count;
            }
        if (!code)
            call_tree_release(&tree);
        measure_release(&m);
    }
    free(ends);
    frame_table_release(&frames);
    return code;
}

static int add_freed(struct leaks *l, struct err *err)
{
    struct live_rows freed = {0};
    if (l->scan->kind != SCAN_ASKED)
        leak_scan_freed(l->profile, &freed);
    struct source s = {.rows = freed.rows.items, .count = freed.rows.count, .kind = -1};
    l->filter.leak_kinds = LEAK_KINDS;
    int code = add_group(l, &l->freed_group, &s, l->question->freed ? LEAKS_ALL : 0, &l->freed,
                         &l->freed_list, err);
    vec_release(&freed.rows);
    return code;
}

/* Frames that were cut off may match anything. */
static bool has_cut_stacks(const struct profile *p)
{
    for (size_t i = 0; i < p->intervals.count; i++)
        if (p->intervals.items[i].truncated_stacks)
            return true;
    return false;
}

int leaks_find(struct leaks *l, const struct recording *r, const struct leaks_question *q,
               struct err *err)
{
    *l = (struct leaks){.recording = r, .question = q, .filter = q->query.filter};
    int code = resolve(l, err);
    if (code)
        return code;
    l->filter.lenient = r->profiles.count > 1 || has_cut_stacks(l->profile);
    frame_table_init(&l->frames, r, l->profile, &l->filter);
    code = add_kinds(l, err);
    if (!code)
        code = add_may_match(l, err);
    if (!code)
        code = add_freed(l, err);
    if (code) {
        leaks_release(l);
        return code;
    }
    join_indirect(l);
    sort_and_cut(&l->list, q);
    sort_and_cut(&l->freed_list, q);
    return 0;
}

struct loser {
    const struct profile *profile;
    uint64_t bytes;
};

static int by_lost(const void *a, const void *b)
{
    const struct loser *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->profile < y->profile ? -1 : x->profile > y->profile;
}

struct leak_others leaks_of_others(const struct leaks *l, uint64_t budget_ns)
{
    uint64_t end_ns = budget_ns ? thread_cpu_ns() + budget_ns : 0, most = 0;
    struct leak_others sum = {0};
    VEC(struct loser) losers = {0};
    for (size_t i = 0; i < l->recording->profiles.count && !l->question->query.process; i++) {
        const struct profile *p = &l->recording->profiles.items[i];
        struct leak_sum lost = p == l->profile ? (struct leak_sum){0} : leaks_lost(p);
        if (lost.blocks)
            *vec_push(&losers) = (struct loser){p, lost.bytes};
    }
    if (losers.count)
        qsort(losers.items, losers.count, sizeof *losers.items, by_lost);
    for (size_t i = 0; i < losers.count; i++) {
        const struct profile *p = losers.items[i].profile;
        struct leaks_question q = *l->question;
        struct leaks other;
        if (end_ns && thread_cpu_ns() >= end_ns) {
            sum.left_out = losers.count - i;
            break;
        }
        char *process = answer_process_word(l->recording, p);
        q.query.process = process;
        q.query.top = 0;
        q.freed = false;
        if (leaks_find(&other, l->recording, &q, NULL) == 0) {
            const struct leak_sum *lost = &other.sums[REACH_LOST],
                                  *indirect = &other.sums[REACH_INDIRECT];
            uint64_t bytes = lost->bytes + indirect->bytes;
            sum.bytes += bytes;
            sum.blocks += lost->blocks + indirect->blocks;
            sum.processes += lost->blocks || indirect->blocks;
            if (bytes > most) {
                most = bytes;
                sum.pid = p->pid;
            }
            leaks_release(&other);
        }
        free(process);
    }
    vec_release(&losers);
    return sum;
}

static void release_group(struct leak_group *g)
{
    merged_release(&g->merged);
    call_tree_release(&g->tree);
}

void leaks_release(struct leaks *l)
{
    for (int kind = 0; kind < REACHES; kind++)
        release_group(&l->groups[kind]);
    release_group(&l->freed_group);
    call_tree_release(&l->left_out);
    frame_table_release(&l->frames);
    vec_release(&l->list.leaks);
    vec_release(&l->freed_list.leaks);
}
