/*
 * annotate: an annotated function as text, JSON and CSV, and the listing that text and HTML share.
 *
 * A listing is the sequence of lines, inlined lines and instructions as they are shown, with gaps
 * for what is left out. JSON (schema tidemark.annotate/1) and CSV have the whole function.
 */
#ifndef TIDE_ANSWER_ANNOTATE_H
#define TIDE_ANSWER_ANNOTATE_H

#include "analyse/annotate.h"
#include "answer/style.h"

enum listing_kind {
    LISTING_FILE,    /* the following rows are from this source */
    LISTING_LINE,    /* of the function; `place` is PLACE_NONE if it has no value and no code */
    LISTING_INLINED, /* below a line, `depth` calls deep */
    LISTING_CODE,    /* an instruction of the line or inlined line above it */
    LISTING_LOOSE,   /* the following rows are instructions without a known line */
    LISTING_GAP,     /* lines, or instructions, that are left out */
};

struct listing_row {
    enum listing_kind kind;
    uint32_t source, line, place, instruction, depth;
};

struct listing {
    VEC(struct listing_row) rows;
    bool code; /* instructions are shown */
};

#define CONTEXT_ALL SIZE_MAX

/* `context`: how many lines to show around those with a value. Without any source, instructions are
 * shown even if `code` is false. */
void listing_build(struct listing *l, const struct annotation *a, bool code, size_t context);
void listing_release(struct listing *l);

/* The values of a row; zeros if it has none. */
struct listing_value {
    struct value self, total;
};
struct listing_value listing_value(const struct annotation *a, const struct listing_row *row);

/* The text of a row, after its numbers: source, "inlined ..." or the instruction. */
void listing_text(const struct annotation *a, const struct listing_row *row, struct strbuf *out);

/* The first line: which function, what is measured, and how much of it. */
void annotate_heading(const struct annotation *a, struct strbuf *out);
/* Appends "inlined into main and work"; nothing if it was not inlined. */
void annotate_hosts(const struct annotation *a, struct strbuf *out);

/* The share of the function's own total, from 0 to 1. */
double annotate_share(const struct annotation *a, struct value v);

void annotate_text(const struct annotation *a, bool code, size_t context, const struct style *s,
                   struct strbuf *out);
void annotate_json(const struct annotation *a, bool code, struct strbuf *out);
void annotate_csv(const struct annotation *a, bool code, struct strbuf *out);

#endif
