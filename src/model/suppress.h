/*
 * suppress: lists of stacks to leave out, in the formats that people already have: LeakSanitizer's
 * ("leak:pattern" lines) and valgrind's ({ name, Memcheck:Leak, fun:, obj:, src:, ... }).
 *
 * A suppression is a list of patterns. They are matched against a stack from its innermost frame
 * outwards; frames beyond the last pattern do not matter. "..." stands for any number of frames. A
 * LeakSanitizer pattern is "..." and one pattern for a function, file or library.
 *
 * valgrind's stacks begin with the allocation function, which ours do not list. We only know
 * whether it was realloc, so the first pattern matches if it matches any function of the malloc
 * family.
 *
 * suppress_file.c reads such lists. suppress_frame.h compares a pattern with one frame, and
 * suppress_match.h a suppression with a stack.
 *
 * Errors are one sentence that begins with FILE:LINE. Suppressions for other tools and other kinds
 * of errors are skipped. Ownership: {0} is an empty list; suppressions_release frees it.
 */
#ifndef TIDE_MODEL_SUPPRESS_H
#define TIDE_MODEL_SUPPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* valgrind's kinds of leaks; `leak_kinds` is a set of these. */
enum leak_kind {
    LEAK_DEFINITE = 1,
    LEAK_INDIRECT = 2,
    LEAK_POSSIBLE = 4,
    LEAK_REACHABLE = 8,
    LEAK_KINDS = 15
};

enum place_kind {
    PLACE_ANY_NUMBER, /* any number of frames; if `object` is set, of these libraries only */
    PLACE_FUNCTION,
    PLACE_OBJECT,
    PLACE_SOURCE,
    PLACE_EITHER /* LeakSanitizer: function, file or library */
};

/* What is known about the function that allocated: realloc, or another one. */
enum allocation { ALLOCATION_REALLOC = 1, ALLOCATION_OTHER = 2 };

struct place {
    enum place_kind kind;
    char *text;         /* wildcards: * and, except for PLACE_EITHER, ? */
    char *object;       /* in a preset: base names of libraries, separated by |; otherwise NULL */
    uint32_t line;      /* for PLACE_SOURCE; 0: any */
    bool is_mangled;    /* `text` was made from a mangled name */
    uint8_t allocation; /* set of enum allocation: it can match the allocation function */
};

struct suppression {
    char *name;            /* for messages */
    uint32_t first, count; /* indexes into suppressions.places */
    uint32_t preset;       /* model/suppress_presets.h; 0 if it was read from a file */
    uint8_t leak_kinds;
    bool only_leaks;      /* applies to questions about leaks only */
    bool from_allocation; /* its first place is the allocation function, not its caller */
};

struct suppressions {
    VEC(struct suppression) rules;
    VEC(struct place) places;
};

/* Adds the suppressions in `text`; errors name `file`. -EINVAL and a sentence: malformed. */
int suppressions_parse(struct suppressions *s, const char *text, size_t size, const char *file,
                       struct err *err);
/* Adds the suppressions of a file, and appends its text to `text` unless that is NULL. */
int suppressions_read(struct suppressions *s, const char *path, struct strbuf *text,
                      struct err *err);
/*
 * Adds a rule of suppress_presets.c: places from the innermost outwards, separated by " < ":
 * "libc.so*!setlocale"; "libc.so*|libm.so*!..." is any number of frames of these libraries. At most
 * one place of a rule may be such a number.
 */
void suppressions_add_preset(struct suppressions *s, uint32_t preset, const char *name,
                             const char *places);
void suppressions_release(struct suppressions *s);

#endif
