/*
 * export: a recording in another tool's format; and the one table of formats.
 *
 * Each format is one file of this folder with one function. It puts the question to the recording
 * and appends to `out`. What the format loses whatever the recording is in the table; what it loses
 * of this one goes to `notes`, one line each, which the command says on stderr. Numbers are those
 * of the commands: nothing is counted here.
 *
 * Ownership: everything is borrowed for the call.
 */
#ifndef TIDE_EXPORT_EXPORT_H
#define TIDE_EXPORT_EXPORT_H

#include "answer/report.h"
#include "export/stack_table.h"

/*
 * What a server takes of a profile, and what became of it. Stacks that are too deep keep their
 * outermost calls, and the call "[other]" stands for the rest. The smallest stacks that are too many
 * become one sample "[other]". So all sums stay as they are. Threads and processes are left out: a
 * server would make a series of each.
 */
struct profile_limits {
    size_t max_bytes, max_samples, max_depth; /* bytes before compression */
    /* Filled: */
    uint64_t from_unix_ns, until_unix_ns; /* 0: the recording does not know */
    size_t samples;                       /* that there are now */
    size_t pruned, cut;                   /* stacks that became [other], and that were too deep */
    struct value other;                   /* what the pruned have, in the last column */
};

struct export
{
    struct recording *recording;
    const struct query *query;
    bool metric_given;              /* else the format chooses what it shows */
    bool presets_given;             /* --presets or --no-presets; else they are the table's */
    const char *table;              /* of csv and npy; NULL: report */
    const char *file;               /* the file to write, for formats that are written in place */
    struct strbuf *out;             /* all of it, or what `sink` did not take yet */
    const struct report_sink *sink; /* long output goes out piece by piece */
    struct strbuf *notes;           /* lines: what could not be held */
    struct profile_limits *limits;  /* of pprof and otlp; NULL: none */
    const char *service;            /* of otlp: what it is called; NULL: as the program */
    const char *const *labels;      /* of otlp: KEY=VALUE */
    size_t label_count;
};

/* Which options a format can follow. Unless they are whole, all take process and focus. */
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
    const char *holds;
    const char *loses; /* ends the sentence "it holds no ..."; NULL: nothing */
    unsigned takes;    /* set of enum export_takes */
    bool binary;       /* not for a terminal */
    bool in_place;     /* written to export.file, not to export.out */
    bool all_known;    /* cannot say that a figure is not known: not for imported recordings */
    bool whole;        /* holds all of a recording: takes neither process nor focus */
    bool all_said;     /* says itself what a recording lacks, and that figures are estimates */
    bool timeline;     /* needs the course of one run, which a merge does not keep */
    uint32_t needs;    /* set of enum unknown: without these figures there is no such file */
    /* NULL: by src/view, which this folder does not know. */
    int (*write)(struct export *e, struct err *err);
};

extern const struct export_format export_formats[];
extern const size_t export_format_count;

/* -EINVAL and a sentence with the names there are. */
int export_format_find(const char *name, const struct export_format **out, struct err *err);

/* Can the format hold what this recording has? 0, or -ENODATA and a sentence. */
int export_check(const struct export *e, const struct export_format *f, struct err *err);
/* Notes what the format cannot say of this recording: that its figures are estimates, what was there
 * before, what is not known. */
void export_tell_recording(struct export *e, const struct export_format *f);

/* Leaves out metrics that an imported recording does not know; how many are left. If it knows none,
 * the first stays, and is refused with a sentence where it is measured. */
size_t export_known_columns(const struct export *e, struct stack_column *columns, size_t count);

/* The stacks that a format shows which holds several metrics: the one that was asked for; or
 * what is live, all that was allocated, what was temporary and, unless moments are given, the
 * peak. */
int export_stacks(struct export *e, struct stack_table *t, struct err *err);
/* Notes what a format without negative amounts leaves out; `own`: by node of the table's merged
 * tree. */
void export_tell_shrunk(struct export *e, const char *format, const struct stack_table *t,
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
