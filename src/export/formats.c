/*
 * The table of the formats of `tidemark export`, and what several formats share. Each format is in
 * a file of its own.
 */
#include <errno.h>
#include <string.h>

#include "base/say.h"
#include "export/export.h"

#define ONE_STATE (EXPORT_METRIC | EXPORT_AT | EXPORT_SINCE)

const struct export_format export_formats[] = {
    {.name = "pprof",
     .ending = "pb.gz",
     .reader = "go tool pprof, Pyroscope, Parca, speedscope",
     .loses = "times, marks or leaks",
     .takes = ONE_STATE,
     .binary = true,
     .write = export_pprof},
    {.name = "folded",
     .ending = "folded",
     .reader = "flamegraph.pl, inferno, speedscope",
     .loses = "counts, files, lines, libraries, threads or times",
     .takes = ONE_STATE,
     .write = export_folded},
    {.name = "speedscope",
     .ending = "speedscope.json",
     .reader = "speedscope.app",
     .loses = "counts, libraries, threads or times",
     .takes = ONE_STATE,
     .write = export_speedscope},
    {.name = "firefox",
     .ending = "firefox.json",
     .reader = "profiler.firefox.com",
     .loses = "counts or build ids; times are the ends of intervals",
     .takes = ONE_STATE,
     .timeline = true,
     .needs = UNKNOWN_TIME | UNKNOWN_HISTORY,
     .write = export_firefox},
    {.name = "callgrind",
     .ending = "callgrind",
     .reader = "callgrind_annotate, KCachegrind, QCachegrind",
     .loses = "stacks beyond caller and callee, threads or times",
     .takes = ONE_STATE,
     .write = export_callgrind},
    {.name = "massif",
     .ending = "massif",
     .reader = "ms_print, massif-visualizer",
     .loses = "counts, threads or marks",
     .timeline = true,
     .needs = UNKNOWN_TIME | UNKNOWN_HISTORY,
     .takes = EXPORT_METRIC | EXPORT_AT,
     .write = export_massif},
    {.name = "dhat",
     .ending = "dhat.json",
     .reader = "dh_view.html of valgrind, the Firefox Profiler",
     .loses = "threads, marks or accesses; lifetimes leave out blocks that were freed in the "
              "interval of their allocation",
     .timeline = true,
     .needs = UNKNOWN_COUNTS | UNKNOWN_TIME | UNKNOWN_HISTORY,
     .write = export_dhat},
    {.name = "heaptrack",
     .ending = "heaptrack.gz",
     .reader = "heaptrack_print, heaptrack_gui",
     .loses = "threads, marks or sizes of single blocks; what is live between start, peak and end "
              "is a lower bound",
     .binary = true,
     .timeline = true,
     .needs = UNKNOWN_COUNTS | UNKNOWN_TIME,
     .write = export_heaptrack},
    {.name = "chrome",
     .ending = "trace.json",
     .reader = "ui.perfetto.dev, about:tracing",
     .loses = "stacks",
     .takes = EXPORT_AT | EXPORT_SINCE,
     .all_known = true,
     .timeline = true,
     .write = export_chrome},
    {.name = "sqlite",
     .ending = "sqlite",
     .reader = "sqlite3, pandas, DuckDB",
     .loses = "histograms, realloc chains or accounts of resident memory",
     .binary = true,
     .in_place = true,
     .whole = true,
     .all_known = true,
     .write = export_sqlite},
    {.name = "csv",
     .ending = "csv",
     .reader = "spreadsheets, pandas, DuckDB",
     .takes = ONE_STATE | EXPORT_TABLE,
     .write = export_csv},
    {.name = "npy",
     .ending = "npy",
     .reader = "numpy",
     .takes = ONE_STATE | EXPORT_TABLE,
     .binary = true,
     .all_known = true,
     .write = export_npy},
    {.name = "otlp",
     .ending = "otlp.gz",
     .reader = "OpenTelemetry collectors (experimental)",
     .loses = "times, marks or leaks; the format is experimental and changes",
     .takes = ONE_STATE,
     .binary = true,
     .write = export_otlp},
    {.name = "html", .ending = "html", .reader = "browsers", .whole = true, .all_said = true},
};
const size_t export_format_count = sizeof export_formats / sizeof *export_formats;

int export_format_find(const char *name, const struct export_format **out, struct err *err)
{
    struct strbuf names = {0};
    for (size_t i = 0; i < export_format_count; i++) {
        if (strcmp(export_formats[i].name, name) == 0) {
            *out = &export_formats[i];
            strbuf_release(&names);
            return 0;
        }
        strbuf_printf(&names, "%s%s", i ? ", " : "", export_formats[i].name);
    }
    err_set(err, -EINVAL, "--format '%s' is not known; it is one of %s", name, names.data);
    strbuf_release(&names);
    return -EINVAL;
}

int export_stacks(struct export *e, struct stack_table *t, struct err *err)
{
    enum size_kind size = e->query->size;
    bool whole = !e->query->at && !e->query->since;
    struct stack_column heap[] = {{METRIC_LIVE, size},
                                  {METRIC_TOTAL, size},
                                  {METRIC_TEMPORARY, SIZE_REQUESTED},
                                  {METRIC_PEAK, size}};
    const struct stack_column one = {e->query->metric, size};
    if (e->metric_given)
        return stack_table_init(t, e->recording, e->query, &one, 1, err);
    size_t count = export_known_columns(e, heap, whole ? 4 : 3);
    return stack_table_init(t, e->recording, e->query, heap, count, err);
}

void export_note_shrunk(struct export *e, const char *format, const struct stack_table *t,
                        size_t column, const struct value *own)
{
    enum metric metric = t->columns[column].metric;
    uint64_t shrank = 0;
    for (size_t n = 1; n < t->merged.parent.count; n++)
        shrank += own[n].amount < 0 ? -(uint64_t)own[n].amount : 0;
    if (shrank)
        say(e->notes, "tidemark export: %r holds no stacks that shrank: %d %r of %r are left out\n",
            format, shrank, metric_unit(metric), report_metric_title(metric));
}
