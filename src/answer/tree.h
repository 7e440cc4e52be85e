/*
 * tree: the table of `tidemark tree` (tidemark.tree/1). It is flat and has depths, because trees
 * are deeper than most JSON parsers accept.
 */
#ifndef TIDE_ANSWER_TREE_H
#define TIDE_ANSWER_TREE_H

#include "analyse/tree.h"
#include "answer/document.h"

struct tree_listing {
    const struct tree *tree;
    const char *heading;
    /* Removed from the beginning of paths; NULL: text shows them without folders. */
    const char *prefix;
    /* The peak that the tree leads to, and how much of it is live where the tree's window ends. */
    struct tree_peak {
        unsigned number; /* 0: it leads to no peak */
        int64_t bytes, listed_bytes;
    } peak;
};

struct document tree_document(const struct tree_listing *l, size_t top);

#endif
