/*
 * import: other tools' files as recordings.
 *
 * One file of source per format, one table of formats (formats.c). An importer reads its source
 * once, from the beginning to the end, and fills a profile; import_read writes it as the bytes of a
 * .tide file. What a format does not know is named in profile.imported.unknown and never invented.
 *
 * What an importer keeps is in proportion to stacks, names and live blocks, and is limited by the
 * bytes of the file: IMPORT_FREE and IMPORT_RATIO times them. A few bytes that unpack to gigabytes
 * are therefore refused, as are counts that promise more than is there.
 *
 * Errors: 0 or a negative errno value and one sentence. Not thread-safe.
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
#define IMPORT_DEPTH 100000 /* frames of one stack; deeper is damage */

/* What the numbers of a file mean that does not say so itself (folded stacks). */
enum import_metric { IMPORT_SAMPLES, IMPORT_TOTAL, IMPORT_LIVE, IMPORT_PEAK, IMPORT_METRICS };

struct import_request {
    const char *path;   /* "-": standard input */
    const char *format; /* NULL: guessed by content */
    enum import_metric metric;
    const char *python; /* of memray: the interpreter that has it; NULL: python3 */
    int (*progress)(void *context, uint64_t taken, uint64_t file_size);
    void *context;
};

/* An import under way. */
struct import {
    const struct import_request *request;
    struct input *in;
    const char *file; /* its name without folders */
    struct recording *recording;
    struct profile *profile; /* the only one */
    struct stacks stacks;
    /* Rows as rows.h packs them, one an interval; if there are none, they are in the profile. */
    VEC(struct strbuf) packed;
    VEC(size_t) packed_counts;
};

struct import_format {
    const char *name, *what;
    /* Does it look like this? The first bytes, unpacked; always followed by a 0. */
    bool (*is)(const char *bytes, size_t size);
    int (*read)(struct import *m, struct err *err);
};

#define IMPORT_FORMATS 7
extern const struct import_format import_formats[IMPORT_FORMATS];
const struct import_format *import_format_named(const char *name);
/* Their names, for sentences: "a, b, c". */
void import_format_names(struct strbuf *out);
/* "samples", "total", "live", "peak". */
int import_metric_parse(const char *word, enum import_metric *out, struct err *err);

/* Reads a file and appends a recording's bytes to `out`. *format: the one that it had. */
int import_read(const struct import_request *q, struct strbuf *out,
                const struct import_format **format, struct err *err);
/* The same from a source of the caller's (tests, fuzzing). */
int import_take(const struct import_request *q, struct input *in,
                const struct import_format *format, struct strbuf *out, struct err *err);

/* --- for importers ---------------------------------------------------------------------------- */

/* Negative and a sentence, if names, stacks and `other` bytes are more than the file explains. */
int import_check(const struct import *m, uint64_t other, struct err *err);
/* Damage at the line that was read last. */
int import_bad_line(const struct import *m, const char *why, struct err *err);
/* From which tool: a format as of printf. */
void import_from(struct import *m, uint32_t unknown, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The command line as one text, split at blanks. */
void import_command(struct import *m, const char *text);
/* The one thread that stands for all where threads are not known. */
void import_no_threads(struct import *m);
/* What was live at the end, by site (`count` of them); nobody knows what pointed to it. */
struct import_live {
    uint64_t bytes, blocks;
};
void import_scan(struct import *m, const struct import_live *live, size_t count);

/* Decimal and hexadecimal numbers in text, which move past what they read. false: there is none,
 * or it does not fit. */
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
