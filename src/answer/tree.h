/*
 * tree: the table of `tidemark tree` (tidemark.tree/1). It is flat, with depths: trees are deeper
 * than readers of JSON like.
 */
#ifndef TIDE_ANSWER_TREE_H
#define TIDE_ANSWER_TREE_H

#include "analyse/tree.h"
#include "answer/document.h"

struct tree_listing {
    const struct tree *tree;
    const char *heading;
    const char *prefix; /* is taken off the front of paths; NULL: text shows them without folders */
    /* The peak that the tree leads to, and what of it is live where the tree's window ends. */
    struct tree_peak {
        unsigned number; /* 0: it leads to none */
        int64_t bytes, listed_bytes;
    } peak;
};

struct document tree_document(const struct tree_listing *l, size_t top);

#endif
