/*
 * annotate: one function, line by line and instruction by instruction, with the values of a metric.
 *
 * The values of lines come from the recording alone: the frames of each stack have their lines. The
 * program's file is read for what the recording does not contain: the instructions, and the other
 * lines of the function. It must be the file that was recorded (same build id); otherwise only
 * lines are shown. Sources are read from where the debug information says they were.
 *
 * A *place* is a line of the function, or below such a line, a line of what the compiler inlined
 * there. `self` is charged to the place itself; `total` includes everything that was called from
 * it, and inlined code counts as called. Within one stack each place counts once, so in a recursive
 * function no line exceeds the function's total.
 *
 * Files named by the recording may be hostile: sizes are limited, and only regular files are read.
 * Ownership: borrows recording and question; annotation_release frees the rest.
 */
#ifndef TIDE_ANALYSE_ANNOTATE_H
#define TIDE_ANALYSE_ANNOTATE_H

#include "analyse/source_files.h"
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
    /* The place that it was inlined into; PLACE_NONE: a line of the function itself. */
    uint32_t parent;
    uint32_t function, file; /* indexes into annotation.strings; 0: unknown */
    uint32_t line;           /* 0: unknown */
    uint32_t source;         /* index into annotation.sources */
    struct value self, total;
    /* What was inlined there: indexes into annotation.place_order. */
    size_t first_inlined, inlined_count;
    size_t first_code, code_count; /* its instructions: indexes into annotation.code_order */
    uint32_t active;               /* while values are added up: calls of it on the current path */
};

struct annotated_instruction {
    uint32_t code;    /* index into annotation.codes */
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

/* A source file with lines of the function; the function's own lines are `first` to `last`. */
struct annotated_source {
    uint32_t file; /* index into annotation.strings */
    uint32_t first, last;
    /* The function's own places by line: indexes into annotation.place_order. */
    size_t first_place, place_count;
    struct source text;
};

struct annotation {
    const struct annotate_question *question;
    struct query query;
    struct answer answer;
    const char *name, *module; /* module NULL: unknown */
    bool python, inlined;      /* inlined: wherever it was seen */
    struct value self, total;
    struct strpool strings;
    VEC(struct annotated_place) places; /* a parent comes before its children */
    VEC(struct annotated_source) sources;
    VEC(struct annotated_code) codes;
    VEC(struct annotated_instruction) instructions; /* by file and address */
    uint32_t declared;                              /* the line of its declaration; 0: not known */
    size_t unplaced; /* how many instructions have no known line: the first in code_order */
    /* Places in the order of output: the function's own by source and line, inlined ones the
     * largest first. */
    uint32_t *place_order;
    uint32_t *code_order; /* instructions by place and address */
    VEC(char *) notes;    /* one sentence each: what could not be shown, and what to do */
    VEC(uint32_t) hosts;  /* functions into which it was inlined: indexes into strings */
    struct symbolizer *symbolizer;

    /* Used only while the annotation is made. */
    struct map place_index, touched_index;
    VEC(struct touched) touched;
};

/* -EINVAL: several functions match; -ENOENT: none does; otherwise the errors of answer_query. */
int annotate(struct annotation *a, const struct recording *r, const struct annotate_question *q,
             struct err *err);
void annotation_release(struct annotation *a);

/* The text of a line, without its end; NULL: there is no source, or no such line. Sets `size`. */
const char *annotation_text(const struct annotation *a, uint32_t source, uint32_t line,
                            size_t *size);

#endif
