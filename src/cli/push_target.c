#include "cli/push_target.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define LETTERS  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS   "0123456789"
#define IN_LABEL LETTERS DIGITS "_"
#define IN_NAME  IN_LABEL "-./"

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes %41 to A, and so on. */
static char *unescape(const char *text, size_t size)
{
    char *out = xcalloc(size + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        int high = text[i] == '%' && i + 2 < size ? hex_digit(text[i + 1]) : -1;
        int low = high < 0 ? -1 : hex_digit(text[i + 2]);
        if (low >= 0)
            i += 2;
        out[n++] = (char)(low >= 0 ? high << 4 | low : text[i]);
    }
    return out;
}

int push_target_parse(struct push_target *t, const char *option, char *text, struct err *err)
{
    size_t scheme = text_begins(text, "https://") ? 8 : text_begins(text, "http://") ? 7 : 0;
    if (!scheme)
        return err_set(err, -EINVAL, "%s takes a URL that begins with http:// or https://", option);
    char *host = text + scheme, *path = host + strcspn(host, "/?#");
    char *at = memrchr(host, '@', (size_t)(path - host));
    if (strchr(path, '@')) /* perhaps part of a password, so the URL is not shown */
        return err_set(err, -EINVAL,
                       "the URL of %s has an '@' behind its host; in user and "
                       "password, write '/' as %%2F and '@' as %%40",
                       option);
    push_target_release(t);
    if (at) {
        char *colon = memchr(host, ':', (size_t)(at - host));
        char *end = colon ? colon : at;
        t->user = unescape(host, (size_t)(end - host));
        t->password = colon ? unescape(colon + 1, (size_t)(at - colon - 1)) : NULL;
        t->url = xasprintf("%.*s%s", (int)scheme, text, at + 1);
        memset(host, 'x', (size_t)(at - host));
    } else {
        t->url = xstrdup(text);
    }
    size_t size = strlen(t->url);
    while (size > scheme && t->url[size - 1] == '/')
        t->url[--size] = '\0';
    if (size == scheme || t->url[scheme] == '/' || t->url[scheme] == ':')
        return err_set(err, -EINVAL, "the URL of %s names no host", option);
    if (t->url[strcspn(t->url, "?#")])
        return err_set(err, -EINVAL,
                       "the URL of %s ends before '?' and '#'; labels are given by "
                       "%s",
                       option, strcmp(option, "--push") == 0 ? "--push-label" : "--label");
    for (const char *c = t->url; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return err_set(err, -EINVAL, "the URL of %s has a blank or control character in it",
                           option);
    return 0;
}

void push_target_release(struct push_target *t)
{
    if (t->password)
        explicit_bzero(t->password, strlen(t->password));
    free(t->url);
    free(t->user);
    free(t->password);
    *t = (struct push_target){0};
}

int push_label_check(const char *text, struct err *err)
{
    size_t key = strspn(text, IN_LABEL), value = strlen(text) - key;
    bool bad_key = !key || strchr(DIGITS, text[0]) || text[key] != '=' || key > 1024;
    if (bad_key || text_begins(text, "__"))
        return err_set(err, -EINVAL,
                       "a label is KEY=VALUE with a key of letters, digits and '_', not '%.100s'",
                       text);
    for (const char *c = text + key + 1; *c; c++)
        if (strchr(",{}", *c) || (unsigned char)*c < ' ')
            return err_set(
                err, -EINVAL,
                "the value of label '%.*s' has a character that Pyroscope does not take: "
                "',', '{', '}' or a control character",
                (int)key, text);
    if (value < 2 || value > 2049)
        return err_set(err, -EINVAL, "the value of label '%.*s' is empty or too long", (int)key,
                       text);
    return 0;
}

int push_name_check(const char *text, struct err *err)
{
    size_t size = strspn(text, IN_NAME);
    return size && size <= 1024 && !text[size]
               ? 0
               : err_set(err, -EINVAL,
                         "--name takes letters, digits and the characters _ - . /, not '%.100s'",
                         text);
}

char *push_name_of(const char *text)
{
    char *name = xstrndup(*text ? text : "unknown", 1024);
    for (char *c = name; *c; c++)
        if (!strchr(IN_NAME, *c))
            *c = '-';
    return name;
}

void push_escape(struct strbuf *out, const char *text)
{
    for (const char *c = text; *c; c++)
        if (strchr(IN_NAME "~", *c))
            strbuf_putc(out, *c);
        else
            strbuf_printf(out, "%%%02X", (unsigned)(unsigned char)*c);
}
