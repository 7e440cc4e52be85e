/*
 * json: writes JSON into a strbuf, with commas and escapes taken care of.
 *
 *     json_object(&j, NULL);
 *     json_string(&j, "name", "x");
 *     json_u64(&j, "bytes", 1);
 *     json_end(&j);
 *
 * `key` is NULL inside an array and at the top. Bytes that are not UTF-8 become U+FFFD, so what
 * comes out always parses.
 */
#ifndef TIDE_BASE_JSON_H
#define TIDE_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#define JSON_DEPTH 64

struct json {
    struct strbuf *out;
    int depth;
    bool started[JSON_DEPTH]; /* this level already has an item */
    char closing[JSON_DEPTH];
};

/* The text as a JSON parser returns it: bytes that are not UTF-8 become U+FFFD. The caller frees
 * it. */
char *json_decoded(const char *text);

void json_init(struct json *j, struct strbuf *out);
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j);
void json_string(struct json *j, const char *key, const char *value); /* NULL: null */
void json_u64(struct json *j, const char *key, uint64_t value);
void json_i64(struct json *j, const char *key, int64_t value);
void json_double(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);
/* Writes null if the value is not known. */
void json_i64_if(struct json *j, const char *key, bool known, int64_t value);
void json_u64_if(struct json *j, const char *key, bool known, uint64_t value);
void json_null(struct json *j, const char *key);

#endif
