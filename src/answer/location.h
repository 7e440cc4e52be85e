/*
 * location: names of functions and where they are, in the form of sentences and tables. All
 * functions append to a strbuf, without control characters: a profile must not send them to the
 * terminal.
 */
#ifndef TIDE_ANSWER_LOCATION_H
#define TIDE_ANSWER_LOCATION_H

#include "base/path.h"
#include "base/strbuf.h"
#include "model/frames.h"

/* "file.c:12" or "file.c", without the folders of `file`; the module if no file is known; nothing
 * if neither is. */
void location_put(struct strbuf *out, const char *file, uint32_t line, const char *module);
void location_of_frame(struct strbuf *out, const struct frame_table *t, const struct call_frame *f);
/* The same with the whole path, if the file is known; otherwise nothing. */
void location_path(struct strbuf *out, const struct frame_table *t, const struct call_frame *f);
/* A name in at most `width` columns. */
void location_name(struct strbuf *out, const char *name, size_t width);
/* The same without the function's arguments. */
void location_bare_name(struct strbuf *out, const char *name, size_t width);

/* The file of a frame, unchanged; NULL: not known. */
static inline const char *location_file(const struct frame_table *t, const struct call_frame *f)
{
    return frame_table_known(t, f->file);
}

#endif
