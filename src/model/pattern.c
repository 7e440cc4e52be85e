#include "model/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compile(regex_t *regex, const char *text, int flags, const char *option, struct err *err)
{
    int code = regcomp(regex, text, REG_EXTENDED | flags);
    if (!code)
        return 0;
    char why[128];
    regerror(code, regex, why, sizeof why);
    return err_set(err, -EINVAL, "%s '%s' is not an extended regular expression: %s", option, text,
                   why);
}

int pattern_list_add(struct pattern_list *l, const char *text, const char *option, struct err *err)
{
    struct pattern p = {.literal = !strpbrk(text, ".[]()*+?{}|^$\\")};
    if (!*text)
        return err_set(err, -EINVAL, "%s needs a regular expression, not an empty text", option);
    if (!p.literal) {
        int code = compile(&p.regex, text, REG_NOSUB, option, err);
        if (code)
            return code;
    }
    p.text = xstrdup(text);
    *vec_push(&l->patterns) = p;
    return 0;
}

#define KEPT_SIZE_MAX 1000
#define KEPT_COST_MAX 10000

/* {n}, {n,} or {n,m} at `s`: how many copies of the preceding expression the compiler makes. */
static unsigned long copies_of(const char *s)
{
    char *end;
    unsigned long least = strtoul(s + 1, &end, 10), most = least;
    if (*end == ',')
        most = strtoul(end + 1, NULL, 10);
    most = most > least ? most : least;
    return most > KEPT_COST_MAX ? KEPT_COST_MAX + 1 : most;
}

bool pattern_is_harmless(const char *text)
{
    unsigned long cost = strlen(text); /* repeats may be nested, so their product counts */
    if (cost > KEPT_SIZE_MAX)
        return false;
    for (const char *s = text; *s && cost <= KEPT_COST_MAX; s++) {
        if (*s == '\\' && s[1]) {
            if (*++s >= '0' && *s <= '9')
                return false; /* a back reference */
            continue;
        }
        unsigned long copies = *s == '{' ? copies_of(s) : *s == '+' ? 2 : 1;
        cost *= copies ? copies : 1;
    }
    return cost <= KEPT_COST_MAX;
}

bool pattern_list_match(const struct pattern_list *l, const char *subject)
{
    for (size_t i = 0; i < l->patterns.count; i++) {
        const struct pattern *p = &l->patterns.items[i];
        if (p->literal ? strstr(subject, p->text) != NULL
                       : regexec(&p->regex, subject, 0, NULL, 0) == 0)
            return true;
    }
    return false;
}

void pattern_list_release(struct pattern_list *l)
{
    for (size_t i = 0; i < l->patterns.count; i++) {
        if (!l->patterns.items[i].literal)
            regfree(&l->patterns.items[i].regex);
        free(l->patterns.items[i].text);
    }
    vec_release(&l->patterns);
}

bool glob_match(const char *glob, const char *text, bool question)
{
    const char *star = NULL, *from = NULL; /* the last *, and where its match ends for now */
    while (*text) {
        if (*glob == '*') {
            star = glob++;
            from = text;
        } else if (*glob == *text || (question && *glob == '?')) {
            glob++;
            text++;
        } else if (star) {
            glob = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    return !glob[strspn(glob, "*")];
}

/* The end of a part of s/re/new/: the next delimiter without a backslash before it, or NULL. */
static const char *part_end(const char *s, char delimiter)
{
    for (; *s && *s != delimiter; s++)
        if (*s == '\\' && s[1])
            s++;
    return *s ? s : NULL;
}

/* A copy in which escaped delimiters are unescaped. */
static char *part_copy(const char *from, const char *to, char delimiter)
{
    struct strbuf b = {0};
    strbuf_puts(&b, "");
    for (; from < to; from++) {
        if (*from == '\\' && from + 1 < to && from[1] == delimiter)
            from++;
        strbuf_putc(&b, *from);
    }
    return strbuf_detach(&b);
}

int rename_list_add(struct rename_list *l, const char *rule, struct err *err)
{
    char delimiter = rule[0] == 's' ? rule[1] : '\0';
    const char *middle = delimiter ? part_end(rule + 2, delimiter) : NULL;
    const char *end = middle ? part_end(middle + 1, delimiter) : NULL;
    if (!end || middle == rule + 2 || (end[1] && strcmp(end + 1, "g") != 0))
        return err_set(err, -EINVAL,
                       "--merge '%s' is not of the form s/regex/new/ or s/regex/new/g", rule);
    struct rename_rule r = {.global = end[1] == 'g'};
    char *text = part_copy(rule + 2, middle, delimiter);
    int code = compile(&r.regex, text, 0, "--merge", err);
    free(text);
    if (code)
        return code;
    r.replacement = part_copy(middle + 1, end, delimiter);
    *vec_push(&l->rules) = r;
    return 0;
}

static void add_replacement(struct strbuf *out, const char *with, const char *subject,
                            const regmatch_t *m)
{
    for (; *with; with++) {
        int group = *with == '&' ? 0 : -1;
        if (*with == '\\' && with[1]) {
            with++;
            group = *with >= '1' && *with <= '9' ? *with - '0' : -1;
        }
        if (group < 0)
            strbuf_putc(out, *with);
        else if (m[group].rm_so >= 0)
            strbuf_add(out, subject + m[group].rm_so, (size_t)(m[group].rm_eo - m[group].rm_so));
    }
}

static bool apply_rule(const struct rename_rule *r, const char *name, struct strbuf *out)
{
    regmatch_t m[10];
    bool any = false;
    for (int flags = 0; regexec(&r->regex, name, 10, m, flags) == 0; flags = REG_NOTBOL) {
        any = true;
        strbuf_add(out, name, (size_t)m[0].rm_so);
        add_replacement(out, r->replacement, name, m);
        name += m[0].rm_eo;
        if (m[0].rm_eo == m[0].rm_so) { /* an empty match must not be found again */
            if (!*name)
                break;
            strbuf_putc(out, *name++);
        }
        if (!r->global)
            break;
    }
    strbuf_puts(out, name);
    return any;
}

bool rename_list_apply(const struct rename_list *l, const char *name, struct strbuf *out)
{
    bool any = false;
    char *current = NULL;
    for (size_t i = 0; i < l->rules.count; i++) {
        struct strbuf next = {0};
        if (apply_rule(&l->rules.items[i], current ? current : name, &next)) {
            any = true;
            free(current);
            current = strbuf_detach(&next);
        }
        strbuf_release(&next);
    }
    if (any)
        strbuf_puts(out, current);
    free(current);
    return any;
}

void rename_list_release(struct rename_list *l)
{
    for (size_t i = 0; i < l->rules.count; i++) {
        regfree(&l->rules.items[i].regex);
        free(l->rules.items[i].replacement);
    }
    vec_release(&l->rules);
}
