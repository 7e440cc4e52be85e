/*
 * merge_state: what a merge keeps in memory while recordings are added. Only src/model/merge*.c use
 * it.
 */
#ifndef TIDE_MODEL_MERGE_STATE_H
#define TIDE_MODEL_MERGE_STATE_H

#include "base/map.h"
#include "model/frames.h"
#include "model/query.h"
#include "store/merge.h"
#include "store/recording.h"

/* --- code: files, addresses, stacks ----------------------------------------------------------- */

enum code_place_kind {
    CODE_MARKER, /* not a frame: NODE_TRUNCATED and the like */
    CODE_POOL,
    CODE_IN_FILE, /* in a file with a build id */
    CODE_NAMED,   /* other native code, identified by its names only */
    CODE_PYTHON
};

/* What one node of a stack is, in terms that all inputs share. */
struct code_place {
    enum code_place_kind kind;
    uint32_t module;  /* CODE_IN_FILE */
    uint64_t address; /* CODE_IN_FILE: address in the file; CODE_MARKER: the value itself */
    uint32_t text;    /* sort key, in code.texts; not for CODE_IN_FILE */
    uint32_t first_frame, count; /* indexes into code.frames; names are in code.strings */
};

struct code_file {
    char *path; /* the alphabetically first path, if inputs have several */
    uint8_t build_id[32];
    uint32_t build_id_size;
};

struct merge_node {
    uint32_t parent, place;
};

struct merge_code {
    struct strpool strings, texts, build_ids;
    VEC(struct code_file) files;
    struct map file_of; /* index in build_ids -> file */
    VEC(struct frame) frames;
    VEC(struct code_place) places;
    struct map by_address, by_text; /* -> place */
    VEC(struct merge_node) nodes;   /* node 0 is the root */
    struct map children;            /* parent, place -> node */
};

/* The input that is being added, with tables that map its numbers to those of the merge. */
struct merge_source {
    const struct recording *recording;
    const struct profile *profile;
    uint32_t *string; /* its strings -> code.strings; MAP_NONE: not yet */
    struct map place; /* its addresses -> places */
    struct module_index modules;
    uint32_t *file; /* its modules -> code.files; MAP_NONE: not yet */
    uint32_t *node, *thread, *site;
};

void merge_code_init(struct merge_code *c);
void merge_code_release(struct merge_code *c);
/* Fills source.node. */
void merge_code_add(struct merge_code *c, struct merge_source *s);
/* Writes files, nodes and frames in their final order; `node`: the final index of each. */
void merge_code_finish(const struct merge_code *c, struct recording *r, struct profile *into,
                       uint32_t *node);

/* --- figures of call sites -------------------------------------------------------------------- */

#define MERGE_INTERVALS 2 /* up to when each input began to end, and the rest */

struct merge_site {
    uint32_t node, thread, domain;
    uint64_t columns[MERGE_INTERVALS][COLUMNS];
    uint64_t at_peak_bytes, at_peak_blocks, at_peak_usable;
    uint64_t own_peak_blocks, own_peak_bytes, largest_bytes;
};

/* All scans of one kind. */
struct merge_scan {
    bool there, residency, led;
    uint64_t time_ns, held_ns;
    char *unreachable;
    VEC(struct live_row) rows;
    struct map of; /* merge_live_key -> row */
};

/* What identifies a row of a scan: its site, its interval of the merge, its reach, and whether its
 * blocks have pages that were never touched: they are counted. */
static inline uint64_t merge_live_key(const struct live_row *row)
{
    _Static_assert(REACHES <= 4, "two bits are enough");
    return (uint64_t)row->site << 4 | (row->untouched ? 8 : 0) | row->interval << 2 | row->reach;
}

struct merge_figures {
    struct strpool threads;
    VEC(struct merge_site) sites;
    struct map site_of; /* (node, thread, domain) -> site */
    struct interval intervals[MERGE_INTERVALS];
    struct merge_scan scans[SCAN_KINDS];
    bool no_histograms; /* an input had none */
    struct bucket_rows sizes, lifetimes;
    struct map size_of, life_of; /* (site, bucket) -> row */
    VEC(struct freed_reading) freed_readings;
    VEC(struct chain_row) chains;
    struct map freed_of, chain_of; /* site -> row */
};

void merge_figures_init(struct merge_figures *f);
void merge_figures_release(struct merge_figures *f);
/* Fills source.thread and source.site. */
void merge_figures_add(struct merge_figures *f, struct merge_source *s);
void merge_figures_finish(const struct merge_figures *f, struct profile *into,
                          const uint32_t *node);

/* --- spreads ---------------------------------------------------------------------------------- */

/* The spreads of one row of one metric. */
struct merge_pair {
    struct input_spread of[SPREAD_KINDS];
    int64_t value[SPREAD_KINDS]; /* values of the input that is being added */
    bool pending;                /* the input that is being added has a value */
    uint8_t metric;
};

struct merge_row {
    uint64_t key;
    uint32_t pair[METRICS]; /* MAP_NONE: no input has a value */
};

struct merge_spreads {
    VEC(struct merge_row) rows;
    struct map of; /* key -> row */
    VEC(struct merge_pair) pairs;
    VEC(uint32_t) pending; /* pairs */
};

void merge_spreads_release(struct merge_spreads *s);
/* Adds the values that reports on this recording show; its input is the last of `inputs`. */
void merge_spreads_measure(struct merge_spreads *s, const struct recording *r,
                           const struct profile *p, const struct merge *inputs);
/* Adds the spreads of a merged recording; its inputs begin at `first`, in the same order. */
void merge_spreads_join(struct merge_spreads *s, const struct merge *from,
                        const struct merge *inputs, size_t first);
/* Writes the spreads. `place` is the final index of each input. */
void merge_spreads_finish(const struct merge_spreads *s, const uint32_t *place, struct merge *into);

#endif
