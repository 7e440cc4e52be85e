#include "model/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/map.h"

const char *mapping_kind_name(enum mapping_kind kind)
{
    static const char *const names[] = {
        [KIND_HEAP] = "heap",
        [KIND_STACK] = "stacks",
        [KIND_PROGRAM_TEXT] = "program text",
        [KIND_PROGRAM_DATA] = "program data",
        [KIND_LIBRARY_TEXT] = "library text",
        [KIND_LIBRARY_DATA] = "library data",
        [KIND_FILE] = "files",
        [KIND_ANONYMOUS] = "anonymous",
        [KIND_SHARED] = "shared memory",
        [KIND_KERNEL] = "kernel",
        [KIND_OWN] = "tidemark",
    };
    return names[kind];
}

const char *mapping_change_name(enum mapping_change change)
{
    static const char *const names[] = {"same", "new", "gone", "grown", "shrunk"};
    return names[change];
}

static const char *const groupings[] = {
    [BY_KIND] = "kind", [BY_MAPPED_FILE] = "library", [BY_MAPPING] = "mapping"};

const char *mapping_grouping_name(enum mapping_grouping by)
{
    return groupings[by];
}

int mapping_grouping_parse(const char *word, enum mapping_grouping *out, struct err *err)
{
    for (int i = 0; i < MAPPING_GROUPINGS; i++)
        if (strcmp(word, groupings[i]) == 0) {
            *out = (enum mapping_grouping)i;
            return 0;
        }
    return err_set(err, -EINVAL, "--by '%s' is not one of kind, library, mapping", word);
}

void mappings_label(const struct mappings *m, const struct capture *c, struct strbuf *out)
{
    static const char *const words[] = {"start", "periodic", "snapshot", "exit"};
    strbuf_puts(out, words[c->kind % CAPTURE_KINDS]);
    if (c->kind == CAPTURE_SNAPSHOT)
        strbuf_printf(out, "#%" PRIu32, m->snapshots[c - m->profile->captures.items]);
}

/* Snapshots have the numbers of their marks: the captures of some may have been dropped. */
static void number_snapshots(struct mappings *m)
{
    const struct profile *p = m->profile;
    uint32_t number = 0;
    size_t mark = 0;
    m->snapshots = xcalloc(p->captures.count + 1, sizeof *m->snapshots);
    for (size_t i = 0; i < p->captures.count; i++) {
        for (; mark < p->marks.count &&
               p->marks.items[mark].stamp.time_ns <= p->captures.items[i].time_ns;
             mark++)
            number += strcmp(p->marks.items[mark].name, "snapshot") == 0;
        m->snapshots[i] = number;
    }
}

/* --- the capture nearest to a moment ---------------------------------------------------------- */

static const struct capture *nearest(const struct profile *p, uint64_t time_ns)
{
    const struct capture *best = NULL;
    uint64_t least = 0;
    for (size_t i = 0; i < p->captures.count; i++) {
        const struct capture *c = &p->captures.items[i];
        uint64_t apart = c->time_ns > time_ns ? c->time_ns - time_ns : time_ns - c->time_ns;
        if (!best || apart <= least) { /* of two equally near ones, the later */
            best = c;
            least = apart;
        }
    }
    return best;
}

static int find_captures(struct mappings *m, const char *since, const char *at, struct err *err)
{
    const struct profile *p = m->profile;
    if (!p->captures.count && p->imported.from)
        return err_set(err, -ENODATA,
                       "this recording does not know mappings: it was imported from %.100s",
                       p->imported.from);
    if (!p->captures.count)
        return err_set(err, -ENODATA,
                       "no mappings of process %" PRIu32
                       " were recorded: it ended before the first were captured, or /proc/%" PRIu32
                       "/smaps could not be read",
                       p->pid, p->pid);
    struct window w;
    int code = window_resolve(p, since, at, &w, err);
    if (code)
        return code;
    m->at = (struct mapping_moment){w.at, nearest(p, w.at.asked_ns)};
    m->since = (struct mapping_moment){w.since, nearest(p, w.since.asked_ns)};
    m->is_difference = since != NULL;
    return 0;
}

/* --- sums --------------------------------------------------------------------------------------
 */

static void add_node(struct mapping_row *row, uint32_t node, uint64_t kib)
{
    size_t at; /* index of the first node that is not lower */
    BISECT(at, row->nodes.count, row->nodes.items[at].node < node);
    if (at == row->nodes.count || row->nodes.items[at].node != node) {
        vec_push(&row->nodes);
        memmove(row->nodes.items + at + 1, row->nodes.items + at,
                (row->nodes.count - 1 - at) * sizeof *row->nodes.items);
        row->nodes.items[at] = (struct mapping_node){.node = node};
    }
    row->nodes.items[at].kib += kib;
}

static const char *joined_policy(const struct mapping_row *row, const char *policy)
{
    return !*row->policy || strcmp(row->policy, policy) == 0 ? policy
           : !*policy                                        ? row->policy
                                                             : "mixed";
}

/* Sums wrap around: a damaged file may contain any number. */
static void add_mapping(struct mapping_row *row, const struct profile *p, const struct mapping *m)
{
    row->policy = joined_policy(row, strpool_get(&p->map_names, m->policy));
    row->count++;
    row->size_bytes = (int64_t)((uint64_t)row->size_bytes + (m->end - m->start));
    for (size_t i = 0; i < MAPPING_SIZES; i++)
        row->bytes[i] = (int64_t)((uint64_t)row->bytes[i] + m->kib[i] * 1024);
    for (size_t i = 0; i < m->node_count; i++) {
        const struct mapping_node *n = &p->map_nodes.items[m->first_node + i];
        add_node(row, n->node, n->kib);
    }
}

static void add_row(struct mapping_row *to, const struct mapping_row *row, bool minus)
{
    uint64_t sign = minus ? UINT64_MAX : 1;
    to->policy = joined_policy(to, row->policy);
    to->count = (int64_t)((uint64_t)to->count + sign * (uint64_t)row->count);
    to->size_bytes = (int64_t)((uint64_t)to->size_bytes + sign * (uint64_t)row->size_bytes);
    for (size_t i = 0; i < MAPPING_SIZES; i++)
        to->bytes[i] = (int64_t)((uint64_t)to->bytes[i] + sign * (uint64_t)row->bytes[i]);
    for (size_t i = 0; i < row->nodes.count; i++)
        add_node(to, row->nodes.items[i].node, sign * row->nodes.items[i].kib);
}

/* --- rows of one capture -----------------------------------------------------------------------
 */

struct table {
    VEC(struct mapping_row) rows;
};

static bool is_of_file(enum mapping_kind kind)
{
    return kind >= KIND_PROGRAM_TEXT && kind <= KIND_LIBRARY_DATA;
}

static uint64_t row_key(const struct mapping_row *row)
{
    return (uint64_t)row->kind << 32 | row->number;
}

static void make_rows(struct mappings *m, const struct capture *c, struct table *t)
{
    const struct profile *p = m->profile;
    enum mapping_kind *kinds = mapping_kinds(p, c);
    struct map known = {0};
    uint32_t file = 0; /* the last file: its zeroed data has no name */
    for (size_t i = 0; i < c->count; i++) {
        const struct mapping *mapping = &p->mappings.items[c->first + i];
        struct mapping_row row = {.kind = kinds[i], .policy = ""};
        file = mapping->name ? mapping->name : file;
        if (m->by != BY_KIND && is_of_file(kinds[i]))
            row.number = file;
        else if (m->by == BY_MAPPING)
            row.number = mapping->name;
        row.name = strpool_get(&p->map_names, row.number);
        uint32_t place = (uint32_t)t->rows.count;
        if (m->by == BY_MAPPING) {
            row.mapping = mapping;
        } else {
            uint32_t *first = map_at(&known, row_key(&row));
            place = *first = *first == MAP_NONE ? place : *first;
        }
        struct mapping_row *to;
        if (place < t->rows.count) {
            to = &t->rows.items[place];
        } else {
            to = vec_push(&t->rows);
            *to = row;
        }
        add_mapping(to, p, mapping);
    }
    map_release(&known);
    free(kinds);
}

/* --- the difference of two captures ----------------------------------------------------------- */

static void set_change(struct mapping_row *row)
{
    int64_t by = row->bytes[MAPPING_RSS] ? row->bytes[MAPPING_RSS] : row->size_bytes;
    row->change = by > 0 ? CHANGE_GROWN : by < 0 ? CHANGE_SHRUNK : CHANGE_NONE;
}

static struct mapping_row negative(const struct mapping_row *row)
{
    struct mapping_row gone = {.kind = row->kind,
                               .name = row->name,
                               .number = row->number,
                               .policy = row->policy,
                               .change = CHANGE_GONE,
                               .mapping = row->mapping};
    add_row(&gone, row, true);
    return gone;
}

/*
 * The row of `before` for the same mapping. Two mappings are the same if they begin, or else end,
 * at the same address: stacks grow downwards, and the kernel merges neighbouring mappings.
 */
static uint32_t partner(const struct mapping_row *row, const struct table *before,
                        const struct map *by_key, const struct map *by_end, const bool *taken)
{
    uint32_t found[2] = {map_get(by_key, row->mapping ? row->mapping->start : row_key(row)),
                         row->mapping ? map_get(by_end, row->mapping->end) : MAP_NONE};
    for (int i = 0; i < 2; i++)
        if (found[i] < before->rows.count && !taken[found[i]] &&
            row_key(&before->rows.items[found[i]]) == row_key(row))
            return found[i];
    return MAP_NONE;
}

/* Subtracts the rows of `before` from those of `now`, which becomes the difference. */
static void subtract(struct table *now, const struct table *before)
{
    struct map by_key = {0}, by_end = {0};
    bool *taken = xcalloc(before->rows.count + 1, sizeof *taken);
    for (uint32_t i = 0; i < before->rows.count; i++) {
        const struct mapping_row *row = &before->rows.items[i];
        *map_at(&by_key, row->mapping ? row->mapping->start : row_key(row)) = i;
        if (row->mapping)
            *map_at(&by_end, row->mapping->end) = i;
    }
    for (size_t i = 0; i < now->rows.count; i++) {
        struct mapping_row *row = &now->rows.items[i];
        uint32_t k = partner(row, before, &by_key, &by_end, taken);
        if (k == MAP_NONE) {
            row->change = CHANGE_NEW;
            continue;
        }
        taken[k] = true;
        add_row(row, &before->rows.items[k], true);
        set_change(row);
    }
    for (size_t i = 0; i < before->rows.count; i++)
        if (!taken[i])
            *vec_push(&now->rows) = negative(&before->rows.items[i]);
    free(taken);
    map_release(&by_key);
    map_release(&by_end);
}

/* --- mappings_init ---------------------------------------------------------------------------- */

static uint64_t weight(const struct mapping_row *row)
{
    int64_t rss = row->bytes[MAPPING_RSS];
    return rss < 0 ? -(uint64_t)rss : (uint64_t)rss;
}

static uint64_t extent(const struct mapping_row *row)
{
    return row->size_bytes < 0 ? -(uint64_t)row->size_bytes : (uint64_t)row->size_bytes;
}

static int in_order(const void *a, const void *b)
{
    const struct mapping_row *x = a, *y = b;
    uint64_t wx = weight(x), wy = weight(y), ex = extent(x), ey = extent(y);
    if ((x->kind == KIND_OWN) != (y->kind == KIND_OWN)) /* the recorder's own rows come last */
        return x->kind == KIND_OWN ? 1 : -1;
    if (wx != wy)
        return wx > wy ? -1 : 1;
    if (ex != ey)
        return ex > ey ? -1 : 1;
    if (x->mapping && y->mapping && x->mapping->start != y->mapping->start)
        return x->mapping->start < y->mapping->start ? -1 : 1;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->name, y->name);
}

static int by_kind(const void *a, const void *b)
{
    return (int)((const struct mapping_row *)a)->kind - (int)((const struct mapping_row *)b)->kind;
}

static bool is_nothing(const struct mapping_row *row)
{
    bool is = row->change == CHANGE_NONE && !row->size_bytes;
    for (size_t i = 0; i < MAPPING_SIZES; i++)
        is = is && !row->bytes[i];
    return is;
}

static void release_rows(struct mapping_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        vec_release(&rows[i].nodes);
}

int mappings_init(struct mappings *m, const struct recording *r, const struct profile *p,
                  const char *since, const char *at, enum mapping_grouping by, size_t top,
                  struct err *err)
{
    *m = (struct mappings){.recording = r,
                           .profile = p,
                           .by = by,
                           .totals = {.name = "", .policy = ""},
                           .own = {.kind = KIND_OWN, .name = "", .policy = ""}};
    int code = find_captures(m, since, at, err);
    if (code)
        return code;
    number_snapshots(m);
    struct table now = {0}, before = {0};
    make_rows(m, m->at.capture, &now);
    if (m->is_difference) {
        make_rows(m, m->since.capture, &before);
        subtract(&now, &before);
        release_rows(before.rows.items, before.rows.count);
        vec_release(&before.rows);
    }
    if (now.rows.count)
        qsort(now.rows.items, now.rows.count, sizeof *now.rows.items,
              by == BY_KIND ? by_kind : in_order);
    for (size_t i = 0; i < now.rows.count; i++) {
        struct mapping_row *row = &now.rows.items[i];
        add_row(&m->totals, row, false);
        if (row->kind == KIND_OWN)
            add_row(&m->own, row, false);
        if (m->is_difference && by != BY_KIND && is_nothing(row)) {
            vec_release(&row->nodes);
        } else if (m->rows.count == top) {
            vec_release(&row->nodes);
            m->cut++;
        } else {
            *vec_push(&m->rows) = *row;
        }
    }
    vec_release(&now.rows);
    return 0;
}

void mappings_release(struct mappings *m)
{
    release_rows(m->rows.items, m->rows.count);
    vec_release(&m->rows);
    vec_release(&m->totals.nodes);
    vec_release(&m->own.nodes);
    free(m->snapshots);
}
