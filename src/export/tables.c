#include "export/tables.h"

#include <errno.h>
#include <string.h>

#include "analyse/peaks.h"
#include "answer/findings.h"
#include "answer/growth.h"
#include "answer/leaks.h"
#include "answer/maps.h"
#include "answer/marks.h"
#include "answer/peaks.h"
#include "answer/threads.h"
#include "model/combined_profile.h"

typedef int table_writer(struct export *e, const struct report_sink *sink, struct strbuf *out,
                         struct err *err);

static int write_report(struct export *e, const struct report_sink *sink, struct strbuf *out,
                        struct err *err)
{
    struct answer a;
    int code = answer_query(&a, e->recording, e->query, err);
    if (code)
        return code;
    report_csv(&a, sink, out);
    answer_release(&a);
    return 0;
}

static int write_leaks(struct export *e, const struct report_sink *sink, struct strbuf *out,
                       struct err *err)
{
    const struct leaks_question q = {.query = *e->query, .kinds = LEAKS_ALL, .by_size = true};
    struct leaks leaks;
    int code = leaks_find(&leaks, e->recording, &q, err);
    if (code)
        return code;
    leaks_csv(&leaks, sink, out);
    leaks_release(&leaks);
    return 0;
}

static int write_mark_rows(struct export *e, bool stamps, const struct report_sink *sink,
                           struct strbuf *out, struct err *err)
{
    struct query q = *e->query;
    const struct profile *profile;
    struct mark_rows rows;
    q.has_mark = "";
    int code = answer_process(e->recording, &q, &profile, err);
    if (!code)
        code = mark_rows_init(&rows, e->recording, profile, NULL, stamps, err);
    if (code)
        return code;
    const struct document d = marks_document(&rows);
    rows_csv(&d.rows, sink, out);
    mark_rows_release(&rows);
    return 0;
}

static int write_marks(struct export *e, const struct report_sink *sink, struct strbuf *out,
                       struct err *err)
{
    return write_mark_rows(e, false, sink, out, err);
}

static int write_stamps(struct export *e, const struct report_sink *sink, struct strbuf *out,
                        struct err *err)
{
    return write_mark_rows(e, true, sink, out, err);
}

static int write_threads(struct export *e, const struct report_sink *sink, struct strbuf *out,
                         struct err *err)
{
    struct threads threads;
    int code = threads_init(&threads, e->recording, e->query, err);
    if (code)
        return code;
    const struct document d = threads_document(&threads, e->query->top);
    rows_csv(&d.rows, sink, out);
    threads_release(&threads);
    return 0;
}

static int write_peaks(struct export *e, const struct report_sink *sink, struct strbuf *out,
                       struct err *err)
{
    const struct peak_options options = {.least_change = -1};
    struct peaks peaks;
    int code = peaks_init(&peaks, e->recording, e->query, &options, err);
    if (code)
        return code;
    peaks_keep_highest(&peaks, e->query->top);
    struct json_stacks stacks = {.frames = &peaks.places.total.frames};
    const struct peaks_listing listing = {
        .peaks = &peaks, .file = "", .options = "", .stacks = &stacks};
    const struct document d = peaks_document(&listing);
    rows_csv(&d.rows, sink, out);
    json_stacks_release(&stacks);
    peaks_release(&peaks);
    return 0;
}

static int write_maps(struct export *e, const struct report_sink *sink, struct strbuf *out,
                      struct err *err)
{
    const struct profile *profile;
    struct mappings mappings;
    int code = answer_process(e->recording, e->query, &profile, err);
    if (!code)
        code = mappings_init(&mappings, e->recording, profile, e->query->since, e->query->at,
                             BY_MAPPING, e->query->top, err);
    if (code)
        return code;
    const struct document d = maps_document(&mappings);
    rows_csv(&d.rows, sink, out);
    mappings_release(&mappings);
    return 0;
}

static int write_growth(struct export *e, const struct report_sink *sink, struct strbuf *out,
                        struct err *err)
{
    struct growth_question q = {*e->query, NULL, NULL};
    struct growth growth;
    q.query.has_mark = "";
    int code = growth_init(&growth, e->recording, &q, err);
    if (code)
        return code;
    growth_csv(&growth, e->query->top, sink, out);
    growth_release(&growth);
    return 0;
}

static int write_findings(struct export *e, const struct report_sink *sink, struct strbuf *out,
                          struct err *err)
{
    struct findings_all findings;
    int code = findings_all_init(&findings, e->recording, e->query, 0, err);
    if (code)
        return code;
    findings_csv(&findings, e->query->top == QUERY_ALL ? 0 : e->query->top, sink, out);
    findings_all_release(&findings);
    return 0;
}

/* --- processes -------------------------------------------------------------------------------- */

static struct cell get_command(struct spot s)
{
    profile_command(s.row, s.made);
    return CELL_OF(s.made->data);
}

static bool ended_itself(const void *row)
{
    return ((const struct profile *)row)->exit_code >= 0;
}

#define PROFILE(member) FIELD(struct profile, member)

static const struct column_def process_columns[] = {
    {"pid", NULL, COLUMN_COUNT, PROFILE(pid)},
    {"ppid", NULL, COLUMN_COUNT, PROFILE(ppid)},
    {"command", NULL, COLUMN_WORDS, .get = get_command},
    {"executable", NULL, COLUMN_PATH, PROFILE(executable)},
    {"host", NULL, COLUMN_WORD, PROFILE(host)},
    {"start_unix_ns", NULL, COLUMN_TIME, PROFILE(start_unix_ns)},
    {"duration_ns", NULL, COLUMN_TIME, PROFILE(duration_ns)},
    {"exit_code", NULL, COLUMN_COUNT, PROFILE(exit_code), .known = ended_itself},
    {"signal", NULL, COLUMN_COUNT, PROFILE(signal), .zero_is_unknown = true},
    {"complete", NULL, COLUMN_COUNT, PROFILE(complete)},
    {"execed", NULL, COLUMN_COUNT, PROFILE(execed)},
    {"peak_bytes", NULL, COLUMN_BYTES, PROFILE(peak_bytes)},
    {"peak_blocks", NULL, COLUMN_COUNT, PROFILE(peak_blocks)},
    {"peak_time_ns", NULL, COLUMN_TIME, PROFILE(peak_time_ns)},
};

static int write_processes(struct export *e, const struct report_sink *sink, struct strbuf *out,
                           struct err *err)
{
    const struct rows rows = {COLUMN_DEFS(process_columns), ITEMS(e->recording->profiles)};
    (void)err;
    rows_csv(&rows, sink, out);
    return 0;
}

/* --- by name ---------------------------------------------------------------------------------- */

static const struct table {
    const char *name;
    table_writer *write;
    unsigned takes; /* set of enum export_takes and enum table_takes */
    bool presets;   /* the command's default */
} tables[] = {
    {"report", write_report, ~0u, false},
    {"leaks", write_leaks,
     EXPORT_AT | EXPORT_SINCE | TABLE_TOP | TABLE_MIN | TABLE_STACKS | TABLE_PROCESS | TABLE_ALL,
     true},
    {"marks", write_marks, TABLE_PROCESS, false},
    {"stamps", write_stamps, TABLE_PROCESS, false},
    {"threads", write_threads,
     EXPORT_AT | EXPORT_SINCE | TABLE_TOP | TABLE_STACKS | TABLE_PROCESS | TABLE_ALL, false},
    {"peaks", write_peaks,
     EXPORT_AT | EXPORT_SINCE | TABLE_TOP | TABLE_STACKS | TABLE_PROCESS | TABLE_ALL, false},
    {"growth", write_growth, TABLE_TOP | TABLE_STACKS | TABLE_PROCESS, true},
    {"findings", write_findings, TABLE_TOP | TABLE_STACKS | TABLE_PROCESS | TABLE_ALL, true},
    {"maps", write_maps, EXPORT_AT | EXPORT_SINCE | TABLE_TOP | TABLE_PROCESS, false},
    {"processes", write_processes, 0, false},
};
#define TABLES (sizeof tables / sizeof *tables)

unsigned table_takes(const char *name)
{
    for (size_t i = 0; i < TABLES && name; i++)
        if (strcmp(tables[i].name, name) == 0)
            return tables[i].takes;
    return ~0u;
}

int table_write(struct export *e, const struct report_sink *sink, struct strbuf *out,
                struct err *err)
{
    struct strbuf names = {0};
    for (size_t i = 0; i < TABLES; i++) {
        if (strcmp(tables[i].name, e->table ? e->table : "report") == 0) {
            struct export with = *e;
            struct query q = *e->query;
            q.filter.presets |= tables[i].presets && !e->presets_given;
            with.query = &q;
            strbuf_release(&names);
            if (!(tables[i].takes & TABLE_ALL) && q.process &&
                strcmp(q.process, COMBINED_PROFILE_WORD) == 0)
                return err_set(err, -EINVAL,
                               "--table %s is known for one process only; --process PID picks it",
                               tables[i].name);
            return tables[i].write(&with, sink, out, err);
        }
        strbuf_printf(&names, "%s%s", i ? ", " : "", tables[i].name);
    }
    err_set(err, -EINVAL, "--table '%s' is not known; it is one of %s", e->table, names.data);
    strbuf_release(&names);
    return -EINVAL;
}
