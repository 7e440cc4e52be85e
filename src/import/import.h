/*
 * import: other tools' files as recordings. There is one source file per format, and one table of
 * formats (formats.c).
 *
 * An importer reads its source once, from beginning to end, and fills a profile; import_read writes
 * it as the bytes of a .tide file. What a format does not have is listed in
 * profile.imported.unknown and never invented.
 *
 * The memory of an importer is in proportion to stacks, names and live blocks. It is limited by the
 * size of the file: IMPORT_FREE plus IMPORT_RATIO times the file's bytes. So a few bytes that
 * unpack to gigabytes are refused, as are counts that promise more than is there.
 *
 * Errors: a negative errno and one sentence. Not thread-safe.
 */
#ifndef TIDE_IMPORT_IMPORT_H
#define TIDE_IMPORT_IMPORT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "import/input.h"
#include "import/stacks.h"
#include "store/recording.h"
#include "store/writer.h"

#define IMPORT_FREE  ((uint64_t)64 << 20)
#define IMPORT_RATIO 128u
#define IMPORT_DEPTH 100000 /* frames of one stack; more is damage */

/* What the numbers mean in a file that does not say so itself (folded stacks). */
enum import_metric { IMPORT_SAMPLES, IMPORT_TOTAL, IMPORT_LIVE, IMPORT_PEAK, IMPORT_METRICS };

struct import_request {
    const char *path;   /* "-": standard input */
    const char *format; /* NULL: guessed from the contents */
    enum import_metric metric;
    const char *python; /* for memray: an interpreter that has it; NULL: python3 */
    int (*progress)(void *context, uint64_t taken, uint64_t file_size);
    void *context;
};

/* An import in progress. */
struct import {
    const struct import_request *request;
    struct input *in;
    const char *file; /* its name without folders */
    struct recording *recording;
    struct profile *profile; /* the only one */
    struct stacks stacks;
    /* Rows as rows.h packs them, one strbuf per interval; if there are none, the rows are in the
     * profile. */
    VEC(struct strbuf) packed;
    VEC(size_t) packed_counts;
};

struct import_format {
    const char *name, *what;
    /* Do the first bytes, unpacked, look like this format? They are always followed by a 0. */
    bool (*is)(const char *bytes, size_t size);
    int (*read)(struct import *m, struct err *err);
};

#define IMPORT_FORMATS 7
extern const struct import_format import_formats[IMPORT_FORMATS];
const struct import_format *import_format_named(const char *name);
/* The names of all formats, for messages: "a, b, c". */
void import_format_names(struct strbuf *out);
/* "samples", "total", "live", "peak". */
int import_metric_parse(const char *word, enum import_metric *out, struct err *err);

/* Reads a file and appends a recording's bytes to `out`. *format: the file's format. */
int import_read(const struct import_request *q, struct strbuf *out,
                const struct import_format **format, struct err *err);
/* The same from the caller's source (tests, fuzzing). */
int import_take(const struct import_request *q, struct input *in,
                const struct import_format *format, struct strbuf *out, struct err *err);

/* --- for importers ---------------------------------------------------------------------------- */

/* A negative code and a sentence if names, stacks and `other` bytes take more than the file's size
 * explains. */
int import_check(const struct import *m, uint64_t other, struct err *err);
/* Reports damage at the line that was read last. */
int import_bad_line(const struct import *m, const char *why, struct err *err);
/* Sets the tool's name and version, formatted as by printf. */
void import_from(struct import *m, uint32_t unknown, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets the command from one text, split at blanks. */
void import_command(struct import *m, const char *text);
/* Adds the one thread that stands for all if threads are not known. */
void import_no_threads(struct import *m);
/* What was live at the end, by site (`count` of them); reachability is unknown. */
struct import_live {
    uint64_t bytes, blocks;
};
void import_scan(struct import *m, const struct import_live *live, size_t count);

/* Parse decimal and hexadecimal numbers, and advance past them. false: there is none, or it is too
 * large. */
bool import_number(const char **at, uint64_t *out);
bool import_hex(const char **at, uint64_t *out);

#define IMPORTER(name)                                                                             \
    bool name##_is(const char *bytes, size_t size);                                                \
    int name##_import(struct import *m, struct err *err);
IMPORTER(heaptrack)
IMPORTER(massif)
IMPORTER(dhat)
IMPORTER(pprof)
IMPORTER(memray)
IMPORTER(perf_script)
IMPORTER(folded)
#undef IMPORTER

#endif
