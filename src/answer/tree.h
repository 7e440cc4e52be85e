/*
 * tree: the tree of `tidemark tree` as text, JSON (tidemark.tree/1) and CSV.
 */
#ifndef TIDE_ANSWER_TREE_H
#define TIDE_ANSWER_TREE_H

#include "analyse/tree.h"
#include "answer/style.h"

/* `prefix` is taken off the front of paths; NULL: text shows them without folders. */
void tree_text(const struct tree *d, const char *heading, const char *prefix, size_t top,
               const struct style *s, struct strbuf *out);
/* The peak that a tree leads to, and what of it is live where the tree's window ends. */
struct tree_peak {
    unsigned number; /* 0: it leads to none */
    int64_t bytes, listed_bytes;
};
/* Flat, with depths: trees are deeper than readers of JSON like. */
void tree_json(const struct recording *r, const struct tree *d, const struct tree_peak *peak,
               const char *prefix, struct strbuf *out);
void tree_csv(const struct tree *d, const char *prefix, struct strbuf *out);

#endif
