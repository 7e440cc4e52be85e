/* csv: text as a field of CSV, RFC 4180. */
#ifndef TIDE_ANSWER_CSV_H
#define TIDE_ANSWER_CSV_H

#include "base/strbuf.h"

/* Quoted where needed, quotes doubled; NULL is an empty field. */
void csv_text(struct strbuf *out, const char *text);

#endif
