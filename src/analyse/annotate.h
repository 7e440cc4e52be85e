/*
 * annotate: one function, line by line and instruction by instruction, with what a metric says of
 * each.
 *
 * What a line has comes from the recording alone: the frames of each stack have their lines. The
 * program's file is read for what the recording does not hold: the instructions, and which lines
 * the function has besides. It must be the file that was recorded (its build id), else lines are
 * all there is. Sources are read from where the debug information says they were.
 *
 * A *place* is a line of the function, or below one a line of what the compiler inlined there. The
 * value `self` is charged to the place itself, `total` with all that was called from it; inlined
 * code counts as called. Within one stack each place counts once, so a function that calls itself
 * has no line above its own total.
 *
 * Files named by the recording may be hostile: sizes are limited, only regular files are read.
 *
 * Ownership: borrows recording and question; annotation_release frees the rest.
 */
#ifndef TIDE_ANALYSE_ANNOTATE_H
#define TIDE_ANALYSE_ANNOTATE_H

#include "analyse/sources.h"
#include "model/answer.h"
#include "symbol/symbolizer.h"

#define PLACE_NONE UINT32_MAX

struct annotate_question {
    struct query query;
    const char *function;
    const char *library; /* NULL: any */
    bool code;           /* instructions are wanted */
    struct source_paths paths;
};

struct annotated_place {
    uint32_t parent; /* whose code it was inlined into; PLACE_NONE: a line of the function itself */
    uint32_t function, file; /* in annotation.strings; 0: unknown */
    uint32_t line;           /* 0: unknown */
    uint32_t source;         /* in annotation.sources */
    struct value self, total;
    size_t first_inlined, inlined_count; /* what was inlined there, in annotation.place_order */
    size_t first_code, code_count;       /* its instructions, in annotation.code_order */
    uint32_t active; /* calls of it on the current path, while values are added up */
};

struct annotated_instruction {
    uint32_t code;    /* in annotation.codes */
    uint64_t address; /* in that file */
    uint32_t place;   /* PLACE_NONE: no line is known */
    char *text;
    struct value self, total;
};

/* A file with machine code of the function. */
struct annotated_code {
    const struct module *module;
    struct symbol_file *file;
    bool readable, has_lines;
};

/* A file with lines of the function; the own ones of it are from `first` to `last`. */
struct annotated_source {
    uint32_t file; /* in annotation.strings */
    uint32_t first, last;
    size_t first_place, place_count; /* the function's own, by line: in annotation.place_order */
    struct source text;
};

struct annotation {
    const struct annotate_question *question;
    struct query query;
    struct answer answer;
    const char *name, *module; /* module NULL: unknown */
    bool python, inlined;      /* inlined: everywhere it was seen */
    struct value self, total;
    struct strpool strings;
    VEC(struct annotated_place) places; /* a parent comes before its children */
    VEC(struct annotated_source) sources;
    VEC(struct annotated_code) codes;
    VEC(struct annotated_instruction) instructions; /* by file and address */
    uint32_t declared;                              /* line; 0: not known */
    size_t unplaced;       /* instructions of no known line: the first in code_order */
    uint32_t *place_order; /* places in the order they are shown in: the function's own by source
                              and line, inlined ones the largest first */
    uint32_t *code_order;  /* instructions by place and address */
    VEC(char *) notes;     /* one sentence each: what could not be shown, and what to do */
    VEC(uint32_t) hosts;   /* functions that it was inlined into, in strings */
    struct symbolizer *symbolizer;

    /* While it is made. */
    struct map place_index, touched_index;
    VEC(struct touched) touched;
};

/* -EINVAL: several functions are meant; -ENOENT: none is; and what answer_query returns. */
int annotate(struct annotation *a, const struct recording *r, const struct annotate_question *q,
             struct err *err);
void annotation_release(struct annotation *a);

/* The text of a line, without its end; NULL: no source, or no such line. `size` receives how much.
 */
const char *annotation_text(const struct annotation *a, uint32_t source, uint32_t line,
                            size_t *size);

#endif
