#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "base/vec.h"

size_t options_distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 64)
        return 64;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = corner + (a[i - 1] != b[j - 1]),
                   other = row[j] < row[j - 1] ? row[j] : row[j - 1];
            corner = row[j];
            row[j] = change < other + 1 ? change : other + 1;
        }
    }
    return row[n];
}

static int unknown(const struct option *options, const char *given, const char *command,
                   struct err *err)
{
    const char *near = NULL;
    char *word = xstrndup(given, strcspn(given, "="));
    const char *bare = word + strspn(word, "-");
    size_t best = strlen(bare) / 2 + 1; /* such a distance is no misspelling */
    struct strbuf matches = {0};
    for (const struct option *p = options; p->name; p++) {
        size_t d = options_distance(bare, p->name);
        if (d < best) {
            best = d;
            near = p->name;
        }
        if (*bare && strncmp(p->name, bare, strlen(bare)) == 0)
            strbuf_printf(&matches, "%s--%s", matches.size ? ", " : "", p->name);
    }
    if (matches.size)
        err_set(err, -EINVAL, "option '%s' may mean %s", word, matches.data);
    else if (near)
        err_set(err, -EINVAL, "unknown option '%s'; did you mean --%s?", word, near);
    else
        err_set(err, -EINVAL, "unknown option '%s'; tidemark %s --help lists the options", word,
                command);
    strbuf_release(&matches);
    free(word);
    return -EINVAL;
}

int options_refuse(const struct option *options, const char *letters, char **argv,
                   const char *command, struct err *err)
{
    const char *given = argv[optind - 1];
    char letter[3] = {'-', (char)optopt, '\0'};
    bool is_letter = optopt > 0 && optopt < 128 && !text_begins(given, "--");
    const char *place = is_letter ? strchr(letters, optopt) : NULL;
    if (place && place[1] == ':')
        return err_set(err, -EINVAL, "%s needs a value", letter);
    for (const struct option *p = options; optopt && p->name; p++)
        if (p->val == optopt)
            return err_set(err, -EINVAL, p->has_arg ? "--%s needs a value" : "--%s takes no value",
                           p->name);
    return unknown(options, is_letter ? letter : given, command, err);
}

int options_parse(const struct options *o, int argc, char **argv, void *context, struct err *err)
{
    VEC(struct option) table = {0};
    bool help = false;
    int code = 0, c;
    for (const struct option *p = o->table; p->name; p++)
        *vec_push(&table) = *p;
    *vec_push(&table) = (struct option){"help", no_argument, NULL, 'h'};
    *vec_push(&table) = (struct option){0};
    optind = 0; /* GNU: start anew */
    opterr = 0;
    while (!code && !help && (c = getopt_long(argc, argv, o->letters, table.items, NULL)) != -1) {
        if (c == 'h')
            help = true;
        else if (c == '?' || c == ':')
            code = options_refuse(table.items, o->letters, argv, o->command, err);
        else
            code = o->take(context, c, optarg, err);
    }
    vec_release(&table);
    if (help)
        fputs(o->help, stdout);
    return help ? 1 : code;
}

int options_number(const char *option, const char *text, uint64_t least, uint64_t most,
                   uint64_t *out, struct err *err)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || n < least || n > most)
        return err_set(err, -EINVAL,
                       "%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%.100s'", option,
                       least, most, text);
    *out = n;
    return 0;
}
