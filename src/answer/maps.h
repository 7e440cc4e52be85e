/*
 * maps: the mappings of a process as text, JSON (tidemark.maps/1) or CSV.
 *
 * All append to a strbuf and cannot fail. `sink` as in answer/report.h.
 */
#ifndef TIDE_ANSWER_MAPS_H
#define TIDE_ANSWER_MAPS_H

#include "model/mappings.h"
#include "answer/report.h"

void maps_text(const struct mappings *m, const struct style *s, struct strbuf *out);
void maps_json(const struct mappings *m, const struct report_sink *sink, struct strbuf *out);
void maps_csv(const struct mappings *m, const struct report_sink *sink, struct strbuf *out);

#endif
