/*
 * mark_scopes: the table of `tidemark marks --scopes` (tidemark.scopes/1).
 */
#ifndef TIDE_ANSWER_MARK_SCOPES_H
#define TIDE_ANSWER_MARK_SCOPES_H

#include "model/mark_scopes.h"
#include "answer/document.h"

struct document mark_scopes_document(const struct mark_scopes *s);

#endif
