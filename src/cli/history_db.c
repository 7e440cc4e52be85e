#include "cli/history_db.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "model/answer.h"
#include "model/combined_profile.h"
#include "model/process_choice.h"
#include "store/merge.h"

#define APPLICATION 0x74696465 /* "tide" */
#define WAIT_MS     20000      /* how long to wait for another process that writes */

static const char schema[] =
    "CREATE TABLE run(id INTEGER PRIMARY KEY, file TEXT, command TEXT, program TEXT, host TEXT,"
    " pid INTEGER, start_unix_ns INTEGER, duration_ns INTEGER, exit_code INTEGER, signal INTEGER,"
    " complete INTEGER, inputs INTEGER, UNIQUE(host, pid, start_unix_ns, inputs));"
    "CREATE TABLE label(run INTEGER REFERENCES run, key TEXT, value TEXT, PRIMARY KEY(run, key));"
    "CREATE TABLE total(run INTEGER REFERENCES run, metric TEXT, unit TEXT, amount INTEGER,"
    " count INTEGER, all_functions INTEGER, PRIMARY KEY(run, metric));"
    "CREATE TABLE function(run INTEGER REFERENCES run, metric TEXT, name TEXT, module TEXT,"
    " self_amount INTEGER, self_count INTEGER, total_amount INTEGER, total_count INTEGER);"
    "CREATE INDEX function_run ON function(run, metric);"
    "PRAGMA application_id=1953064037; PRAGMA user_version=1;";

/* --- the database ----------------------------------------------------------------------------- */

struct db {
    const char *name;
    sqlite3 *handle;
};

static int fail(const struct db *d, struct err *err)
{
    return err_set(err, -EIO, "%s: %s", d->name,
                   d->handle ? sqlite3_errmsg(d->handle) : "out of memory");
}

static int execute(const struct db *d, const char *text, struct err *err)
{
    return sqlite3_exec(d->handle, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(d, err);
}

static int number_of(const struct db *d, const char *query, int64_t *out, struct err *err)
{
    sqlite3_stmt *s = NULL;
    int code = 0;
    *out = 0;
    if (sqlite3_prepare_v2(d->handle, query, -1, &s, NULL) != SQLITE_OK)
        code = fail(d, err);
    else if (sqlite3_step(s) == SQLITE_ROW)
        *out = sqlite3_column_int64(s, 0);
    else
        code = fail(d, err);
    sqlite3_finalize(s);
    return code;
}

static void db_close(struct db *d)
{
    sqlite3_close(d->handle);
    d->handle = NULL;
}

/* With `write`, creates the database if needed, and begins a transaction. */
static int db_open(struct db *d, const char *name, bool write, struct err *err)
{
    int64_t application = 0, version = 0, tables = 0;
    *d = (struct db){.name = name};
    if (!write && access(name, R_OK))
        return err_set(err, -errno, "cannot read %s: %s", name, strerror(errno));
    int flags = write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    int code = sqlite3_open_v2(name, &d->handle, flags, NULL) == SQLITE_OK ? 0 : fail(d, err);
    if (!code)
        sqlite3_busy_timeout(d->handle, WAIT_MS);
    if (!code && write)
        code = execute(d, "BEGIN IMMEDIATE", err);
    if (!code)
        code = number_of(d, "PRAGMA application_id", &application, err);
    if (!code)
        code = number_of(d, "PRAGMA user_version", &version, err);
    if (!code)
        code = number_of(d, "SELECT count(*) FROM sqlite_master", &tables, err);
    if (!code && write && !tables)
        code = execute(d, schema, err);
    else if (!code && application != APPLICATION)
        code = err_set(err, -EBADMSG, "%s is a database, but not a history of tidemark", name);
    else if (!code && version != 1)
        code = err_set(err, -EBADMSG, "%s has version %lld; this tidemark knows version 1", name,
                       (long long)version);
    if (code)
        db_close(d);
    return code;
}

/* Inserts one row, with a letter for each value: i an int64_t, t a text (NULL: not known). */
static int insert(const struct db *d, const char *text, struct err *err, const char *types, ...)
{
    sqlite3_stmt *s = NULL;
    int code = 0;
    va_list list;
    va_start(list, types);
    if (sqlite3_prepare_v2(d->handle, text, -1, &s, NULL) != SQLITE_OK)
        code = fail(d, err);
    for (int i = 0; !code && types[i]; i++)
        if (types[i] == 'i')
            sqlite3_bind_int64(s, i + 1, va_arg(list, int64_t));
        else
            sqlite3_bind_text(s, i + 1, va_arg(list, const char *), -1, SQLITE_TRANSIENT);
    va_end(list);
    if (!code && sqlite3_step(s) != SQLITE_DONE)
        code = sqlite3_errcode(d->handle) == SQLITE_CONSTRAINT ? -EEXIST : fail(d, err);
    sqlite3_finalize(s);
    return code;
}

/* --- adding ----------------------------------------------------------------------------------- */

static int add_run(const struct db *d, const struct recording *r, const struct profile *p,
                   const char *file, int64_t *id, struct err *err)
{
    const struct profile *program = p->merge ? p : answer_program(r);
    struct strbuf command = {0};
    strbuf_puts(&command, "");
    for (size_t i = 0; i < program->command.count; i++)
        strbuf_printf(&command, "%s%s", i ? " " : "", program->command.items[i]);
    const char *path = program->command.count ? program->command.items[0] : program->executable;
    int64_t inputs = p->merge ? (int64_t)p->merge->inputs.count : 1;
    int code = insert(
        d, "INSERT INTO run VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, nullif(?, -1), nullif(?, 0), ?, ?)",
        err, "ttttiiiiiii", file, command.data, path_program(path ? path : ""),
        program->host ? program->host : "", (int64_t)program->pid,
        (int64_t)r->profiles.items[0].start_unix_ns, (int64_t)p->duration_ns,
        (int64_t)program->exit_code, (int64_t)program->signal,
        (int64_t)(r->complete && p->complete), inputs);
    strbuf_release(&command);
    if (code == -EEXIST)
        return err_set(err, code, "%s has the run of %s already", d->name, file);
    *id = sqlite3_last_insert_rowid(d->handle);
    return code;
}

/* Notes that figures of the heap are estimates. Histories of earlier versions lack this table. */
static int add_sampled(const struct db *d, int64_t id, const struct profile *p, struct err *err)
{
    int code = p->sample_bytes
                   ? execute(d,
                             "CREATE TABLE IF NOT EXISTS sampled(run INTEGER PRIMARY KEY"
                             " REFERENCES run, bytes INTEGER)",
                             err)
                   : 0;
    return !code && p->sample_bytes ? insert(d, "INSERT INTO sampled VALUES(?, ?)", err, "ii", id,
                                             (int64_t)p->sample_bytes)
                                    : code;
}

static int add_labels(const struct db *d, int64_t id, const char *const *labels, size_t count,
                      struct err *err)
{
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        const char *value = strchr(labels[i], '=');
        char *key = xstrndup(labels[i], (size_t)(value - labels[i]));
        code = insert(d, "INSERT OR REPLACE INTO label VALUES(?, ?, ?)", err, "itt", id, key,
                      value + 1);
        free(key);
    }
    return code;
}

static int add_functions(const struct db *d, int64_t id, const struct answer *a, struct err *err)
{
    const char *metric = metric_name(a->query->metric);
    int code = insert(d, "INSERT INTO total VALUES(?, ?, ?, ?, ?, ?)", err, "ittiii", id, metric,
                      metric_is_time(a->query->metric) ? "ns" : "bytes", a->tree.sum.amount,
                      a->tree.sum.count, (int64_t)(a->rows.left_out == 0));
    for (size_t i = 0; i < a->rows.rows.count && !code; i++) {
        const struct answer_row *row = &a->rows.rows.items[i];
        code = insert(d, "INSERT INTO function VALUES(?, ?, ?, ?, ?, ?, ?, ?)", err, "itttiiii", id,
                      metric, row->name, row->module, row->self.amount, row->self.count,
                      row->total.amount, row->total.count);
    }
    return code;
}

/* Adds every metric that was recorded, for all processes together. */
static int add_metrics(const struct db *d, int64_t id, struct recording *r, struct err *err)
{
    int code = 0;
    for (int metric = 0; metric < METRICS && !code; metric++) {
        struct query q;
        struct answer a;
        query_init(&q);
        q.metric = (enum metric)metric;
        q.top = HISTORY_FUNCTIONS;
        q.filter.lenient = true;
        q.process = r->profiles.count > 1 ? COMBINED_PROFILE_WORD : NULL;
        if (answer_query(&a, r, &q, NULL) == 0) {
            code = add_functions(d, id, &a, err);
            answer_release(&a);
        }
        query_release(&q);
    }
    return code;
}

int history_db_add(const char *db, struct recording *r, const char *file, const char *const *labels,
                   size_t count, int64_t *id, struct err *err)
{
    struct db d;
    const struct profile *p = r->profiles.items;
    int code = 0;
    if (r->profiles.count > 1) {
        code = combined_profile_make(r, err);
        p = r->combined;
    }
    if (!code)
        code = db_open(&d, db, true, err);
    if (code)
        return code;
    code = add_run(&d, r, p, file, id, err);
    if (!code)
        code = add_sampled(&d, *id, p, err);
    if (!code)
        code = add_labels(&d, *id, labels, count, err);
    if (!code)
        code = add_metrics(&d, *id, r, err);
    if (!code)
        code = execute(&d, "COMMIT", err);
    db_close(&d); /* without a commit, nothing has changed */
    return code;
}

/* --- reading ---------------------------------------------------------------------------------- */

static char *text_at(sqlite3_stmt *s, int column)
{
    const unsigned char *text = sqlite3_column_text(s, column);
    return xstrdup(text ? (const char *)text : "");
}

static uint32_t string_at(struct history *h, sqlite3_stmt *s, int column)
{
    const unsigned char *text = sqlite3_column_text(s, column);
    return strpool_add(&h->strings, text ? (const char *)text : "");
}

static void take_run(struct history *h, sqlite3_stmt *s)
{
    struct history_run *r = vec_push(&h->runs);
    *r = (struct history_run){
        .id = sqlite3_column_int64(s, 0),
        .file = text_at(s, 1),
        .program = text_at(s, 2),
        .host = text_at(s, 3),
        .start_unix_ns = (uint64_t)sqlite3_column_int64(s, 4),
        .duration_ns = (uint64_t)sqlite3_column_int64(s, 5),
        .exit_code = sqlite3_column_type(s, 6) == SQLITE_NULL ? -1 : sqlite3_column_int(s, 6),
        .signal = sqlite3_column_int(s, 7),
        .complete = sqlite3_column_int(s, 8) != 0,
        .inputs = (uint64_t)sqlite3_column_int64(s, 9),
        .known = sqlite3_column_type(s, 10) != SQLITE_NULL,
        .bytes = sqlite3_column_int64(s, 10),
        .count = sqlite3_column_int64(s, 11),
        .all_functions = sqlite3_column_int(s, 12) != 0};
}

static void take_label(struct history *h, struct history_run *r, sqlite3_stmt *s)
{
    (void)h;
    *vec_push(&r->labels) = (struct history_label){text_at(s, 0), text_at(s, 1)};
}

static void take_sampled(struct history *h, struct history_run *r, sqlite3_stmt *s)
{
    (void)h;
    r->sample_bytes = (uint64_t)sqlite3_column_int64(s, 0);
}

static void take_function(struct history *h, struct history_run *r, sqlite3_stmt *s)
{
    *vec_push(&r->functions) = (struct history_function){.name = string_at(h, s, 0),
                                                         .module = string_at(h, s, 1),
                                                         .bytes = sqlite3_column_int64(s, 2),
                                                         .count = sqlite3_column_int64(s, 3)};
}

/* Reads the rows of a query with the run's number and the metric. */
static int read_rows(const struct db *d, struct history *h, struct history_run *r, const char *text,
                     void (*take)(struct history *, struct history_run *, sqlite3_stmt *),
                     struct err *err)
{
    sqlite3_stmt *s = NULL;
    int status;
    if (sqlite3_prepare_v2(d->handle, text, -1, &s, NULL) != SQLITE_OK)
        return fail(d, err);
    sqlite3_bind_int64(s, 1, r->id);
    if (sqlite3_bind_parameter_count(s) > 1)
        sqlite3_bind_text(s, 2, metric_name(h->metric), -1, SQLITE_STATIC);
    while ((status = sqlite3_step(s)) == SQLITE_ROW)
        take(h, r, s);
    sqlite3_finalize(s);
    return status == SQLITE_DONE ? 0 : fail(d, err);
}

static int read_runs(const struct db *d, struct history *h, struct err *err)
{
    sqlite3_stmt *s = NULL;
    int status;
    if (sqlite3_prepare_v2(
            d->handle,
            "SELECT run.id, file, program, host, start_unix_ns, duration_ns, exit_code, signal,"
            " complete, inputs, amount, total.count, all_functions FROM run"
            " LEFT JOIN total ON total.run = run.id AND metric = ? ORDER BY run.id",
            -1, &s, NULL) != SQLITE_OK)
        return fail(d, err);
    sqlite3_bind_text(s, 1, metric_name(h->metric), -1, SQLITE_STATIC);
    while ((status = sqlite3_step(s)) == SQLITE_ROW)
        take_run(h, s);
    sqlite3_finalize(s);
    return status == SQLITE_DONE ? 0 : fail(d, err);
}

static bool has_labels(const struct history_run *r, const char *const *labels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t k = 0; k < r->labels.count && !found; k++) {
            const struct history_label *l = &r->labels.items[k];
            size_t size = strlen(l->key);
            found = strncmp(labels[i], l->key, size) == 0 && labels[i][size] == '=' &&
                    strcmp(labels[i] + size + 1, l->value) == 0;
        }
        if (!found)
            return false;
    }
    return true;
}

int history_db_read(const char *db, struct history *h, const char *const *labels, size_t count,
                    struct err *err)
{
    struct db d;
    int code = db_open(&d, db, false, err);
    if (code)
        return code;
    int64_t sampled = 0;
    strpool_add(&h->strings, "");
    code =
        number_of(&d, "SELECT count(*) FROM sqlite_master WHERE name = 'sampled'", &sampled, err);
    if (!code)
        code = read_runs(&d, h, err);
    size_t kept = 0;
    for (size_t i = 0; i < h->runs.count && !code; i++) {
        struct history_run run = h->runs.items[i];
        code = read_rows(&d, h, &run, "SELECT key, value FROM label WHERE run = ? ORDER BY key",
                         take_label, err);
        if (!code && has_labels(&run, labels, count))
            code = read_rows(&d, h, &run,
                             "SELECT name, module, self_amount, self_count FROM function"
                             " WHERE run = ? AND metric = ?",
                             take_function, err);
        else if (!code)
            run.id = 0; /* not selected */
        if (!code && run.id && sampled)
            code = read_rows(&d, h, &run, "SELECT bytes FROM sampled WHERE run = ?", take_sampled,
                             err);
        h->runs.items[i] = run;
    }
    for (size_t i = 0; i < h->runs.count && !code; i++) {
        struct history_run run = h->runs.items[i];
        h->runs.items[i] = h->runs.items[kept];
        h->runs.items[kept] = run;
        kept += run.id != 0;
    }
    struct history dropped = {0};
    while (!code && h->runs.count > kept)
        *vec_push(&dropped.runs) = h->runs.items[--h->runs.count];
    history_release(&dropped);
    db_close(&d);
    return code;
}

int history_db_value(const char *db, int64_t run, enum metric metric, bool *known, int64_t *bytes,
                     struct err *err)
{
    struct db d;
    int code = db_open(&d, db, false, err);
    sqlite3_stmt *s = NULL;
    if (code)
        return code;
    *known = false;
    if (sqlite3_prepare_v2(d.handle, "SELECT amount FROM total WHERE run = ? AND metric = ?", -1,
                           &s, NULL) != SQLITE_OK) {
        code = fail(&d, err);
    } else {
        sqlite3_bind_int64(s, 1, run);
        sqlite3_bind_text(s, 2, metric_name(metric), -1, SQLITE_STATIC);
        if (sqlite3_step(s) == SQLITE_ROW) {
            *known = true;
            *bytes = sqlite3_column_int64(s, 0);
        }
    }
    sqlite3_finalize(s);
    db_close(&d);
    return code;
}
