#include "report/maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/csv.h"
#include "report/json_parts.h"
#include "report/summary.h"
#include "report/table.h"
#include "report/units.h"

#define NODE_COLUMNS 6 /* that fit beside the rest */

static const struct {
    const char *title, *key;
    enum mapping_size size;
} sizes[] = {{"RSS", "rss_bytes", MAPPING_RSS},
             {"PSS", "pss_bytes", MAPPING_PSS},
             {"private", "private_bytes", MAPPING_PRIVATE},
             {"dirty", "dirty_bytes", MAPPING_DIRTY},
             {"swap", "swap_bytes", MAPPING_SWAP},
             {NULL, "anonymous_bytes", MAPPING_ANONYMOUS},
             {NULL, "huge_bytes", MAPPING_HUGE},
             {NULL, "locked_bytes", MAPPING_LOCKED}};
#define SIZES (sizeof sizes / sizeof *sizes)

static void add_permissions(struct strbuf *out, const struct mapping *m)
{
    for (int i = 0; i < 3; i++)
        strbuf_putc(out, m->flags >> i & 1 ? "rwx"[i] : '-');
    strbuf_putc(out, m->flags & MAPPING_SHARED ? 's' : 'p');
}

/* Is it in the table? Addresses and names need room. */
static bool is_shown(const struct mappings *m, bool numa, size_t i)
{
    return sizes[i].title && (!numa || sizes[i].size == MAPPING_RSS) &&
           !(m->by == BY_MAPPING && sizes[i].size == MAPPING_DIRTY);
}

/* --- text --------------------------------------------------------------------------------------
 */

static void add_moment(const struct mappings *m, const char *word, const struct mapping_moment *at,
                       struct strbuf *out)
{
    uint64_t taken = at->capture->time_ns, asked = at->moment.asked_ns;
    strbuf_puts(out, word);
    unit_text(out, at->moment.word);
    strbuf_puts(out, ": as captured at ");
    unit_time(out, taken);
    strbuf_puts(out, " (");
    mappings_label(m, at->capture, out);
    strbuf_puts(out, ")");
    if (taken != asked) {
        strbuf_puts(out, ", ");
        unit_time(out, taken < asked ? asked - taken : taken - asked);
        strbuf_puts(out, taken < asked ? " before it" : " after it");
    }
    strbuf_putc(out, '\n');
}

static void add_heading(const struct mappings *m, const struct style *s, struct strbuf *out)
{
    const struct profile *p = m->profile;
    strbuf_puts(out, style_bold(s));
    summary_command(p, s->width > 60 ? s->width - 20 : 40, out);
    strbuf_printf(out, "%s, pid %" PRIu32 "\n", style_plain(s), p->pid);
    if (m->is_difference)
        add_moment(m, "since ", &m->since, out);
    add_moment(m, "at ", &m->at, out);
    strbuf_puts(out, m->is_difference ? "change of resident " : "resident ");
    unit_bytes(out, m->totals.bytes[MAPPING_RSS]);
    strbuf_puts(out, ", mapped ");
    unit_bytes(out, m->totals.size_bytes);
    strbuf_puts(out, "; of these tidemark's own: ");
    unit_bytes(out, m->own.bytes[MAPPING_RSS]);
    strbuf_puts(out, " and ");
    unit_bytes(out, m->own.size_bytes);
    strbuf_putc(out, '\n');
    if (m->recording->incomplete)
        strbuf_printf(out, "%sincomplete %s%s\n", style_warn(s), m->recording->incomplete,
                      style_plain(s));
    strbuf_putc(out, '\n');
}

static void add_node_cells(const struct mappings *m, const struct mapping_row *row, struct table *t)
{
    uint64_t others = 0;
    size_t at = 0;
    for (size_t i = 0; i < m->totals.nodes.count; i++) {
        uint64_t kib = 0;
        if (at < row->nodes.count && row->nodes.items[at].node == m->totals.nodes.items[i].node)
            kib = row->nodes.items[at++].kib;
        if (i < NODE_COLUMNS)
            unit_bytes(table_cell(t), (int64_t)(kib * 1024));
        else
            others += kib;
    }
    if (m->totals.nodes.count > NODE_COLUMNS)
        unit_bytes(table_cell(t), (int64_t)(others * 1024));
}

/* Folders of libraries tell little, and would hide the rest. */
static const char *shown_name(const struct mapping_row *row)
{
    const char *slash = strrchr(row->name, '/');
    bool is_library = row->kind == KIND_LIBRARY_TEXT || row->kind == KIND_LIBRARY_DATA;
    return slash && (is_library || row->kind == KIND_OWN) ? slash + 1 : row->name;
}

static void add_row(const struct mappings *m, const struct mapping_row *row, const char *kind,
                    bool numa, struct table *t)
{
    if (m->is_difference)
        strbuf_puts(table_cell(t),
                    row->kind == MAPPING_KINDS ? "" : mapping_change_name(row->change));
    if (m->by != BY_MAPPING)
        unit_count(table_cell(t), row->count);
    unit_bytes(table_cell(t), row->size_bytes);
    for (size_t i = 0; i < SIZES; i++)
        if (is_shown(m, numa, i))
            unit_bytes(table_cell(t), row->bytes[sizes[i].size]);
    if (numa) {
        add_node_cells(m, row, t);
        unit_text(table_cell(t), row->policy);
    }
    strbuf_puts(table_cell(t), kind);
    if (m->by == BY_MAPPING) {
        struct strbuf *cell = table_cell(t);
        if (row->mapping)
            strbuf_printf(cell, "%" PRIx64 "-%" PRIx64, row->mapping->start, row->mapping->end);
        cell = table_cell(t);
        if (row->mapping)
            add_permissions(cell, row->mapping);
    }
    if (m->by != BY_KIND)
        unit_text(table_cell(t), shown_name(row));
}

static void add_titles(const struct mappings *m, bool numa, char nodes[][16], struct table *t)
{
    if (m->is_difference)
        table_column(t, "change", CELL_LEFT);
    if (m->by != BY_MAPPING)
        table_column(t, "mappings", CELL_RIGHT);
    table_column(t, "size", CELL_RIGHT);
    for (size_t i = 0; i < SIZES; i++)
        if (is_shown(m, numa, i))
            table_column(t, sizes[i].title, CELL_RIGHT);
    for (size_t i = 0; numa && i < m->totals.nodes.count && i <= NODE_COLUMNS; i++) {
        snprintf(nodes[i], sizeof nodes[i], "node %" PRIu32, m->totals.nodes.items[i].node);
        table_column(t, i < NODE_COLUMNS ? nodes[i] : "others", CELL_RIGHT);
    }
    if (numa)
        table_column(t, "policy", CELL_LEFT);
    table_column(t, "kind", CELL_LEFT);
    if (m->by == BY_MAPPING) {
        table_column(t, "addresses", CELL_LEFT);
        table_column(t, "access", CELL_LEFT);
    }
    if (m->by != BY_KIND)
        table_column(t, m->by == BY_MAPPING ? "name" : "file", CELL_PATH);
    table_spare(t, "swap");
    table_spare(t, "private");
    table_spare(t, "PSS");
    table_spare(t, "dirty");
}

void maps_text(const struct mappings *m, bool numa, const struct style *s, struct strbuf *out)
{
    struct table t;
    char nodes[NODE_COLUMNS + 1][16];
    struct mapping_row totals = m->totals; /* borrows the nodes */
    table_init(&t);
    add_titles(m, numa, nodes, &t);
    for (size_t i = 0; i < m->rows.count; i++) {
        const struct mapping_row *row = &m->rows.items[i];
        /* PSS changes with what others do: no change of ours. */
        if (!m->is_difference || m->by == BY_KIND || row->change != CHANGE_NONE)
            add_row(m, row, mapping_kind_name(row->kind), numa, &t);
    }
    totals.kind = MAPPING_KINDS;
    totals.name = "";
    add_row(m, &totals, "total", numa, &t);
    summary_processes(m->recording, m->profile, s, out);
    add_heading(m, s, out);
    table_print(&t, s, out);
    if (m->cut) {
        strbuf_puts(out, "... ");
        unit_counted(out, (int64_t)m->cut, "more row");
        strbuf_puts(out, "; --top 0 shows all\n");
    }
    table_release(&t);
}

/* --- JSON and CSV ------------------------------------------------------------------------------
 */

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

static void json_figures(struct json *j, const struct mapping_row *row)
{
    json_i64(j, "count", row->count);
    json_i64(j, "size_bytes", row->size_bytes);
    for (size_t i = 0; i < SIZES; i++)
        json_i64(j, sizes[i].key, row->bytes[sizes[i].size]);
    json_object(j, "nodes");
    for (size_t i = 0; i < row->nodes.count; i++) {
        char node[16];
        snprintf(node, sizeof node, "%" PRIu32, row->nodes.items[i].node);
        json_i64(j, node, (int64_t)(row->nodes.items[i].kib * 1024));
    }
    json_end(j);
    json_string(j, "policy", *row->policy ? row->policy : NULL);
}

static void json_row(struct json *j, const struct mappings *m, const struct mapping_row *row)
{
    json_object(j, NULL);
    json_string(j, "kind", mapping_kind_name(row->kind));
    if (m->by != BY_KIND)
        json_string(j, "name", *row->name ? row->name : NULL);
    if (m->is_difference)
        json_string(j, "change", mapping_change_name(row->change));
    if (row->mapping) {
        struct strbuf access = {0};
        add_permissions(&access, row->mapping);
        json_u64(j, "start", row->mapping->start);
        json_u64(j, "end", row->mapping->end);
        json_u64(j, "offset", row->mapping->offset);
        json_string(j, "access", access.data);
        strbuf_release(&access);
    }
    json_figures(j, row);
    json_end(j);
}

static void json_captures(struct json *j, const struct mappings *m, const struct report_sink *sink)
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
        report_flush(sink, j->out);
    }
    json_end(j);
    strbuf_release(&label);
}

void maps_json(const struct mappings *m, const struct report_sink *sink, struct strbuf *out)
{
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.maps/1");
    json_program(&j, m->recording, m->profile);
    json_string(&j, "by", mapping_grouping_name(m->by));
    json_captures(&j, m, sink);
    json_moment(&j, "at", m, &m->at);
    if (m->is_difference)
        json_moment(&j, "since", m, &m->since);
    else
        json_null(&j, "since");
    json_object(&j, "totals");
    json_figures(&j, &m->totals);
    json_end(&j);
    json_object(&j, "tidemark");
    json_figures(&j, &m->own);
    json_end(&j);
    json_array(&j, "rows");
    for (size_t i = 0; i < m->rows.count; i++) {
        json_row(&j, m, &m->rows.items[i]);
        report_flush(sink, out);
    }
    json_end(&j);
    json_processes(&j, m->recording, m->profile);
    json_end(&j);
}

void maps_csv(const struct mappings *m, const struct report_sink *sink, struct strbuf *out)
{
    strbuf_puts(out, "kind,name,change,start,end,access,count,size_bytes");
    for (size_t i = 0; i < SIZES; i++)
        strbuf_printf(out, ",%s", sizes[i].key);
    strbuf_puts(out, ",nodes,policy\n");
    for (size_t i = 0; i < m->rows.count; i++) {
        const struct mapping_row *row = &m->rows.items[i];
        strbuf_printf(out, "%s,", mapping_kind_name(row->kind));
        csv_text(out, row->name);
        strbuf_printf(out, ",%s,", m->is_difference ? mapping_change_name(row->change) : "");
        if (row->mapping) {
            strbuf_printf(out, "%" PRIu64 ",%" PRIu64 ",", row->mapping->start, row->mapping->end);
            add_permissions(out, row->mapping);
        } else {
            strbuf_puts(out, ",,");
        }
        strbuf_printf(out, ",%" PRId64 ",%" PRId64, row->count, row->size_bytes);
        for (size_t k = 0; k < SIZES; k++)
            strbuf_printf(out, ",%" PRId64, row->bytes[sizes[k].size]);
        strbuf_putc(out, ',');
        for (size_t k = 0; k < row->nodes.count; k++)
            strbuf_printf(out, "%s%" PRIu32 "=%" PRId64, k ? ";" : "", row->nodes.items[k].node,
                          (int64_t)(row->nodes.items[k].kib * 1024));
        strbuf_putc(out, ',');
        csv_text(out, row->policy);
        strbuf_putc(out, '\n');
        report_flush(sink, out);
    }
}
