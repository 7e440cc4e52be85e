/* wrap: breaks sentences into lines of a given width. */
#ifndef TIDE_ANSWER_WRAP_H
#define TIDE_ANSWER_WRAP_H

#include <stddef.h>

#include "base/strbuf.h"

/* Appends `first`, then `text` in lines of `width` columns; further lines are indented by the width
 * of `first`. */
void wrap_text(const char *first, const char *text, size_t width, struct strbuf *out);

/* Breaks the sentence that was appended to `out` since `start` into lines of `width` columns;
 * further lines begin with `hang` spaces. Escape sequences take no columns. */
void wrap_since(struct strbuf *out, size_t start, size_t hang, size_t width);

#endif
