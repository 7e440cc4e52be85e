/*
 * pattern: the regular expressions that a user gives (POSIX extended), and renames like sed's
 * s/re/new/.
 *
 * Words without special characters are searched for as text, which is many times faster than
 * regexec on long C++ names. Lists own their patterns; {0} is an empty list.
 */
#ifndef TIDE_MODEL_PATTERN_H
#define TIDE_MODEL_PATTERN_H

#include <regex.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct pattern {
    char *text;
    bool literal; /* no special characters: `regex` was not compiled */
    regex_t regex;
};

struct pattern_list {
    VEC(struct pattern) patterns;
};

/* Adds a pattern. `option` names its source in the error's sentence ("--ignore"). -EINVAL: it is no
 * regular expression. */
int pattern_list_add(struct pattern_list *l, const char *text, const char *option, struct err *err);
bool pattern_list_match(const struct pattern_list *l, const char *subject);
void pattern_list_release(struct pattern_list *l);

/* May the pattern be stored in a file and applied by every user who opens the file? It may not if
 * matching could take very long, or compiling very much memory. */
bool pattern_is_harmless(const char *text);

/* Matches wildcards against all of `text`: * for any number of characters and, with `question`, ?
 * for one. */
bool glob_match(const char *glob, const char *text, bool question);

struct rename_rule {
    regex_t regex;
    char *replacement; /* with \1 to \9 and & */
    bool global;
};

struct rename_list {
    VEC(struct rename_rule) rules;
};

/* `rule` is s/re/new/ or s/re/new/g with any delimiter. */
int rename_list_add(struct rename_list *l, const char *rule, struct err *err);
/* Appends the new name to `out` and returns true, or returns false if no rule matches. */
bool rename_list_apply(const struct rename_list *l, const char *name, struct strbuf *out);
void rename_list_release(struct rename_list *l);

#endif
