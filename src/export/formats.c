#include <errno.h>
#include <string.h>

#include "export/export.h"

#define ONE_STATE (EXPORT_METRIC | EXPORT_AT | EXPORT_SINCE)

const struct export_format export_formats[] = {
    {.name = "pprof",
     .ending = "pb.gz",
     .reader = "go tool pprof, Pyroscope, Parca, speedscope",
     .holds =
         "stacks with inlined functions, build ids and threads: allocated and live, or one metric",
     .loses = "times, marks or leaks",
     .takes = ONE_STATE,
     .binary = true,
     .write = export_pprof},
    {.name = "folded",
     .ending = "folded",
     .reader = "flamegraph.pl, inferno, speedscope",
     .holds = "stacks of function names with one amount",
     .loses = "counts, files, lines, libraries, threads or times",
     .takes = ONE_STATE,
     .write = export_folded},
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
