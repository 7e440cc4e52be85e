/*
 * maps: the mappings of a process, the table of `tidemark maps` (tidemark.maps/1).
 */
#ifndef TIDE_ANSWER_MAPS_H
#define TIDE_ANSWER_MAPS_H

#include "model/mappings.h"
#include "answer/document.h"

struct document maps_document(const struct mappings *m);

#endif
