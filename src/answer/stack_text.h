/* stack_text: a stack as lines of text, innermost frame first. */
#ifndef TIDE_ANSWER_STACK_TEXT_H
#define TIDE_ANSWER_STACK_TEXT_H

#include "model/joined_tree.h"
#include "answer/style.h"

/* From a node of a tree of frames up to its root; at most `most` frames, the others are counted. */
void stack_text(const struct frame_table *t, const struct merged *m, uint32_t node, uint32_t most,
                const struct style *s, struct strbuf *out);
/* "inner;outer;main", for CSV: from a node of a tree (given by its parents and frames) up to its
 * root. */
void stack_names(const struct frame_table *t, const uint32_t *parent, const uint32_t *frame,
                 uint32_t node, struct strbuf *out);

#endif
