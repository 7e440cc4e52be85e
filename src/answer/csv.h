/* csv: text as a field of CSV, RFC 4180. */
#ifndef TIDE_ANSWER_CSV_H
#define TIDE_ANSWER_CSV_H

#include "base/strbuf.h"

/* Writes a field, quoted if needed, with quotes doubled; NULL is an empty field. */
/* Turns the comma after the last cell into the end of the line. */
void csv_end_line(struct strbuf *out);
void csv_text(struct strbuf *out, const char *text);

#endif
