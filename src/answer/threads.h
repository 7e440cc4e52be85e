/*
 * threads: the lines of analyse/threads.h, the table of `tidemark threads` (tidemark.threads/1).
 */
#ifndef TIDE_ANSWER_THREADS_H
#define TIDE_ANSWER_THREADS_H

#include "analyse/threads.h"
#include "answer/document.h"

struct document threads_document(const struct threads *t, size_t top);

#endif
