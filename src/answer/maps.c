#include "answer/maps.h"

#include <stdio.h>
#include <string.h>

#include "base/say.h"
#include "answer/json_parts.h"
#include "answer/summary.h"

#define NODE_COLUMNS 6 /* as many as fit beside the rest */

/* --- columns ---------------------------------------------------------------------------------- */

static struct cell get_change(struct spot s)
{
    const struct mapping_row *r = s.row;
    const struct mappings *m = s.answer;
    return CELL_OF(m->is_difference && r->kind != MAPPING_KINDS ? mapping_change_name(r->change)
                                                                : NULL);
}

static struct cell get_kind(struct spot s)
{
    const struct mapping_row *r = s.row;
    return CELL_OF(r->kind == MAPPING_KINDS ? "total" : mapping_kind_name(r->kind));
}

static struct cell get_name(struct spot s)
{
    const struct mapping_row *r = s.row;
    return CELL_OF(*r->name ? r->name : NULL);
}

/* Folders of libraries say little, and would hide the rest. */
static struct cell get_shown_name(struct spot s)
{
    const struct mapping_row *r = s.row;
    const char *slash = strrchr(r->name, '/');
    bool is_library = r->kind == KIND_LIBRARY_TEXT || r->kind == KIND_LIBRARY_DATA;
    return CELL_OF(slash && (is_library || r->kind == KIND_OWN) ? slash + 1 : r->name);
}

static bool is_mapping(const void *row)
{
    return ((const struct mapping_row *)row)->mapping;
}

static struct cell get_addresses(struct spot s)
{
    const struct mapping *m = ((const struct mapping_row *)s.row)->mapping;
    say(s.made, "%x-%x", m->start, m->end);
    return CELL_OF(s.made->data);
}

static struct cell get_access(struct spot s)
{
    const struct mapping *m = ((const struct mapping_row *)s.row)->mapping;
    for (int i = 0; i < 3; i++)
        strbuf_putc(s.made, m->flags >> i & 1 ? "rwx"[i] : '-');
    strbuf_putc(s.made, m->flags & MAPPING_SHARED ? 's' : 'p');
    return CELL_OF(s.made->data);
}

static struct cell get_policy(struct spot s)
{
    const struct mapping_row *r = s.row;
    return CELL_OF(*r->policy ? r->policy : NULL);
}

static struct cell get_nodes(struct spot s)
{
    const struct mapping_row *r = s.row;
    for (size_t i = 0; i < r->nodes.count; i++)
        say(s.made, "%s%d=%d", i ? ";" : "", r->nodes.items[i].node,
            (int64_t)(r->nodes.items[i].kib * 1024));
    return CELL_OF(s.made->data);
}

static void json_nodes(struct spot s, const char *key, struct json *j)
{
    const struct mapping_row *r = s.row;
    json_object(j, key);
    for (size_t i = 0; i < r->nodes.count; i++) {
        char node[16];
        snprintf(node, sizeof node, "%u", (unsigned)r->nodes.items[i].node);
        json_i64(j, node, (int64_t)(r->nodes.items[i].kib * 1024));
    }
    json_end(j);
}

/* The value of the node of this column; the last column stands for all other nodes. */
static struct cell get_node(struct spot s)
{
    const struct mapping_row *r = s.row, *totals = &((const struct mappings *)s.answer)->totals;
    int number = s.column->number;
    int64_t kib = 0;
    for (size_t i = 0, at = 0; i < totals->nodes.count && at < r->nodes.count; i++)
        if (r->nodes.items[at].node == totals->nodes.items[i].node) {
            bool is_it = number < NODE_COLUMNS ? i == (size_t)number : i >= NODE_COLUMNS;
            kib += is_it ? (int64_t)r->nodes.items[at].kib : 0;
            at++;
        }
    return CELL_OF(kib * 1024);
}

static bool is_difference(const void *answer)
{
    return ((const struct mappings *)answer)->is_difference;
}

static bool by_mapping(const void *answer)
{
    return ((const struct mappings *)answer)->by == BY_MAPPING;
}

static bool not_by_mapping(const void *answer)
{
    return !by_mapping(answer);
}

static bool not_by_kind(const void *answer)
{
    return ((const struct mappings *)answer)->by != BY_KIND;
}

#define ROW(member)   FIELD(struct mapping_row, member)
#define PLACE(member) FIELD_OF(struct mapping_row, mapping, struct mapping, member)
#define SIZE(which)   ROW(bytes[which])

static bool without_nodes(const void *answer)
{
    return !((const struct mappings *)answer)->numa;
}

static bool with_nodes(const void *answer)
{
    return !without_nodes(answer);
}

/* Addresses and names need room. */
static bool with_dirty(const void *answer)
{
    return without_nodes(answer) && !by_mapping(answer);
}

/* In the order of the text. The columns of nodes are inserted before the policy. */
static const struct column_def columns[] = {
    {"change", "change", COLUMN_WORD, .get = get_change, .in_text = is_difference,
     .in_json = is_difference},
    {"count", "mappings", COLUMN_COUNT, ROW(count), .in_text = not_by_mapping},
    {"size_bytes", "size", COLUMN_BYTES, ROW(size_bytes)},
    {"rss_bytes", "RSS", COLUMN_BYTES, SIZE(MAPPING_RSS)},
    {"pss_bytes", "PSS", COLUMN_BYTES, SIZE(MAPPING_PSS), .in_text = without_nodes, .spare = 3},
    {"private_bytes", "private", COLUMN_BYTES, SIZE(MAPPING_PRIVATE), .in_text = without_nodes,
     .spare = 2},
    {"dirty_bytes", "dirty", COLUMN_BYTES, SIZE(MAPPING_DIRTY), .in_text = with_dirty, .spare = 4},
    {"swap_bytes", "swap", COLUMN_BYTES, SIZE(MAPPING_SWAP), .in_text = without_nodes, .spare = 1},
    {"anonymous_bytes", NULL, COLUMN_BYTES, SIZE(MAPPING_ANONYMOUS)},
    {"huge_bytes", NULL, COLUMN_BYTES, SIZE(MAPPING_HUGE)},
    {"locked_bytes", NULL, COLUMN_BYTES, SIZE(MAPPING_LOCKED)},
    {"nodes", NULL, COLUMN_WORDS, .get = get_nodes, .json = json_nodes},
    {"policy", "policy", COLUMN_WORD, .get = get_policy, .in_text = with_nodes},
    {"kind", "kind", COLUMN_WORD, .get = get_kind},
    {NULL, "addresses", COLUMN_WORD, .get = get_addresses, .known = is_mapping,
     .in_text = by_mapping},
    {"start", NULL, COLUMN_COUNT, PLACE(start), .known = is_mapping, .in_json = by_mapping},
    {"end", NULL, COLUMN_COUNT, PLACE(end), .known = is_mapping, .in_json = by_mapping},
    {"offset", NULL, COLUMN_COUNT, PLACE(offset), .known = is_mapping, .in_json = by_mapping},
    {"access", "access", COLUMN_WORD, .get = get_access, .known = is_mapping, .in_text = by_mapping,
     .in_json = by_mapping},
    {"name", NULL, COLUMN_PATH, .get = get_name, .in_json = not_by_kind},
    {NULL, "name", COLUMN_PATH, .get = get_shown_name, .in_text = not_by_kind},
};

/* The columns from the count to the policy. */
#define FIRST_SUM 1
#define SUMS      12

/* PSS changes with what other processes do, so it is no change of this one. */
static bool is_row_shown(const void *answer, const void *row)
{
    const struct mappings *m = answer;
    return !m->is_difference || m->by == BY_KIND ||
           ((const struct mapping_row *)row)->change != CHANGE_NONE;
}

static struct rows rows_of(const struct mappings *m)
{
    return (struct rows){COLUMN_DEFS(columns),    ITEMS(m->rows), .answer = m,
                         .in_text = is_row_shown, .cut = m->cut,  .noun = "row"};
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_moment(const struct mappings *m, const char *word, const struct mapping_moment *at,
                       struct strbuf *out)
{
    uint64_t taken = at->capture->time_ns, asked = at->moment.asked_ns;
    say(out, "%s%s: captured at %T (", word, at->moment.word, taken);
    mappings_label(m, at->capture, out);
    strbuf_puts(out, ")");
    if (taken != asked)
        say(out, ", %T %s", taken < asked ? asked - taken : taken - asked,
            taken < asked ? "earlier" : "later");
    strbuf_putc(out, '\n');
}

static void add_heading(const struct mappings *m, const struct style *s, struct strbuf *out)
{
    summary_heading(m->profile, s, out);
    if (m->is_difference)
        add_moment(m, "since ", &m->since, out);
    add_moment(m, "at ", &m->at, out);
    say(out, "%sresident %B, mapped %B; of this tidemark's own: %B resident, %B mapped\n",
        m->is_difference ? "change: " : "", m->totals.bytes[MAPPING_RSS], m->totals.size_bytes,
        m->own.bytes[MAPPING_RSS], m->own.size_bytes);
    if (m->recording->incomplete)
        say(out, "%rincomplete %s%r\n", style_warn(s), m->recording->incomplete, style_plain(s));
    strbuf_putc(out, '\n');
}

/* The table with a column for each node. */
static void add_nodes(const struct mappings *m, const struct rows *rows, const struct style *s,
                      struct strbuf *out)
{
    struct column_def with[sizeof columns / sizeof *columns + NODE_COLUMNS + 1];
    char titles[NODE_COLUMNS + 1][16];
    size_t n = 0, nodes = m->totals.nodes.count;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (columns[i].get == get_policy)
            for (size_t k = 0; k < nodes && k <= NODE_COLUMNS; k++) {
                snprintf(titles[k], sizeof titles[k], "node %u",
                         (unsigned)m->totals.nodes.items[k].node);
                with[n++] = (struct column_def){.title = k < NODE_COLUMNS ? titles[k] : "others",
                                                .kind = COLUMN_BYTES,
                                                .get = get_node,
                                                .number = (int)k};
            }
        with[n++] = columns[i];
    }
    struct rows all = *rows;
    all.columns = with;
    all.column_count = n;
    rows_text(&all, s, out);
}

static bool add_text(const void *answer, const struct style *s, struct strbuf *out)
{
    const struct mappings *m = answer;
    struct rows rows = rows_of(m);
    struct mapping_row totals = m->totals; /* borrows the nodes */
    totals.kind = MAPPING_KINDS;
    totals.name = "";
    rows.totals = &totals;
    summary_processes(m->recording, m->profile, s, out);
    add_heading(m, s, out);
    if (m->numa)
        add_nodes(m, &rows, s, out);
    else
        rows_text(&rows, s, out);
    return false;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_moment(struct json *j, const char *key, const struct mappings *m,
                        const struct mapping_moment *at)
{
    struct strbuf label = {0};
    mappings_label(m, at->capture, &label);
    json_object(j, key);
    json_string(j, "moment", at->moment.word);
    json_u64(j, "moment_ns", at->moment.asked_ns);
    json_string(j, "capture", label.data);
    json_u64(j, "time_ns", at->capture->time_ns);
    json_end(j);
    strbuf_release(&label);
}

/* Of the columns of a row, those that a sum has too. */
static void json_sums(struct json *j, const char *key, const struct mapping_row *sums)
{
    struct rows rows = {.columns = columns + FIRST_SUM, .column_count = SUMS};
    json_object(j, key);
    row_json(&rows, sums, j);
    json_end(j);
}

static void json_captures(struct json *j, const struct mappings *m)
{
    const struct profile *p = m->profile;
    struct strbuf label = {0};
    json_array(j, "captures");
    for (size_t i = 0; i < p->captures.count; i++) {
        strbuf_clear(&label);
        mappings_label(m, &p->captures.items[i], &label);
        json_object(j, NULL);
        json_string(j, "label", label.data);
        json_u64(j, "time_ns", p->captures.items[i].time_ns);
        json_u64(j, "count", p->captures.items[i].count);
        json_end(j);
    }
    json_end(j);
    strbuf_release(&label);
}

static void add_json(const void *answer, struct json *j)
{
    const struct mappings *m = answer;
    json_program(j, m->recording, m->profile);
    json_string(j, "by", mapping_grouping_name(m->by));
    json_captures(j, m);
    json_moment(j, "at", m, &m->at);
    if (m->is_difference)
        json_moment(j, "since", m, &m->since);
    else
        json_null(j, "since");
    json_sums(j, "totals", &m->totals);
    json_sums(j, "tidemark", &m->own);
}

static void add_processes(const void *answer, struct json *j)
{
    const struct mappings *m = answer;
    json_processes(j, m->recording, m->profile);
}

struct document maps_document(const struct mappings *m)
{
    return (struct document){.schema = "tidemark.maps/1",
                             .key = "rows",
                             .rows = rows_of(m),
                             .text = add_text,
                             .json = add_json,
                             .json_after = add_processes};
}
