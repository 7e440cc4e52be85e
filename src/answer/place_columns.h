/*
 * place_columns: columns of rows that are about a call of analyse/places.h: its function, file,
 * line, and the stack that leads there. The answer of such a table begins with a struct
 * placed_rows, which says where a row is.
 */
#ifndef TIDE_ANSWER_PLACE_COLUMNS_H
#define TIDE_ANSWER_PLACE_COLUMNS_H

#include "analyse/places.h"
#include "answer/columns.h"

struct placed {
    const struct places *places;
    uint32_t call; /* CALL_NONE: all others, a row that makes the rest add up */
    uint32_t leaf; /* the innermost call of its stack */
};

struct placed_rows {
    struct placed (*where)(const void *answer, const void *row);
};

const char *placed_name(const struct placed *p);
struct cell placed_function(struct spot s);
struct cell placed_file(struct spot s);
struct cell placed_line(struct spot s);
struct cell placed_path(struct spot s); /* "/folder/file.c:12" */
struct cell placed_stack(struct spot s);
void placed_stack_json(struct spot s, const char *key, struct json *j);

#define PLACED_FUNCTION                                                                            \
    {"function", NULL, COLUMN_NAME, .get = placed_function},                                       \
        {"file", NULL, COLUMN_PATH, .get = placed_file},                                           \
    {                                                                                              \
        "line", NULL, COLUMN_COUNT, .get = placed_line, .zero_is_unknown = true                    \
    }
#define PLACED_STACK                                                                               \
    {                                                                                              \
        "stack", NULL, COLUMN_WORDS, .get = placed_stack, .json = placed_stack_json                \
    }

#endif
