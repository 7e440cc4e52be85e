/*
 * json_reader: reads JSON from an input, one token after another; only the last token is kept.
 * Depth and the length of strings are limited. Numbers other than natural numbers up to 2^64 are
 * rounded towards 0 and marked. Strings are returned as UTF-8; a NUL ends a string.
 *
 * Ownership: borrows the input; json_reader_release frees. Errors: a negative errno and a sentence.
 */
#ifndef TIDE_IMPORT_JSON_READER_H
#define TIDE_IMPORT_JSON_READER_H

#include "import/input.h"

#define JSON_READER_DEPTH  64
#define JSON_READER_STRING ((size_t)1 << 20)

enum json_token {
    JSON_END, /* the end of the document */
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_CLOSE, /* the end of an object or array */
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_WORD /* true, false, null */
};

struct json_reader {
    struct input *in;
    struct strbuf text; /* of JSON_KEY, JSON_STRING and JSON_WORD */
    uint64_t number;
    int depth;
    bool object[JSON_READER_DEPTH]; /* whether each level is an object */
    bool after_key, after_value;
    int pushed; /* a byte that was read too far; -1: none */
};

void json_reader_init(struct json_reader *r, struct input *in);
void json_reader_release(struct json_reader *r);
/* Returns the next token, or a negative code and a sentence. */
int json_next(struct json_reader *r, struct err *err);
/* Skips to the end of the value that begins with `token`. */
int json_skip(struct json_reader *r, int token, struct err *err);

#endif
