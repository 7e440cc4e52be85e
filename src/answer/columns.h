/*
 * columns: a table that is described once; its text, JSON and CSV follow from the description.
 *
 *   static const struct column_def columns[] = {
 *       {"label", "mark", COLUMN_PATH, .get = get_label},
 *       {"vm_bytes", "VM", COLUMN_BYTES, FIELD(struct row, vm_bytes)},
 *       {"anon_bytes", "anon", COLUMN_BYTES, FIELD(struct row, anon_bytes), .spare = 1},
 *   };
 *
 * A column without a title is not in the text, one without a key not in the data. An unknown value
 * is "-" in text, null in JSON and empty in CSV. answer/text_table.h aligns and shortens text.
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
    COLUMN_PERCENT, /* a share: 0.123 becomes "12.3" */
    COLUMN_REAL,
    COLUMN_WORD,
    COLUMN_NAME,  /* a function's name: may be shortened */
    COLUMN_PATH,  /* file:line, label#3: may lose its beginning */
    COLUMN_WORDS, /* as many words as there is room for */
    COLUMN_TITLE, /* a thread's name: may lose its end */
    COLUMN_CALL,  /* a function's name in a call tree: indented by rows.depth */
};

/* The value of a row in a column. */
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

/* The row for which a cell is wanted. */
struct spot {
    const void *answer, *row;
    const struct column_def *column;
    struct strbuf *made; /* an empty buffer, for a text that has to be made */
};

struct column_def {
    const char *key, *title;
    enum column_kind kind;
    /* FIELD: a member of the row; FIELD_OF: a member of what a pointer in the row points to. */
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
    /* For a value that is more than one number or text. CSV has what `get` returns. */
    void (*json)(struct spot s, const char *key, struct json *j);
    /* For a struct in the row (FIELDS) with columns of its own: an object in JSON, columns like
     * "self_bytes" in CSV. */
    const struct column_def *inner;
    size_t inner_count;
    bool if_any;          /* in text only if some row has a value: not 0, not empty, not unknown */
    bool blank;           /* in text 0 is empty */
    bool zero_is_unknown; /* 0 means unknown, as for lines */
    bool optional;        /* if unknown, JSON omits the member instead of writing null */
    bool plus;            /* in text with a plus sign if positive */
    /* Conditions that the command defines, COLUMN_NEVER or COLUMN_DEEP: the column is only in a
     * table for which all of them hold. */
    unsigned text_if, json_if, csv_if;
    int number; /* for `get`, if several columns share it */
    int spare;  /* if the text has no room: columns with 1 are dropped first, those with 0 never */
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
#define COLUMN_DEEP  (1u << 30) /* a call tree that is deep (answer/tree_indent.h) */

/* A table of an answer; its rows are adjacent in memory. */
struct rows {
    const struct column_def *columns;
    size_t column_count;
    const void *answer; /* passed to the columns' functions */
    const void *items;
    size_t item_size, count;
    enum metric metric;
    unsigned is;    /* the conditions that hold for it */
    bool continued; /* CSV: the titles have been written above other rows */
    size_t top;     /* at most so many rows, in every format; 0: all */
    size_t cut;     /* how many rows --top left out of `items` before */
    bool (*in_text)(const void *answer, const void *row); /* NULL: every row */
    size_t depth;       /* DEPTH: rows are calls, each followed by those below it; 0: no tree */
    const void *totals; /* the last row of the text, or NULL */
    /* What a row is ("thread"), for a line below the table that counts the rows which --top left
     * out; NULL: no such line. JSON counts them in KEY_left_out. `left_out` appends their sum,
     * given the first of them: " with 3 KiB". */
    const char *noun;
    void (*left_out)(const void *answer, size_t first, struct strbuf *out);
};

#define COLUMN_DEFS(columns_)                                                                      \
    .columns = (columns_), .column_count = sizeof(columns_) / sizeof *(columns_)

#define ITEMS(vec) .items = (vec).items, .item_size = sizeof *(vec).items, .count = (vec).count

#define DEPTH(row, member) .depth = 1 + offsetof(row, member) /* a uint32_t */

void rows_text(const struct rows *r, const struct style *s, struct strbuf *out);
/* Writes an array of objects. `sink` may be NULL. */
void rows_json(const struct rows *r, const char *key, const struct report_sink *sink,
               struct json *j);
/* Writes the members of one row into an object that the caller opened. */
void row_json(const struct rows *r, const void *row, struct json *j);
/* Receives the contents of CSV: titles first, then the cells of each row. A cell is valid until the
 * next one. */
struct cell_taker {
    void (*title)(void *context, const char *name, enum column_kind kind);
    void (*cell)(void *context, const struct cell *cell);
    void *context;
};
void rows_cells(const struct rows *r, const struct cell_taker *t);
/* Writes CSV with a line of titles. */
void rows_csv(const struct rows *r, const struct report_sink *sink, struct strbuf *out);
/* Writes the cells of one row, or the titles (NULL), each with a comma; csv_end_line ends the
 * line. */
void row_csv(const struct rows *r, const void *row, struct strbuf *out);

#endif
