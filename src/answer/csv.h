/* csv: text as a field of CSV, RFC 4180. */
#ifndef TIDE_ANSWER_CSV_H
#define TIDE_ANSWER_CSV_H

#include "base/strbuf.h"

/* Quoted where needed, quotes doubled; NULL is an empty field. */
/* The comma after the last cell becomes the line's end. */
void csv_end_line(struct strbuf *out);
void csv_text(struct strbuf *out, const char *text);

#endif
