/*
 * columns: a table described once, from which its text, its JSON and its CSV follow.
 *
 *     static const struct column_def columns[] = {
 *         {"label", "mark", COLUMN_PATH, .get = get_label},
 *         {"vm_bytes", "VM", COLUMN_BYTES, FIELD(struct row, vm_bytes)},
 *         {"anon_bytes", "anon", COLUMN_BYTES, FIELD(struct row, anon_bytes), .spare = 1},
 *     };
 *
 * A column without a title is not in the text, one without a key not in the data. What is not known
 * is "-" in text, null in JSON and empty in CSV. Text is aligned and shortened by answer/table.h.
 *
 * Ownership: everything is borrowed for the call.
 */
#ifndef TIDE_ANSWER_COLUMNS_H
#define TIDE_ANSWER_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "answer/report.h"
#include "answer/style.h"

enum column_kind {
    COLUMN_COUNT, /* "1,234" */
    COLUMN_BYTES,
    COLUMN_TIME,    /* ns: "3.2 ms" */
    COLUMN_AMOUNT,  /* bytes or ns, by rows.metric */
    COLUMN_PERCENT, /* a share: 0.123 is "12.3" */
    COLUMN_REAL,
    COLUMN_WORD,
    COLUMN_NAME,  /* of a function: may be shortened */
    COLUMN_PATH,  /* file:line, label#3: may lose its front */
    COLUMN_WORDS, /* as many as there is room for */
    COLUMN_TITLE, /* of a thread: may lose its end */
    COLUMN_CALL,  /* of a function in a call tree: goes in by rows.depth */
};

/* What a row has in a column. */
struct cell {
    enum { CELL_UNKNOWN, CELL_INTEGER, CELL_NATURAL, CELL_REAL, CELL_FLAG, CELL_TEXT } type;
    union {
        int64_t integer;
        uint64_t natural;
        double real;
        bool flag;
        const char *text; /* NULL: not known */
    };
};

struct column_def;

#define CELL_NOT_KNOWN ((struct cell){.type = CELL_UNKNOWN})
#define CELL_OF(v)                                                                                 \
    _Generic((v),                                                                                  \
        bool: cell_flag,                                                                           \
        float: cell_real,                                                                          \
        double: cell_real,                                                                         \
        char *: cell_text,                                                                         \
        const char *: cell_text,                                                                   \
        unsigned: cell_natural,                                                                    \
        unsigned long: cell_natural,                                                               \
        unsigned long long: cell_natural,                                                          \
        default: cell_integer)(v)

static inline struct cell cell_integer(int64_t v)
{
    return (struct cell){.type = CELL_INTEGER, .integer = v};
}

static inline struct cell cell_natural(uint64_t v)
{
    return (struct cell){.type = CELL_NATURAL, .natural = v};
}

static inline struct cell cell_real(double v)
{
    return (struct cell){.type = CELL_REAL, .real = v};
}

static inline struct cell cell_flag(bool v)
{
    return (struct cell){.type = CELL_FLAG, .flag = v};
}

static inline struct cell cell_text(const char *v)
{
    return (struct cell){.type = CELL_TEXT, .text = v};
}

/* The row that a cell is wanted of. */
struct spot {
    const void *answer, *row;
    const struct column_def *column;
    struct strbuf *made; /* empty: for a text that has to be made */
};

struct column_def {
    const char *key, *title;
    enum column_kind kind;
    /* FIELD: a member of the row as it is; FIELD_OF: of what a pointer in it points to. */
    enum field_type {
        FIELD_NONE,
        FIELD_NATURAL,
        FIELD_INTEGER,
        FIELD_REAL,
        FIELD_FLAG,
        FIELD_TEXT
    } type;
    size_t offset, size, through;
    struct cell (*get)(struct spot s);           /* instead of a member */
    bool (*known)(const void *row);              /* NULL: always */
    bool (*in_text)(const void *answer);         /* NULL: always */
    bool (*in_json)(const void *answer);         /* NULL: always */
    const char *(*title_of)(const void *answer); /* instead of `title` */
    /* A value that is more than one number or text; CSV has what `get` gives. */
    void (*json)(struct spot s, const char *key, struct json *j);
    /* A struct in the row (FIELDS) with columns of its own: in JSON an object, in CSV columns
     * "self_bytes" and so on. */
    const struct column_def *inner;
    size_t inner_count;
    bool if_any;          /* in text only if one row has something: not 0, not empty, not unknown */
    bool blank;           /* 0 is empty in text */
    bool zero_is_unknown; /* as of lines */
    bool optional;        /* JSON has no such member, instead of null, where it is not known */
    bool plus;            /* in text a plus sign before what is above 0 */
    /* Sets of the command's own, COLUMN_NEVER or COLUMN_DEEP: only in a table that is all of these.
     */
    unsigned text_if, json_if, csv_if;
    int number; /* for `get`, where several columns have one */
    int spare;  /* where text has no room: 1 goes first, 0 never */
};

#define FIELD_TYPE(member)                                                                         \
    _Generic((member),                                                                             \
        unsigned: FIELD_NATURAL,                                                                   \
        unsigned long: FIELD_NATURAL,                                                              \
        unsigned long long: FIELD_NATURAL,                                                         \
        int: FIELD_INTEGER,                                                                        \
        long: FIELD_INTEGER,                                                                       \
        long long: FIELD_INTEGER,                                                                  \
        double: FIELD_REAL,                                                                        \
        bool: FIELD_FLAG,                                                                          \
        char *: FIELD_TEXT,                                                                        \
        const char *: FIELD_TEXT)
#define FIELD(row, member)                                                                         \
    .type = FIELD_TYPE(((row *)NULL)->member), .offset = offsetof(row, member),                    \
    .size = sizeof(((row *)NULL)->member)
#define FIELD_OF(row, pointer, pointed, member)                                                    \
    FIELD(pointed, member), .through = 1 + offsetof(row, pointer)

#define FIELDS(row, member, columns_)                                                              \
    .offset = offsetof(row, member), .inner = (columns_),                                          \
    .inner_count = sizeof(columns_) / sizeof *(columns_)

#define COLUMN_NEVER (1u << 31)
#define COLUMN_DEEP  (1u << 30) /* a call tree that is deep: see answer/indent.h */

/* A table of an answer: rows lie side by side. */
struct rows {
    const struct column_def *columns;
    size_t column_count;
    const void *answer; /* for the columns' functions */
    const void *items;
    size_t item_size, count;
    enum metric metric;
    unsigned is;    /* what its columns depend on */
    bool continued; /* CSV: the titles stand above other rows */
    size_t top;     /* at most so many rows, in every format; 0: all */
    size_t cut;     /* how many more there were before: rows that --top left out of `items` */
    bool (*in_text)(const void *answer, const void *row); /* NULL: every row */
    size_t depth; /* DEPTH: rows are calls, each followed by those below it; 0: they are not */
    const void *totals; /* a last row of the text, or NULL */
    /* What the rows are, for a line below that counts those which --top left out: "thread"; NULL:
     * no line. JSON counts them in KEY_left_out. `left_out` adds what they have together, from the
     * first of them: " with 3 KiB". */
    const char *noun;
    void (*left_out)(const void *answer, size_t first, struct strbuf *out);
};

#define COLUMN_DEFS(columns_)                                                                      \
    .columns = (columns_), .column_count = sizeof(columns_) / sizeof *(columns_)
#define DEPTH(row, member) .depth = 1 + offsetof(row, member) /* a uint32_t */
#define ITEMS(vec)         .items = (vec).items, .item_size = sizeof *(vec).items, .count = (vec).count

void rows_text(const struct rows *r, const struct style *s, struct strbuf *out);
/* An array of objects. `sink` may be NULL. */
void rows_json(const struct rows *r, const char *key, const struct report_sink *sink,
               struct json *j);
/* The members of one row, inside an object that the caller opened. */
void row_json(const struct rows *r, const void *row, struct json *j);
/* What CSV has, as it is: titles first, then the cells of each row. A cell is good until the
 * next one. */
struct cell_taker {
    void (*title)(void *context, const char *name, enum column_kind kind);
    void (*cell)(void *context, const struct cell *cell);
    void *context;
};
void rows_cells(const struct rows *r, const struct cell_taker *t);
/* With a line of titles. */
void rows_csv(const struct rows *r, const struct report_sink *sink, struct strbuf *out);
/* The cells of one row, or the titles (NULL), each with a comma: csv_end_line makes a line of it.
 */
void row_csv(const struct rows *r, const void *row, struct strbuf *out);

#endif
