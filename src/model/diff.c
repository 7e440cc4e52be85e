#include "model/diff.h"
#include "model/imported.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"

/* --- asking both ------------------------------------------------------------------------------ */

/* "PID" is for both recordings, "PID,PID" has one for each. */
static void pick_process(struct diff_side *side, int which, const char *process)
{
    const char *comma = process ? strchr(process, ',') : NULL;
    if (comma) {
        side->process = which ? xstrdup(comma + 1) : xstrndup(process, (size_t)(comma - process));
        process = side->process;
    }
    side->query.process = process;
}

static int name_file(const struct diff_side *side, int code, const struct err *why, struct err *err)
{
    return err_set(err, code, "%s: %s", side->file, why->text);
}

static int ask(struct diff *d, struct err *err)
{
    int codes[2];
    for (int i = 0; i < 2; i++) {
        struct diff_side *s = &d->side[i];
        struct err why = {{0}};
        int code = answer_process(s->recording, &s->query, &s->profile, &why);
        if (code && s->query.process && !strchr(d->query->process, ','))
            return err_set(err, code, "%s: %s; --process PID,PID picks one in each", s->file,
                           why.text);
        if (code)
            return name_file(s, code, &why, err);
        codes[i] = answer_query(&s->answer, s->recording, &s->query, &s->missing);
        if (codes[i]) {
            struct window w;
            s->answer = (struct answer){0};
            if (window_resolve(s->profile, s->query.since, s->query.at, &w, &why) == 0)
                s->answer.totals = totals_of(s->profile, &w);
        }
        if (codes[i] == -EINVAL || codes[i] == -ENODATA) /* not measured is not the same as zero */
            return name_file(s, codes[i], &s->missing, err);
    }
    return codes[0] && codes[1] ? name_file(&d->side[1], codes[1], &d->side[1].missing, err) : 0;
}

/* --- joining ---------------------------------------------------------------------------------- */

static struct diff_row *row_of(struct diff *d, struct map *rows, uint64_t key)
{
    uint32_t *number = map_at(rows, key);
    if (*number == MAP_NONE) {
        *number = (uint32_t)d->rows.count;
        *vec_push(&d->rows) = (struct diff_row){0};
    }
    return &d->rows.items[*number];
}

static void join_row(struct diff *d, struct map *rows, int which, uint64_t key,
                     const struct answer_row *row)
{
    struct diff_row *r = row_of(d, rows, key);
    bool by_max = d->side[which].answer.tree.by_max;
    if (!r->there[which]) { /* rows come largest first, so this one is shown */
        r->name = row->name;
        r->module = row->module;
        r->file = row->file;
        r->line = row->line;
        r->thread = row->thread;
        r->call[which] = row->call;
    }
    r->there[which] = true;
    value_join(&r->self[which], row->self, by_max);
    value_join(&r->total[which], row->total, by_max);
}

/* Files that only one side has, by their names without folder. */
struct loose {
    struct map count[2]; /* name -> how many */
    struct map there[2]; /* path -> 1 */
};

static uint32_t count_of(const struct map *m, uint32_t key)
{
    uint32_t n = map_get(m, key);
    return n == MAP_NONE ? 0 : n;
}

static void loose_init(struct loose *l, struct diff *d)
{
    *l = (struct loose){0};
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < d->side[i].answer.rows.rows.count; k++)
            *map_at(&l->there[i],
                    strpool_add(&d->names, d->side[i].answer.rows.rows.items[k].name)) = 1;
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < d->side[i].answer.rows.rows.count; k++) {
            const char *path = d->side[i].answer.rows.rows.items[k].name;
            if (count_of(&l->there[!i], strpool_add(&d->names, path)))
                continue;
            uint32_t *n = map_at(&l->count[i], strpool_add(&d->names, path_base(path)));
            *n = *n == MAP_NONE ? 1 : *n + 1;
        }
}

static void loose_release(struct loose *l)
{
    for (int i = 0; i < 2; i++) {
        map_release(&l->count[i]);
        map_release(&l->there[i]);
    }
}

static uint64_t file_key(struct diff *d, const struct loose *l, int which, const char *path)
{
    uint32_t whole = strpool_add(&d->names, path), base = strpool_add(&d->names, path_base(path));
    bool only_here = !count_of(&l->there[!which], whole);
    bool paired = count_of(&l->count[0], base) == 1 && count_of(&l->count[1], base) == 1;
    return only_here && paired ? (uint64_t)1 << 32 | base : whole;
}

/* The program's own file matches, whatever it is called. */
static bool is_program(const struct diff_side *s, const struct answer_row *row)
{
    return s->profile->executable && strcmp(row->name, path_base(s->profile->executable)) == 0;
}

static void join_table(struct diff *d, struct map *rows)
{
    bool by_line = d->query->by == BY_LINE, by_file = d->query->by == BY_FILE;
    struct loose loose = {0};
    struct strbuf place = {0};
    if (by_file)
        loose_init(&loose, d);
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < d->side[i].answer.rows.rows.count; k++) {
            const struct answer_row *row = &d->side[i].answer.rows.rows.items[k];
            uint64_t key =
                by_file ? file_key(d, &loose, i, row->name) : strpool_add(&d->names, row->name);
            if ((by_file || d->query->by == BY_LIBRARY) && is_program(&d->side[i], row))
                key = (uint64_t)2 << 32;
            if (by_line && row->file) {
                strbuf_clear(&place);
                strbuf_printf(&place, "%s:%u", path_base(row->file), (unsigned)row->line);
                key |= (uint64_t)strpool_add(&d->names, place.data) << 32;
            }
            join_row(d, rows, i, key, row);
        }
    strbuf_release(&place);
    loose_release(&loose);
}

static uint32_t child_of(struct diff *d, uint32_t parent, const char *name)
{
    uint32_t number = strpool_add(&d->names, name);
    uint32_t *node = map_at(&d->children, (uint64_t)parent << 32 | number);
    if (*node == MAP_NONE) {
        *node = (uint32_t)d->nodes.count;
        *vec_push(&d->nodes) = (struct diff_node){parent, number};
    }
    return *node;
}

static void join_stacks(struct diff *d, struct map *rows)
{
    for (int i = 0; i < 2; i++) {
        const struct answer *a = &d->side[i].answer;
        uint32_t *joint = xcalloc(a->merged.parent.count + 1, sizeof *joint);
        for (size_t n = 1; n < a->merged.parent.count; n++) {
            const struct call_frame *f = &a->frames.frames.items[a->merged.key.items[n]];
            joint[n] = child_of(d, joint[a->merged.parent.items[n]],
                                frame_table_string(&a->frames, f->name));
        }
        for (size_t k = 0; k < a->rows.rows.count; k++) {
            const struct answer_row *row = &a->rows.rows.items[k];
            uint32_t thread = strpool_add(&d->names, row->thread ? row->thread : "");
            uint64_t key = (uint64_t)thread << 32 | joint[row->call];
            join_row(d, rows, i, key, row);
            row_of(d, rows, key)->node = joint[row->call];
        }
        free(joint);
    }
}

/* A tree's rows come from the root outwards, so the last row of the depth before is the parent. */
static void join_tree(struct diff *d, struct map *rows)
{
    VEC(uint32_t) path = {0};
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < d->side[i].answer.rows.rows.count; k++) {
            const struct answer_row *row = &d->side[i].answer.rows.rows.items[k];
            path.count = row->depth;
            uint32_t node = child_of(d, row->depth ? path.items[row->depth - 1] : 0, row->name);
            vec_reserve(&path, row->depth + 1);
            *vec_push(&path) = node;
            join_row(d, rows, i, node, row);
            struct diff_row *r = row_of(d, rows, node);
            r->node = node;
            r->depth = row->depth;
        }
    vec_release(&path);
}

/* --- order ------------------------------------------------------------------------------------ */

static int compare_sizes(int64_t a, int64_t b)
{
    uint64_t x = amount_size(a), y = amount_size(b);
    return x != y ? (x > y ? -1 : 1) : a == b ? 0 : a > b ? -1 : 1;
}

static int compare_by(const struct diff_row *a, const struct diff_row *b, bool total_first)
{
    struct value x = value_change(total_first ? a->total : a->self);
    struct value y = value_change(total_first ? b->total : b->self);
    int c = compare_sizes(x.amount, y.amount);
    if (!c && !total_first)
        c = compare_sizes(value_change(a->total).amount, value_change(b->total).amount);
    c = c ? c : compare_sizes(x.count, y.count);
    c = c ? c : compare_sizes(a->self[1].amount, b->self[1].amount);
    c = c ? c : compare_sizes(a->total[1].amount, b->total[1].amount);
    c = c ? c : text_compare(a->name, b->name);
    c = c ? c : text_compare(a->file, b->file);
    c = c ? c : (a->line > b->line) - (a->line < b->line);
    c = c ? c : text_compare(a->thread, b->thread);
    return c ? c : (a->node > b->node) - (a->node < b->node);
}

static int compare_rows(const void *a, const void *b)
{
    return compare_by(a, b, false);
}

static int compare_nodes(const void *a, const void *b)
{
    return compare_by(a, b, true);
}

static enum diff_status status_of(const struct diff *d, const struct diff_row *r)
{
    if (!r->there[0])
        return DIFF_NEW;
    if (!r->there[1])
        return DIFF_GONE;
    struct value self = value_change(r->self), total = value_change(r->total);
    if (!d->counted)
        self.count = total.count = 0;
    return value_is_zero(self) && value_is_zero(total) ? DIFF_SAME : DIFF_CHANGED;
}

static void leave_out(struct diff *d, const struct diff_row *r)
{
    d->left_out++;
    value_join(&d->left_out_change, value_change(r->self), false);
}

static uint64_t largest_change(const struct diff_row *r)
{
    uint64_t self = amount_size(value_change(r->self).amount);
    uint64_t total = amount_size(value_change(r->total).amount);
    return self > total ? self : total;
}

static void cut_table(struct diff *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->rows.count; i++) {
        double change = (double)largest_change(&d->rows.items[i]);
        if (query_keeps(d->query, kept, change, (double)d->scale))
            d->rows.items[kept++] = d->rows.items[i];
        else
            leave_out(d, &d->rows.items[i]);
    }
    d->rows.count = kept;
}

/* Keeps the rows with the largest changes and the path to each, and puts them into the order of a
 * tree. The rows come sorted. */
static void order_tree(struct diff *d)
{
    size_t nodes = d->nodes.count, kept = 0;
    struct link {
        uint32_t child, next, row;
        bool listed;
    } *link = xmalloc(nodes * sizeof *link);
    memset(link, 0xff, nodes * sizeof *link);
    for (size_t n = 0; n < nodes; n++)
        link[n].listed = false;
    for (uint32_t i = 0; i < d->rows.count; i++)
        link[d->rows.items[i].node].row = i;
    for (size_t i = 0; i < d->rows.count; i++) {
        double change = (double)largest_change(&d->rows.items[i]);
        if (!query_keeps(d->query, kept, change, (double)d->scale))
            continue;
        for (uint32_t n = d->rows.items[i].node; n && !link[n].listed;
             n = d->nodes.items[n].parent, kept++)
            link[n].listed = true;
    }
    /* Smallest first, each put in front of its siblings. */
    for (size_t i = d->rows.count; i-- > 0;) {
        uint32_t n = d->rows.items[i].node, parent = d->nodes.items[n].parent;
        if (!link[n].listed) {
            leave_out(d, &d->rows.items[i]);
            continue;
        }
        link[n].next = link[parent].child;
        link[parent].child = n;
    }
    struct diff_row *ordered = xmalloc((d->rows.count + 1) * sizeof *ordered);
    size_t count = 0;
    for (uint32_t n = link[0].child; n != CALL_NONE;) {
        ordered[count++] = d->rows.items[link[n].row];
        if (link[n].child != CALL_NONE) {
            n = link[n].child;
            continue;
        }
        while (n && link[n].next == CALL_NONE)
            n = d->nodes.items[n].parent;
        n = n ? link[n].next : CALL_NONE;
    }
    if (count)
        memcpy(d->rows.items, ordered, count * sizeof *ordered);
    d->rows.count = count;
    free(ordered);
    free(link);
}

int diff_query(struct diff *d, const struct recording *const recordings[2],
               const char *const files[2], const struct query *q, struct err *err)
{
    *d = (struct diff){.query = q};
    for (int i = 0; i < 2; i++) {
        struct diff_side *s = &d->side[i];
        *s = (struct diff_side){.file = files[i], .query = *q, .recording = recordings[i]};
        s->query.top = QUERY_ALL;
        s->query.min_percent = 0;
        s->query.filter.match = recordings[!i];
        pick_process(s, i, q->process);
    }
    int code = ask(d, err);
    if (code) {
        diff_release(d);
        return code;
    }
    d->counted =
        known_counts(d->side[0].profile, q->metric) && known_counts(d->side[1].profile, q->metric);
    struct map rows = {0};
    bool tree = q->shape == SHAPE_TREE;
    *vec_push(&d->nodes) = (struct diff_node){0, 0};
    if (tree)
        join_tree(d, &rows);
    else if (q->by == BY_STACK)
        join_stacks(d, &rows);
    else
        join_table(d, &rows);
    map_release(&rows);
    for (size_t i = 0; i < d->rows.count; i++) {
        struct diff_row *r = &d->rows.items[i];
        r->status = status_of(d, r);
        d->count[r->status]++;
        d->scale += amount_size(value_change(r->self).amount);
    }
    if (d->rows.count)
        qsort(d->rows.items, d->rows.count, sizeof *d->rows.items,
              tree ? compare_nodes : compare_rows);
    if (tree)
        order_tree(d);
    else
        cut_table(d);
    return 0;
}

void diff_release(struct diff *d)
{
    for (int i = 0; i < 2; i++) {
        if (d->side[i].answer.query)
            answer_release(&d->side[i].answer);
        free(d->side[i].process);
    }
    strpool_release(&d->names);
    vec_release(&d->nodes);
    map_release(&d->children);
    vec_release(&d->rows);
    *d = (struct diff){0};
}

/* Of what both sides know. */
static bool same_totals(const struct totals *a, const struct totals *b)
{
    uint32_t unknown = a->unknown | b->unknown;
    bool counted = !(unknown & UNKNOWN_COUNTS), live = !(unknown & UNKNOWN_LIVE),
         all = !(unknown & UNKNOWN_TOTALS);
    return (!all || a->bytes_allocated == b->bytes_allocated) &&
           (!live || a->live_bytes == b->live_bytes) &&
           (unknown & UNKNOWN_PEAK || a->peak_bytes == b->peak_bytes) &&
           (!all || !counted || a->allocations == b->allocations) &&
           (!live || !counted || a->live_blocks == b->live_blocks) &&
           (!all || !live || !counted || a->frees == b->frees);
}

bool diff_is_empty(const struct diff *d)
{
    return !d->count[DIFF_CHANGED] && !d->count[DIFF_NEW] && !d->count[DIFF_GONE] &&
           same_totals(&d->side[0].answer.totals, &d->side[1].answer.totals);
}
