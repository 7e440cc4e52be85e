/* The formats that can be imported, in the order in which they are tried. */
#include <errno.h>
#include <string.h>

#include "import/import.h"

const struct import_format import_formats[IMPORT_FORMATS] = {
    {"heaptrack", "heaptrack.*.zst and .gz, raw or interpreted", heaptrack_is, heaptrack_import},
    {"massif", "massif.out.* of valgrind", massif_is, massif_import},
    {"dhat", "dhat.out.* of valgrind, dhat-heap.json of dhat-rs", dhat_is, dhat_import},
    {"memray", "memray's files, read by memray itself", memray_is, memray_import},
    {"perf", "the text of perf script", perf_script_is, perf_script_import},
    {"folded", "folded stacks: a;b;c 123", folded_is, folded_import},
    {"pprof", "profile.proto, packed or not; heap or CPU", pprof_is, pprof_import},
};

const struct import_format *import_format_named(const char *name)
{
    for (size_t i = 0; i < IMPORT_FORMATS; i++)
        if (strcmp(import_formats[i].name, name) == 0)
            return &import_formats[i];
    return NULL;
}

void import_format_names(struct strbuf *out)
{
    for (size_t i = 0; i < IMPORT_FORMATS; i++)
        strbuf_printf(out, "%s%s", i ? ", " : "", import_formats[i].name);
}

int import_metric_parse(const char *word, enum import_metric *out, struct err *err)
{
    static const char *const names[IMPORT_METRICS] = {[IMPORT_SAMPLES] = "samples",
                                                      [IMPORT_TOTAL] = "total",
                                                      [IMPORT_LIVE] = "live",
                                                      [IMPORT_PEAK] = "peak"};
    for (int i = 0; i < IMPORT_METRICS; i++)
        if (strcmp(names[i], word) == 0) {
            *out = (enum import_metric)i;
            return 0;
        }
    return err_set(err, -EINVAL, "--metric '%s' is not one of samples, total, live, peak", word);
}
