/*
 * annotate_html: an annotated function as one self-contained page, without a script or other files.
 */
#ifndef TIDE_EXPORT_ANNOTATE_HTML_H
#define TIDE_EXPORT_ANNOTATE_HTML_H

#include "analyse/annotate.h"

void annotate_html(const struct annotation *a, bool code, struct strbuf *out);

#endif
