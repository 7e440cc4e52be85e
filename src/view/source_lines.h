/*
 * source_lines: the source lines that a recording's stacks name, with a few around each, as JSON
 * (--with-source): { "/src/a.c": [[12, "text"], ...], ... }.
 */
#ifndef TIDE_VIEW_SOURCE_LINES_H
#define TIDE_VIEW_SOURCE_LINES_H

#include "analyse/source_files.h"
#include "base/strbuf.h"
#include "store/recording.h"

struct source_lines {
    size_t files, lines; /* found */
    size_t missing;      /* files that were not found */
    bool cut;            /* there were more lines than a page should have */
};

void source_lines_json(const struct recording *const *recordings, size_t count,
                       const struct source_paths *paths, struct strbuf *out,
                       struct source_lines *found);

#endif
