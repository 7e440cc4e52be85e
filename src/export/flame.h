/*
 * flame: stacks as a flame graph: a box for each call path, as wide as its value.
 *
 * It is filled with flame_add, one stack at a time, from an answer or from folded text, or box by
 * box with flame_child and flame_count; flame_finish adds up. Each stack has two values, before and
 * now; without a difference, `before` is always 0. A box is as wide as the larger of the two, so
 * what disappeared is visible too. Children are in order of their names, so graphs of the same
 * program look alike, and the same input gives the same bytes.
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
    /* "/src/file.c:12": boxes of one function with different places are separate; NULL: not known,
     * or not wanted. */
    const char *place;
    const char *module; /* base name of the library or script; NULL: not known */
};

/* A frame whose texts are already in the graph's names. */
struct flame_label {
    uint32_t name, place, module; /* indexes into names; 0: none */
    uint32_t key;                 /* name and place together: distinguishes siblings */
    enum flame_kind kind;
};

struct flame_node {
    uint32_t parent, name;
    uint32_t place, module; /* indexes into names; 0: none */
    enum flame_kind kind;
    int64_t before, now; /* of the box itself; after flame_finish, including everything below */
    int64_t hidden;      /* the part of `now` of stacks through it that have no box of their own */
    int64_t hidden_before; /* the same for `before` */
    uint64_t hidden_width;
    uint64_t width; /* as for before and now; after flame_finish, including everything below */
    uint32_t depth; /* 0: the root */
};

struct flame {
    struct strpool names;
    VEC(struct flame_node) nodes; /* node 0 is the root; a parent comes before its children */
    struct map children;          /* (parent, name with place) -> node */
    /* After flame_finish: boxes that are wide enough, depth first, children by name. */
    VEC(uint32_t) order;
    uint32_t depth;  /* of the deepest */
    size_t left_out; /* calls that were too narrow for a box */
};

void flame_init(struct flame *f);
/* Adds a stack, outermost frame first. */
void flame_add(struct flame *f, const struct flame_frame *frames, size_t count, int64_t before,
               int64_t now);
struct flame_label flame_label(struct flame *f, const struct flame_frame *frame);
/* The box of a frame on top of another, which is added if needed; node 0 is the root. */
uint32_t flame_child(struct flame *f, uint32_t parent, const struct flame_label *label);
/* Adds to the value of a box itself. */
void flame_count(struct flame *f, uint32_t node, int64_t before, int64_t now);
/* Adds to what a box has below it in boxes that are too narrow to exist. */
void flame_hide(struct flame *f, uint32_t node, int64_t before, int64_t now);
/* The width of a box with these values of its own. */
uint64_t flame_width(int64_t before, int64_t now);
/* Boxes with less than this share of the whole width are not in `order`. */
void flame_finish(struct flame *f, double min_share);
void flame_release(struct flame *f);

/* Writes Gregg's folded stacks, one per line: a;b;c 123. They are sorted, and come from a finished
 * graph. With `both`, also the earlier values, as difffolded writes them: a;b;c 100 123. */
void flame_write_folded(const struct flame *f, bool both, struct strbuf *out);
/* Reads folded stacks, with one number per line or two. -EINVAL: a line makes no sense. */
int flame_read_folded(struct flame *f, const char *text, size_t size, bool *both, struct err *err);

enum flame_colors { FLAME_HEAP, FLAME_CPU, FLAME_FAULTS, FLAME_MAPPED, FLAME_DIFF, FLAME_PALETTES };

struct flame_options {
    const char *title;
    const char *subtitle; /* what is shown: metric, moments */
    /* The root is at the top; a picture higher than a window is drawn like this anyway. */
    bool inverted;
    bool normalised;  /* differences: scaled as if both had the same sum */
    double min_width; /* in pixels of 1200: narrower boxes are left out */
    enum flame_colors colors;
    void (*amount)(struct strbuf *out, int64_t value); /* formats a value */
};

/* Writes a self-contained SVG. The graph must be finished. */
void flame_write_svg(const struct flame *f, const struct flame_options *o, struct strbuf *out);

struct json;
/* Writes the boxes of `order` as members of an open object: sums, names, and one array for each
 * column. */
void flame_write_json(const struct flame *f, bool both, struct json *j);

#endif
