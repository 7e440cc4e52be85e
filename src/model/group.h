/*
 * group: which frames make one row: by function, by line, by library or by file. Every frame of a
 * frame table gets the number of its group (0 to count - 1). A group is shown by the frame with the
 * largest value in a call tree, so that file and line point to where the bytes are.
 *
 * Ownership: group_release frees the arrays; the frame table is borrowed.
 */
#ifndef TIDE_MODEL_GROUP_H
#define TIDE_MODEL_GROUP_H

#include "model/calltree.h"

struct group {
    const struct frame_table *frames;
    enum grouping by; /* function, line, library or file */
    uint32_t *of_frame;
    uint32_t count;
    uint32_t *best; /* group -> the frame that is shown for it */
};

void group_init(struct group *g, const struct frame_table *frames, const struct call_tree *t,
                enum grouping by);
void group_release(struct group *g);

/* The label of a group's row; NULL: unknown, or not the same for the whole group. */
struct group_label {
    const char *name, *module, *file;
    uint32_t line; /* 0: unknown */
    uint8_t kind;  /* enum frame_kind */
};
struct group_label group_label(const struct group *g, uint32_t number);

#endif
