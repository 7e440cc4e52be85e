/*
 * pprof_otlp: what the formats pprof and OTLP share: which stacks and values go into a profile, the
 * names of its sample types, their unit and period, the limits of a server, and compression.
 * locations.h decides what is written about functions, mappings and locations; pprof.c and otlp.c
 * put both into their format's messages.
 *
 * A format is one function that writes rows to `message`. It may be called several times, with
 * fewer rows each time, until a server's limits are met; each time everything is empty again.
 */
#ifndef TIDE_EXPORT_PPROF_OTLP_H
#define TIDE_EXPORT_PPROF_OTLP_H

#include "export/export.h"
#include "export/locations.h"

struct profile_writer {
    const struct export *export;
    const struct stack_table *table;
    struct profile_limits *limits; /* NULL: none */
    bool counts;                   /* numbers of blocks or samples are known */
    struct locations locations;
    struct strbuf message;
};

typedef void profile_put(struct profile_writer *w, const struct stack_row *rows, size_t count);

/* Writes what was allocated and what is live, or the metric that was asked for, compressed with
 * gzip. */
int profile_write(struct export *e, profile_put *put, struct err *err);

/* Appends the locations of a row's stack (locations_list). */
void profile_stack(struct profile_writer *w, const struct stack_row *row, struct strbuf *list);

/* The names of the two values of a metric, such as inuse_objects and inuse_space. */
struct profile_names {
    const char *count, *amount;
};
struct profile_names profile_names(enum metric metric);
/* The unit of amounts: "bytes", "nanoseconds" or "count". */
const char *profile_unit(enum metric metric);
/* What is sampled: "space", "cpu" or "events"; and one sample per how many of them. */
const char *profile_period_type(enum metric metric);
uint64_t profile_period(const struct profile_writer *w);
/* How long the process ran; 0: not known. */
uint64_t profile_duration(const struct profile_writer *w);
/* Should the row's thread be named? A server would make a series of each thread. */
bool profile_has_thread(const struct profile_writer *w, const struct stack_row *row);

#endif
