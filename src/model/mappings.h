/*
 * mappings: what a process had mapped at a moment, by kind, by library or mapping by mapping; and
 * what became of it between two moments.
 *
 * Captures were taken at a few moments (store/recording.h); the one nearest to the moment that is
 * asked for stands for it, and says how far it is. Every mapping has one kind, so the rows add up
 * to what the process had, the recorder's own memory included, which has a kind of its own.
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

/* Of a difference. */
enum mapping_change { CHANGE_NONE, CHANGE_NEW, CHANGE_GONE, CHANGE_GROWN, CHANGE_SHRUNK };

struct mapping_row {
    enum mapping_kind kind;
    const char *name;   /* file or the kernel's name; "": none, or many */
    uint32_t number;    /* of the name, in profile.map_names */
    const char *policy; /* NUMA; "": not known, "mixed": several */
    enum mapping_change change;
    const struct mapping *mapping; /* BY_MAPPING: as it was at the end of the window it was in */
    int64_t count, size_bytes;
    int64_t bytes[MAPPING_SIZES];
    VEC(struct mapping_node) nodes; /* in order of node; kib is signed in a difference */
};

/* A moment that was asked for, and what stands for it. */
struct mapping_moment {
    struct moment moment;
    const struct capture *capture;
};

struct mappings {
    const struct recording *recording;
    const struct profile *profile;
    enum mapping_grouping by;
    bool is_difference;
    bool numa; /* in text, where the pages are in place of the sizes; set by the command */
    struct mapping_moment since, at; /* since: only in a difference */
    VEC(struct mapping_row) rows;    /* BY_KIND: in order of kind; else largest RSS first */
    size_t cut;                      /* rows left out by `top` */
    uint32_t *snapshots;             /* of each capture: how many there were up to it */
    struct mapping_row totals, own;  /* over all rows, those left out too; own: of KIND_OWN */
};

const char *mapping_kind_name(enum mapping_kind kind);
const char *mapping_change_name(enum mapping_change change);
const char *mapping_grouping_name(enum mapping_grouping by);
int mapping_grouping_parse(const char *word, enum mapping_grouping *out, struct err *err);

/* "start", "periodic", "snapshot#2", "exit" */
void mappings_label(const struct mappings *m, const struct capture *c, struct strbuf *out);

/*
 * `since` NULL: the state at `at`; `at` NULL: the end. -EINVAL: no such moment, or in the wrong
 * order; -ENODATA: the recording has no mappings of this process.
 */
int mappings_init(struct mappings *m, const struct recording *r, const struct profile *p,
                  const char *since, const char *at, enum mapping_grouping by, size_t top,
                  struct err *err);
void mappings_release(struct mappings *m);

#endif
