/* Which function a user means: the first step of annotate(). */
#include <errno.h>
#include <string.h>

#include "analyse/annotate_parts.h"
#include "model/name.h"

#define CANDIDATES_SHOWN 8

/* How sure it is that a name is meant, surest first. */
enum sureness { THE_NAME, WITHOUT_ARGUMENTS, IN_FORTRAN, MATCHING, SURENESSES };

struct choice {
    const char *wanted, *library;
    struct pattern_list regex; /* empty: it is none */
};

/* Without arguments and scopes; those of Python end with a dot. */
static bool is_last_part(const char *name, const char *wanted)
{
    const char *dot = strrchr(name, '.');
    return name_is(name, wanted) || (dot && strcmp(dot + 1, wanted) == 0);
}

/* "init" as gfortran calls it: "init_", or "__module_MOD_init". Case does not matter there. */
static bool is_fortran(const char *name, const char *wanted)
{
    const char *mod = strstr(name, "_MOD_");
    size_t size = strlen(wanted);
    if (mod && strncmp(name, "__", 2) == 0)
        return strcasecmp(mod + 5, wanted) == 0;
    return strncasecmp(name, wanted, size) == 0 && strcmp(name + size, "_") == 0;
}

static bool is_meant(const struct choice *c, const char *name, enum sureness how)
{
    return how == THE_NAME            ? strcmp(name, c->wanted) == 0
           : how == WITHOUT_ARGUMENTS ? is_last_part(name, c->wanted)
           : how == IN_FORTRAN        ? is_fortran(name, c->wanted)
                                      : pattern_list_match(&c->regex, name);
}

static bool is_in_library(const struct choice *c, const struct answer_row *row)
{
    return !c->library || (row->module && strcmp(row->module, c->library) == 0) ||
           (row->file &&
            strcmp(row->file, c->library) == 0); /* as Python's modules are told apart */
}

/* Rows that are meant; returns how many. */
static size_t find(const struct answer *a, const struct choice *c, enum sureness how,
                   const struct answer_row **rows, size_t room)
{
    size_t found = 0;
    for (size_t i = 0; i < a->rows.rows.count; i++) {
        const struct answer_row *row = &a->rows.rows.items[i];
        if (!is_in_library(c, row) || !is_meant(c, row->name, how))
            continue;
        if (found < room)
            rows[found] = row;
        found++;
    }
    return found;
}

static int several(const struct choice *c, const struct answer_row *const *rows, size_t found,
                   struct err *err)
{
    struct strbuf list = {0};
    bool one_name = true;
    size_t shown = found < CANDIDATES_SHOWN ? found : CANDIDATES_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        one_name &= strcmp(rows[i]->name, rows[0]->name) == 0;
        strbuf_puts(&list, i ? ", " : "");
        name_shorten(&list, rows[i]->name, 60);
        if (rows[i]->module)
            strbuf_printf(&list, " in %s", rows[i]->module);
    }
    if (found > shown)
        strbuf_printf(&list, " and %zu more", found - shown);
    for (size_t i = 0; i < list.size; i++) /* a recording must not drive the terminal */
        if ((unsigned char)list.data[i] < ' ' || list.data[i] == 0x7f)
            list.data[i] = '?';
    int code = err_set(err, -EINVAL, "'%s' may be one of %zu functions, %s: %s", c->wanted, found,
                       one_name ? "add --library NAME" : "give the whole name", list.data);
    strbuf_release(&list);
    return code;
}

/* Nothing of the metric is there; but it may be in the recording. */
static int none(const struct answer *a, const struct choice *c, struct err *err)
{
    const struct profile *p = a->profile;
    const struct strpool *strings = &a->recording->strings;
    bool known = false;
    for (size_t i = 0; i < p->frames.count && !known; i++) {
        uint32_t name = p->frames.items[i].function;
        known =
            name < strings->strings.count && is_last_part(strpool_get(strings, name), c->wanted);
    }
    if (known && !c->library)
        return err_set(err, -ENOENT,
                       "'%s' is in this recording, but not in the stacks of metric '%s' with these "
                       "options; try another --metric",
                       c->wanted, metric_name(a->query->metric));
    return err_set(err, -ENOENT,
                   "no function '%s'%s%s in these stacks; give a whole name, one without "
                   "arguments, or a regular expression",
                   c->wanted, c->library ? " of library " : "", c->library ? c->library : "");
}

int annotate_choose(const struct answer *a, const char *wanted, const char *library,
                    uint32_t *group, struct err *err)
{
    const struct answer_row *rows[CANDIDATES_SHOWN];
    struct choice c = {.wanted = wanted, .library = library};
    size_t found = 0;
    int code = 0;
    pattern_list_add(&c.regex, wanted, "function", NULL); /* a name may be no regular expression */
    for (enum sureness how = THE_NAME; !found && how < SURENESSES; how++)
        found = find(a, &c, how, rows, CANDIDATES_SHOWN);
    if (found == 1)
        *group = rows[0]->call;
    else
        code = found ? several(&c, rows, found, err) : none(a, &c, err);
    pattern_list_release(&c.regex);
    return code;
}
