/*
 * maps: the mappings of a process as text, JSON (tidemark.maps/1) or CSV.
 *
 * All append to a strbuf and cannot fail. `sink` as in report/report.h.
 */
#ifndef TIDE_REPORT_MAPS_H
#define TIDE_REPORT_MAPS_H

#include "model/mappings.h"
#include "report/report.h"

void maps_text(const struct mappings *m, const struct style *s, struct strbuf *out);
void maps_json(const struct mappings *m, const struct report_sink *sink, struct strbuf *out);
void maps_csv(const struct mappings *m, const struct report_sink *sink, struct strbuf *out);

#endif
