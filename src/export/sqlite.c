/*
 * sqlite: a whole recording as tables for SQL, pandas and DuckDB. docs/export.md documents the
 * schema.
 *
 * It holds every process with its stacks and the log of intervals. It loses mappings at moments
 * other than the last, accounts of resident memory, and histograms. Stacks are those of `report
 * --by stack`, and sites.function is what `report` charges, without the defaults that the recording
 * has for reports.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "export/sqlite_schema.h"
#include "export/tables.h"

struct database {
    struct export *e;
    sqlite3 *db;
    bool bad;
    struct strpool strings;                          /* of functions and frames */
    struct map functions, frames;                    /* keys -> ids */
    sqlite3_int64 stacks, sites, intervals, process; /* the last ids that were assigned */
    sqlite3_stmt *add_function, *add_frame, *add_stack, *add_site, *add_interval, *add_change;
};

/* --- statements ------------------------------------------------------------------------------- */

static void run(struct database *d, const char *sql)
{
    d->bad |= sqlite3_exec(d->db, sql, NULL, NULL, NULL) != SQLITE_OK;
}

/* INSERT INTO table VALUES (?, ?, ...) */
static sqlite3_stmt *inserter(struct database *d, const char *table, size_t columns)
{
    struct strbuf sql = {0};
    sqlite3_stmt *statement = NULL;
    strbuf_printf(&sql, "INSERT INTO \"%s\" VALUES (", table);
    for (size_t i = 0; i < columns; i++)
        strbuf_puts(&sql, i ? ",?" : "?");
    strbuf_putc(&sql, ')');
    d->bad |= sqlite3_prepare_v2(d->db, sql.data, -1, &statement, NULL) != SQLITE_OK;
    strbuf_release(&sql);
    return statement;
}

static void bind_number(sqlite3_stmt *s, int at, uint64_t value)
{
    sqlite3_bind_int64(s, at, (sqlite3_int64)value);
}

/* Binds a text; an empty one becomes NULL. Bytes that are not UTF-8 become U+FFFD, as in JSON. */
static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
    char *decoded = text && *text ? json_decoded(text) : NULL;
    if (decoded)
        sqlite3_bind_text(s, at, decoded, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(s, at);
    free(decoded);
}

static void insert(struct database *d, sqlite3_stmt *s)
{
    d->bad |= sqlite3_step(s) != SQLITE_DONE;
    sqlite3_reset(s);
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Functions are identified as in reports: by name and library, those of Python by file. */
static uint32_t function_id(struct database *d, const struct stack_frame *f)
{
    const char *where = f->python ? f->file : f->module;
    uint64_t key =
        (uint64_t)strpool_add(&d->strings, f->name) << 32 | strpool_add(&d->strings, where);
    uint32_t *id = map_at(&d->functions, key);
    if (*id == MAP_NONE) {
        *id = (uint32_t)d->functions.count;
        bind_number(d->add_function, 1, *id);
        bind_text(d->add_function, 2, f->name);
        bind_text(d->add_function, 3, f->module);
        bind_text(d->add_function, 4, f->python ? f->file : NULL);
        insert(d, d->add_function);
    }
    return *id;
}

/* Frames of several processes may be equal: by function, then by file, line and kind. */
static uint32_t frame_id(struct database *d, const struct stack_frame *f)
{
    const char *kind = f->python ? "python" : f->inlined ? "inlined" : "native";
    uint32_t function = function_id(d, f);
    char *place = xasprintf("%s:%u:%s", f->file, f->line, kind);
    uint32_t *id = map_at(&d->frames, (uint64_t)function << 32 | strpool_add(&d->strings, place));
    free(place);
    if (*id == MAP_NONE) {
        *id = (uint32_t)d->frames.count;
        bind_number(d->add_frame, 1, *id);
        bind_number(d->add_frame, 2, function);
        bind_text(d->add_frame, 3, f->file);
        if (f->line)
            bind_number(d->add_frame, 4, f->line);
        else
            sqlite3_bind_null(d->add_frame, 4);
        bind_text(d->add_frame, 5, kind);
        insert(d, d->add_frame);
    }
    return *id;
}

/* The stacks of a table get the ids that follow d->stacks. */
static void add_stacks(struct database *d, const struct stack_table *t)
{
    const struct merged *m = &t->merged;
    uint32_t *frames = xcalloc(t->frames.frames.count + 1, sizeof *frames);
    uint32_t *depth = xcalloc(m->parent.count, sizeof *depth);
    for (uint32_t n = 1; n < m->parent.count; n++) {
        uint32_t key = m->key.items[n], parent = m->parent.items[n];
        if (!frames[key]) {
            struct stack_frame f = stack_frame_of(&t->frames, key);
            frames[key] = frame_id(d, &f);
        }
        depth[n] = depth[parent] + 1;
        bind_number(d->add_stack, 1, (uint64_t)d->stacks + n);
        bind_number(d->add_stack, 2, (uint64_t)d->process);
        if (parent)
            bind_number(d->add_stack, 3, (uint64_t)d->stacks + parent);
        else
            sqlite3_bind_null(d->add_stack, 3);
        bind_number(d->add_stack, 4, frames[key]);
        bind_number(d->add_stack, 5, depth[n]);
        insert(d, d->add_stack);
    }
    free(depth);
    free(frames);
}

/* The call that a report by function charges: the innermost Python function, if there is one. */
static uint32_t charged_call(const struct stack_table *t, const struct stack_row *row)
{
    const uint32_t *parent = t->tree.parent.items, *frame = t->tree.frame.items;
    const struct call_frame *frames = t->frames.frames.items;
    if (metric_is_time(t->columns[0].metric) || t->columns[0].metric == METRIC_FAULTS)
        return frames[frame[row->call]].flags & CALL_KERNEL && parent[row->call] ? parent[row->call]
                                                                                 : row->call;
    uint32_t call = row->call;
    while (call && !(frames[frame[call]].flags & CALL_PYTHON))
        call = parent[call];
    return call ? call : row->call;
}

/* --- sites and intervals ---------------------------------------------------------------------- */

static const char *const domains[DOMAIN_COUNT] = {
    [DOMAIN_HEAP] = "heap",       [DOMAIN_MAPPED] = "mapped",   [DOMAIN_POOL] = "pool",
    [DOMAIN_CPU] = "cpu",         [DOMAIN_FAULTS] = "faults",   [DOMAIN_TOUCHED] = "touched",
    [DOMAIN_FOREIGN] = "foreign", [DOMAIN_WAITING] = "waiting", [DOMAIN_READY] = "ready",
    [DOMAIN_ARENA] = "arena",     [DOMAIN_GPU] = "gpu",         [DOMAIN_TENSOR] = "tensor"};

static void add_sites(struct database *d, const struct stack_table *t,
                      const uint64_t (*sums)[COLUMNS], sqlite3_int64 *ids)
{
    const struct profile *p = t->profile;
    for (size_t i = 0; i < t->rows.count; i++) {
        const struct stack_row *row = &t->rows.items[i];
        const struct site *s = &p->sites.items[row->site];
        const uint64_t *c = sums[row->site];
        uint32_t charged = charged_call(t, row);
        struct stack_frame f = stack_frame_of(&t->frames, t->tree.frame.items[charged]);
        const uint64_t numbers[] = {c[COL_ALLOCS],
                                    c[COL_BYTES],
                                    c[COL_FREES],
                                    c[COL_FREED],
                                    c[COL_ALLOCS] - c[COL_FREES],
                                    c[COL_BYTES] - c[COL_FREED],
                                    c[COL_TEMPS],
                                    c[COL_TEMP_BYTES],
                                    c[COL_USABLE],
                                    c[COL_REALLOCS],
                                    s->at_peak_blocks,
                                    s->at_peak_bytes,
                                    s->own_peak_blocks,
                                    s->own_peak_bytes,
                                    s->largest_bytes};
        ids[row->site] = ++d->sites;
        bind_number(d->add_site, 1, (uint64_t)d->sites);
        bind_number(d->add_site, 2, (uint64_t)d->process);
        bind_number(d->add_site, 3, (uint64_t)d->stacks + row->node);
        bind_number(d->add_site, 4, (uint64_t)d->stacks + t->merged.of_call[charged]);
        bind_number(d->add_site, 5, function_id(d, &f));
        bind_number(d->add_site, 6,
                    row->thread < p->threads.count ? p->threads.items[row->thread].tid : 0);
        bind_text(d->add_site, 7, stack_table_thread(t, row));
        bind_text(d->add_site, 8, s->domain < DOMAIN_COUNT ? domains[s->domain] : "");
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            bind_number(d->add_site, (int)k + 9, numbers[k]);
        insert(d, d->add_site);
    }
}

/* Adds metrics whose stacks look alike; those that were not recorded are left out. */
static int add_group(struct database *d, const struct query *q, const enum metric *metrics,
                     size_t count, const uint64_t (*sums)[COLUMNS], sqlite3_int64 *ids)
{
    struct stack_column columns[STACK_COLUMNS];
    const struct profile *p;
    struct stack_table t;
    size_t used = 0;
    int code = answer_process(d->e->recording, q, &p, NULL);
    for (size_t i = 0; i < count && !code; i++) {
        struct query one = *q;
        struct window unused;
        one.metric = metrics[i];
        if (measure_window(p, &one, &unused, NULL) == 0)
            columns[used++] = (struct stack_column){metrics[i], SIZE_REQUESTED, .ever = true};
    }
    if (!used)
        return code;
    code = stack_table_init(&t, d->e->recording, q, columns, used, NULL);
    if (code)
        return code;
    add_stacks(d, &t);
    add_sites(d, &t, sums, ids);
    d->stacks += (sqlite3_int64)t.merged.parent.count;
    stack_table_release(&t);
    return 0;
}

static void add_intervals(struct database *d, const struct profile *p, const sqlite3_int64 *ids)
{
    static const enum column written[] = {COL_ALLOCS, COL_BYTES, COL_FREES,
                                          COL_FREED,  COL_TEMPS, COL_TEMP_BYTES};
    uint64_t start = 0, live = 0, blocks = 0;
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *iv = &p->intervals.items[i];
        d->intervals++;
        for (size_t r = iv->first_row; r < iv->first_row + iv->row_count; r++) {
            const struct row *row = &p->rows.items[r];
            if (domain_is_live(p->sites.items[row->site].domain)) {
                live += row->columns[COL_BYTES] - row->columns[COL_FREED];
                blocks += row->columns[COL_ALLOCS] - row->columns[COL_FREES];
            }
            if (!ids[row->site])
                continue;
            bind_number(d->add_change, 1, (uint64_t)d->intervals);
            bind_number(d->add_change, 2, (uint64_t)ids[row->site]);
            for (size_t k = 0; k < sizeof written / sizeof *written; k++)
                bind_number(d->add_change, (int)k + 3, row->columns[written[k]]);
            insert(d, d->add_change);
        }
        const uint64_t numbers[] = {(uint64_t)d->intervals,
                                    (uint64_t)d->process,
                                    start,
                                    iv->end_ns,
                                    live,
                                    blocks,
                                    iv->peak_bytes,
                                    iv->unknown_frees,
                                    iv->lost_events,
                                    iv->truncated_stacks};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            bind_number(d->add_interval, (int)k + 1, numbers[k]);
        insert(d, d->add_interval);
        start = iv->end_ns;
    }
}

static int add_process(struct database *d, const struct query *q, const struct profile *p)
{
    static const enum metric allocated[] = {METRIC_TOTAL,   METRIC_MAPPED, METRIC_POOL,
                                            METRIC_TOUCHED, METRIC_GPU,    METRIC_TENSOR},
                             sampled[] = {METRIC_CPU, METRIC_FAULTS, METRIC_WALL};
    uint64_t(*sums)[COLUMNS] = xcalloc(p->sites.count + 1, sizeof *sums);
    sqlite3_int64 *ids = xcalloc(p->sites.count + 1, sizeof *ids);
    for (size_t r = 0; r < p->rows.count; r++)
        for (int c = 0; c < COLUMNS; c++)
            sums[p->rows.items[r].site][c] += p->rows.items[r].columns[c];
    int code = add_group(d, q, allocated, sizeof allocated / sizeof *allocated,
                         (const uint64_t(*)[COLUMNS])sums, ids);
    if (!code)
        code = add_group(d, q, sampled, sizeof sampled / sizeof *sampled,
                         (const uint64_t(*)[COLUMNS])sums, ids);
    if (!code)
        add_intervals(d, p, ids);
    free(sums);
    free(ids);
    return code;
}

/* --- tables of commands ----------------------------------------------------------------------- */

/* The columns that a table of a command gets before its own. */
enum front { FRONT_NONE, FRONT_PROCESS, FRONT_ID };

/* A table that is created when its titles are known, and filled as cells come. */
struct filling {
    struct database *d;
    const char *table;
    enum front front;
    sqlite3_int64 id;
    VEC(char *) titles;
    VEC(enum column_kind) kinds;
    sqlite3_stmt *insert;
    size_t at; /* number of cells in the current row */
};

static void take_title(void *context, const char *name, enum column_kind kind)
{
    struct filling *f = context;
    if (f->insert)
        return;
    *vec_push(&f->titles) = xstrdup(name);
    *vec_push(&f->kinds) = kind;
}

static const char *type_of(enum column_kind kind)
{
    return kind == COLUMN_REAL || kind == COLUMN_PERCENT ? "REAL"
           : kind == COLUMN_COUNT || kind == COLUMN_BYTES || kind == COLUMN_TIME ||
                   kind == COLUMN_AMOUNT
               ? "INTEGER"
               : "TEXT";
}

static void make_table(struct filling *f)
{
    struct strbuf sql = {0};
    bool front = f->front != FRONT_NONE;
    strbuf_printf(&sql, "CREATE TABLE IF NOT EXISTS \"%s\" (", f->table);
    if (front)
        strbuf_puts(&sql, f->front == FRONT_ID ? "id INTEGER PRIMARY KEY" : "process INTEGER");
    for (size_t i = 0; i < f->titles.count; i++)
        strbuf_printf(&sql, "%s\"%s\" %s", i || front ? ", " : "", f->titles.items[i],
                      type_of(f->kinds.items[i]));
    strbuf_putc(&sql, ')');
    run(f->d, sql.data);
    strbuf_release(&sql);
    f->insert = inserter(f->d, f->table, f->titles.count + front);
}

static void take_cell(void *context, const struct cell *cell)
{
    struct filling *f = context;
    if (!f->insert)
        make_table(f);
    int at = (int)f->at + 1 + (f->front != FRONT_NONE);
    if (f->front && !f->at)
        sqlite3_bind_int64(f->insert, 1, f->front == FRONT_ID ? ++f->id : f->d->process);
    if (cell->type == CELL_TEXT)
        bind_text(f->insert, at, cell->text);
    else if (cell->type == CELL_REAL)
        sqlite3_bind_double(f->insert, at, cell->real);
    else if (cell->type == CELL_FLAG)
        bind_number(f->insert, at, cell->flag);
    else if (cell->type == CELL_UNKNOWN)
        sqlite3_bind_null(f->insert, at);
    else
        bind_number(f->insert, at, cell->natural);
    if (++f->at == f->titles.count) {
        insert(f->d, f->insert);
        f->at = 0;
    }
}

static void take_rows(void *context, const struct rows *r)
{
    const struct cell_taker taker = {take_title, take_cell, context};
    rows_cells(r, &taker);
    struct filling *f = context;
    if (!f->insert && f->titles.count)
        make_table(f);
}

/* A table that the recording cannot have is left out, or empty. */
static void add_table(struct database *d, const struct query *q, const char *table,
                      enum front front)
{
    struct filling f = {.d = d, .table = table, .front = front};
    const struct report_sink sink = {.rows = take_rows, .context = &f};
    struct export e = *d->e;
    struct strbuf unused = {0};
    e.query = q;
    e.table = table;
    table_write(&e, &sink, &unused, NULL);
    sqlite3_finalize(f.insert);
    for (size_t i = 0; i < f.titles.count; i++)
        free(f.titles.items[i]);
    vec_release(&f.titles);
    vec_release(&f.kinds);
    strbuf_release(&unused);
}

/* --- the database ----------------------------------------------------------------------------- */

static void add_meta(struct database *d)
{
    sqlite3_stmt *s = inserter(d, "meta", 2);
    const char *const pairs[][2] = {{"schema", SQLITE_SCHEMA_NAME},
                                    {"tidemark", TIDEMARK_VERSION},
                                    {"incomplete", d->e->recording->incomplete}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        bind_text(s, 1, pairs[i][0]);
        bind_text(s, 2, pairs[i][1]);
        insert(d, s);
    }
    sqlite3_finalize(s);
}

static int add_all(struct database *d)
{
    static const char *const of_processes[] = {"threads", "marks", "stamps", "leaks", "maps"};
    const struct recording *r = d->e->recording;
    struct query q = *d->e->query;
    int code = 0;
    q.filter.no_defaults = q.filter.lenient = true;
    add_meta(d);
    add_table(d, &q, "processes", FRONT_ID);
    for (size_t i = 0; i < r->profiles.count && !code; i++) {
        char *word = answer_process_word(r, &r->profiles.items[i]);
        d->process = (sqlite3_int64)i + 1;
        q.process = word;
        code = add_process(d, &q, &r->profiles.items[i]);
        for (size_t k = 0; k < sizeof of_processes / sizeof *of_processes; k++)
            add_table(d, &q, of_processes[k], FRONT_PROCESS);
        free(word);
    }
    q.process = NULL;
    add_table(d, &q, "findings", FRONT_NONE);
    return code;
}

static void prepare(struct database *d)
{
    run(d, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;");
    run(d, "BEGIN");
    run(d, sqlite_tables);
    d->add_function = inserter(d, "functions", 4);
    d->add_frame = inserter(d, "frames", 5);
    d->add_stack = inserter(d, "stacks", 5);
    d->add_site = inserter(d, "sites", 23);
    d->add_interval = inserter(d, "intervals", 10);
    d->add_change = inserter(d, "changes", 8);
}

static void finish(struct database *d)
{
    sqlite3_stmt *const statements[] = {d->add_function, d->add_frame,    d->add_stack,
                                        d->add_site,     d->add_interval, d->add_change};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        sqlite3_finalize(statements[i]);
    run(d, sqlite_views);
    run(d, "COMMIT");
    strpool_release(&d->strings);
    map_release(&d->functions);
    map_release(&d->frames);
}

int export_sqlite(struct export *e, struct err *err)
{
    struct database d = {.e = e};
    int code = 0;
    if (sqlite3_open_v2(e->file, &d.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
        SQLITE_OK) {
        d.bad = true;
    } else {
        prepare(&d);
        code = add_all(&d);
        finish(&d);
    }
    if (code)
        err_set(err, code, "cannot put the recording into a database");
    else if (d.bad)
        code = err_set(err, -EIO, "cannot write the database: %s", sqlite3_errmsg(d.db));
    sqlite3_close(d.db);
    return code;
}
