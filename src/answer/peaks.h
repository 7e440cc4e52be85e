/*
 * peaks: numbered peaks: the list of `tidemark peaks` (tidemark.peaks/1), and their legends.
 */
#ifndef TIDE_ANSWER_PEAKS_H
#define TIDE_ANSWER_PEAKS_H

#include "analyse/peaks.h"
#include "answer/document.h"
#include "answer/json_parts.h"

/* "18: worker-6>main.py:44:run=>212992": number, thread, place of its largest stack, bytes; in
 * `most` columns if the function's name can be that short. */
void peak_legend(const struct peaks *p, const struct peak *k, size_t most, struct strbuf *out);

struct peaks_listing {
    const struct peaks *peaks;
    const char *file;    /* the recording's path, for the suggested command */
    const char *options; /* the options of the list, in the form that tidemark tree takes */
    struct json_stacks *stacks;
};

struct document peaks_document(const struct peaks_listing *l);

#endif
