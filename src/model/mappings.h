/*
 * mappings: what a process had mapped at a moment, by kind, by library or mapping by mapping; and
 * what changed between two moments.
 *
 * Captures were taken at a few moments (store/recording.h). The one nearest to the moment in
 * question is used, and the answer says how far away it is. Every mapping has one kind, so the rows
 * add up to what the process had. This includes the recorder's own memory, which has a kind of its
 * own.
 *
 * Ownership: rows borrow from the profile; mappings_release frees the rest.
 */
#ifndef TIDE_MODEL_MAPPINGS_H
#define TIDE_MODEL_MAPPINGS_H

#include "base/err.h"
#include "base/strbuf.h"
#include "model/moment.h"
#include "store/mapping_kinds.h"
#include "store/recording.h"

enum mapping_grouping { BY_KIND, BY_MAPPED_FILE, BY_MAPPING, MAPPING_GROUPINGS };

/* What happened to a row, in a difference. */
enum mapping_change { CHANGE_NONE, CHANGE_NEW, CHANGE_GONE, CHANGE_GROWN, CHANGE_SHRUNK };

struct mapping_row {
    enum mapping_kind kind;
    const char *name;   /* file, or the kernel's name; "": none, or several */
    uint32_t number;    /* index of the name in profile.map_names */
    const char *policy; /* NUMA; "": not known, "mixed": several */
    enum mapping_change change;
    /* BY_MAPPING: the mapping, at the end of the window if it still existed. */
    const struct mapping *mapping;
    int64_t count, size_bytes;
    int64_t bytes[MAPPING_SIZES];
    VEC(struct mapping_node) nodes; /* in order of node; in a difference kib is signed */
};

/* A moment that was asked for, and the capture that is used for it. */
struct mapping_moment {
    struct moment moment;
    const struct capture *capture;
};

struct mappings {
    const struct recording *recording;
    const struct profile *profile;
    enum mapping_grouping by;
    bool is_difference;
    bool numa; /* the text shows where pages are instead of sizes; set by the command */
    struct mapping_moment since, at; /* since: only for a difference */
    VEC(struct mapping_row) rows;    /* BY_KIND: in order of kind; otherwise largest RSS first */
    size_t cut;                      /* rows that `top` left out */
    uint32_t *snapshots;             /* for each capture: how many snapshots there were up to it */
    /* totals: the sum of all rows, including those left out; own: the rows of KIND_OWN. */
    struct mapping_row totals, own;
};

const char *mapping_kind_name(enum mapping_kind kind);
const char *mapping_change_name(enum mapping_change change);
const char *mapping_grouping_name(enum mapping_grouping by);
int mapping_grouping_parse(const char *word, enum mapping_grouping *out, struct err *err);

/* "start", "periodic", "snapshot#2", "exit" */
void mappings_label(const struct mappings *m, const struct capture *c, struct strbuf *out);

/*
 * Fills `m` with the state at `at` (NULL: the end), or with the change from `since` to `at`, if
 * `since` is not NULL. -EINVAL: there is no such moment, or the moments are in the wrong order;
 * -ENODATA: the recording has no mappings of this process.
 */
int mappings_init(struct mappings *m, const struct recording *r, const struct profile *p,
                  const char *since, const char *at, enum mapping_grouping by, size_t top,
                  struct err *err);
void mappings_release(struct mappings *m);

#endif
