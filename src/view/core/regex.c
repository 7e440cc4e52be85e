/*
 * regex: extended regular expressions with glibc's meaning, translated for wasi-libc.
 *
 * The two agree on POSIX and on \w, \s, \b, \< and \>. In glibc, \` and \' are the ends of the
 * text, and every other letter after a backslash stands for itself, where wasi-libc has classes and
 * control characters (\d, \t); {,2} is {0,2}; and nothing can be repeated right after a ^.
 */
#include <regex.h>
#include <stdbool.h>
#include <string.h>

#include "base/strbuf.h"

/* The size of a bracket expression, from its [ to its ]. */
static size_t bracket_size(const char *at)
{
    size_t size = 1;
    size += at[size] == '^';
    size += at[size] == ']';
    while (at[size] && at[size] != ']') {
        char kind = at[size] == '[' ? at[size + 1] : '\0';
        if (kind == ':' || kind == '.' || kind == '=') {
            const char ends[] = {kind, ']', '\0'};
            const char *end = strstr(at + size + 2, ends);
            size = end ? (size_t)(end - at) + 2 : strlen(at);
        } else {
            size++;
        }
    }
    return size + (at[size] == ']');
}

/* Translates what follows a backslash. */
static void add_escaped(struct strbuf *out, char c)
{
    static const char special[] = "wWsSbB";
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == '`' || c == '\'') {
        strbuf_putc(out, c == '`' ? '^' : '$');
    } else {
        if (!letter || strchr(special, c))
            strbuf_putc(out, '\\');
        strbuf_putc(out, c);
    }
}

#undef regcomp
int glibc_regcomp(regex_t *regex, const char *pattern, int flags)
{
    struct strbuf other = {0};
    int code = 0;
    bool begins = false; /* right after a ^ */
    strbuf_puts(&other, "");
    for (const char *at = pattern; *at && !code;) {
        size_t size = *at == '[' ? bracket_size(at) : *at == '\\' && at[1] ? 2 : 1;
        if (begins && strchr("*+?{", *at))
            code = REG_BADRPT;
        if (size == 2 && *at == '\\')
            add_escaped(&other, at[1]);
        else
            strbuf_add(&other, at, size);
        if (*at == '{' && at[1] == ',')
            strbuf_putc(&other, '0');
        begins = *at == '^';
        at += size;
    }
    if (!code)
        code = regcomp(regex, other.data, flags);
    strbuf_release(&other);
    return code;
}
