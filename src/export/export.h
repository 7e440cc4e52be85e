/*
 * export: a recording in another tool's format, and the one table of formats.
 *
 * Each format is one file of this folder with one function, which puts the question to the
 * recording and appends to `out`. The table says what the format always loses. What it loses of a
 * particular recording goes to `notes`, one line each, and the command prints these on stderr.
 * Numbers are those of the commands: nothing is counted here. formats.c has the table, notes.c the
 * notes, stack_table.h the values.
 *
 * Ownership: everything is borrowed for the call.
 */
#ifndef TIDE_EXPORT_EXPORT_H
#define TIDE_EXPORT_EXPORT_H

#include "answer/report.h"
#include "export/stack_table.h"

/*
 * What a server accepts of a profile, and what was done about it.
 *
 * Stacks that are too deep keep their outermost calls, and the call "[other]" stands for the rest.
 * If there are too many stacks, the smallest become one sample "[other]". So all sums stay the
 * same. Threads and processes are left out, because a server would make a series of each.
 */
struct profile_limits {
    size_t max_bytes, max_samples, max_depth; /* bytes before compression */
    /* Results: */
    uint64_t from_unix_ns, until_unix_ns; /* 0: not in the recording */
    size_t samples;                       /* the number of samples written */
    size_t pruned, cut; /* stacks that became [other], and stacks that were too deep */
    struct value other; /* the sum of the pruned stacks, in the last column */
};

struct export
{
    struct recording *recording;
    const struct query *query;
    bool metric_given; /* otherwise the format chooses what it shows */
    /* --presets or --no-presets was given; otherwise the table's default applies. */
    bool presets_given;
    const char *table;              /* for csv and npy; NULL: report */
    const char *file;               /* the file to write, for formats that are written in place */
    struct strbuf *out;             /* everything, or what `sink` has not taken yet */
    const struct report_sink *sink; /* takes long output piece by piece */
    struct strbuf *notes;           /* lines: what the format could not hold */
    struct profile_limits *limits;  /* for pprof and otlp; NULL: none */
    const char *service;            /* for otlp: the service's name; NULL: the program's */
    const char *const *labels;      /* for otlp: KEY=VALUE */
    size_t label_count;
};

/* Which options a format honours. All of them take process and filter, except those that hold a
 * whole recording. */
enum export_takes {
    EXPORT_METRIC = 1, /* --metric, --size */
    EXPORT_AT = 2,
    EXPORT_SINCE = 4, /* differences */
    EXPORT_TABLE = 8, /* --table, --by, --top, --min */
};

struct export_format {
    const char *name;
    const char *ending; /* of files */
    const char *reader; /* the program that opens it */
    const char *loses;  /* ends the sentence "it holds no ..."; NULL: nothing */
    unsigned takes;     /* set of enum export_takes */
    bool binary;        /* not for a terminal */
    bool in_place;      /* written to export.file, not to export.out */
    /* It cannot express that a figure is unknown, so it is refused for imported recordings. */
    bool all_known;
    bool whole;     /* it holds a whole recording, and takes neither process nor filter */
    bool all_said;  /* it says itself what a recording lacks, and that figures are estimates */
    bool timeline;  /* it needs the course of one run, which a merge does not keep */
    uint32_t needs; /* set of enum unknown: it is refused without these figures */
    /* NULL: written by src/view, which this folder does not know. */
    int (*write)(struct export *e, struct err *err);
};

extern const struct export_format export_formats[];
extern const size_t export_format_count;

/* -EINVAL and a sentence that lists the known names. */
int export_format_find(const char *name, const struct export_format **out, struct err *err);

/* Can the format hold this recording? Returns 0, or -ENODATA and a sentence. */
int export_check(const struct export *e, const struct export_format *f, struct err *err);
/* Notes what the format cannot express about this recording: that its figures are estimates, what
 * existed before the attach, what is not known. */
void export_note_recording(struct export *e, const struct export_format *f);

/* Removes metrics that an imported recording does not have, and returns how many are left. If it
 * has none of them, the first stays, and measuring it fails with a sentence. */
size_t export_known_columns(const struct export *e, struct stack_column *columns, size_t count);

/* The stacks for a format that holds several metrics: the metric that was asked for; or live,
 * total, temporary and, unless moments are given, peak. */
int export_stacks(struct export *e, struct stack_table *t, struct err *err);
/* Notes what a format without negative amounts leaves out; `own`: by node of the table's merged
 * tree. */
void export_note_shrunk(struct export *e, const char *format, const struct stack_table *t,
                        size_t column, const struct value *own);

int export_pprof(struct export *e, struct err *err);
int export_otlp(struct export *e, struct err *err);
int export_folded(struct export *e, struct err *err);
int export_speedscope(struct export *e, struct err *err);
int export_firefox(struct export *e, struct err *err);
int export_callgrind(struct export *e, struct err *err);
int export_massif(struct export *e, struct err *err);
int export_dhat(struct export *e, struct err *err);
int export_heaptrack(struct export *e, struct err *err);
int export_chrome(struct export *e, struct err *err);
int export_sqlite(struct export *e, struct err *err);
int export_csv(struct export *e, struct err *err);
int export_npy(struct export *e, struct err *err);

#endif
