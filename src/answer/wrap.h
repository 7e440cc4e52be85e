/* wrap: sentences in lines of a width. */
#ifndef TIDE_ANSWER_WRAP_H
#define TIDE_ANSWER_WRAP_H

#include <stddef.h>

#include "base/strbuf.h"

/* Words of `text` in lines of `width` columns after `first`, further lines indented as much. */
void wrap_text(const char *first, const char *text, size_t width, struct strbuf *out);

/* Breaks what was appended to `out` since `start`, one sentence, into lines of `width` columns; the
 * further ones begin with `hang` spaces. Escape sequences take no room. */
void wrap_since(struct strbuf *out, size_t start, size_t hang, size_t width);

#endif
