/*
 * flame: stacks as a flame graph: a box for each call path, as wide as what was measured there.
 *
 * Filled with flame_add, one stack at a time, from an answer or from folded text, or box by box
 * with flame_child and flame_count; flame_finish adds up. Two values a stack, before and now:
 * without a difference `before` is 0 throughout. A box is as wide as the larger of the two, so what
 * vanished is seen too.
 *
 * Children are in the order of their names, so graphs of the same program look alike, and the same
 * input gives the same bytes.
 *
 * Ownership: flame_release frees everything.
 */
#ifndef TIDE_EXPORT_FLAME_H
#define TIDE_EXPORT_FLAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/strbuf.h"

enum flame_kind {
    FLAME_NATIVE,
    FLAME_INLINED,
    FLAME_PYTHON,
    FLAME_KERNEL,
    FLAME_OTHER, /* threads, pools, markers */
    FLAME_KINDS
};

struct flame_frame {
    const char *name;
    enum flame_kind kind;
    const char *place;  /* "/src/file.c:12": boxes of one function that differ here are apart; NULL:
                           not known, or not wanted */
    const char *module; /* base name of the library or script; NULL: not known */
};

/* A frame whose texts are in the graph's names already. */
struct flame_label {
    uint32_t name, place, module; /* in names; 0: none */
    uint32_t key;                 /* name and place together: what tells siblings apart */
    enum flame_kind kind;
};

struct flame_node {
    uint32_t parent, name;
    uint32_t place, module; /* in names; 0: none */
    enum flame_kind kind;
    int64_t before, now;   /* own and, after flame_finish, of all below */
    int64_t hidden;        /* of `now`: what stacks through it have that have no box of their own */
    int64_t hidden_before; /* likewise, of `before` */
    uint64_t hidden_width;
    uint64_t width; /* as before and now; after flame_finish that of all below, too */
    uint32_t depth; /* 0: the root */
};

struct flame {
    struct strpool names;
    VEC(struct flame_node) nodes; /* node 0 is the root; a parent comes before its children */
    struct map children;          /* parent, and name with place -> node */
    VEC(uint32_t) order; /* after flame_finish: the wide ones, depth first, children by name */
    uint32_t depth;      /* of the deepest */
    size_t left_out;     /* calls that were too narrow to get a box */
};

void flame_init(struct flame *f);
/* A stack, outermost frame first. */
void flame_add(struct flame *f, const struct flame_frame *frames, size_t count, int64_t before,
               int64_t now);
struct flame_label flame_label(struct flame *f, const struct flame_frame *frame);
/* The box of a frame on top of another; node 0 is the root. Made if there is none yet. */
uint32_t flame_child(struct flame *f, uint32_t parent, const struct flame_label *label);
/* Adds to what a box has of its own. */
void flame_count(struct flame *f, uint32_t node, int64_t before, int64_t now);
/* Adds what a box has below it in a box that is too narrow to be made. */
void flame_hide(struct flame *f, uint32_t node, int64_t before, int64_t now);
/* How wide a box is that has these of its own. */
uint64_t flame_width(int64_t before, int64_t now);
/* Boxes with less than this share of the whole width have no place in `order`. */
void flame_finish(struct flame *f, double min_share);
void flame_release(struct flame *f);

/* Gregg's folded stacks, one a line: a;b;c 123. Sorted; written from a finished graph (what is now,
 * or with `both` what was before too, as difffolded does: a;b;c 100 123). */
void flame_write_folded(const struct flame *f, bool both, struct strbuf *out);
/* Reads them, with one number a line or two. -EINVAL: a line makes no sense. */
int flame_read_folded(struct flame *f, const char *text, size_t size, bool *both, struct err *err);

enum flame_colors { FLAME_HEAP, FLAME_CPU, FLAME_FAULTS, FLAME_MAPPED, FLAME_DIFF, FLAME_PALETTES };

struct flame_options {
    const char *title;
    const char *subtitle; /* what is shown: metric, moments */
    bool inverted;        /* the root on top; a picture higher than a window is so anyway */
    bool normalised;      /* differences: as if both had the same sum */
    double min_width;     /* in pixels of 1200: narrower boxes are left out */
    enum flame_colors colors;
    void (*amount)(struct strbuf *out, int64_t value); /* how a value reads */
};

/* A self-contained SVG. The graph is finished. */
void flame_write_svg(const struct flame *f, const struct flame_options *o, struct strbuf *out);

struct json;
/* The boxes of `order` as members of an open object: sums, names, and one array for each column. */
void flame_write_json(const struct flame *f, bool both, struct json *j);

#endif
