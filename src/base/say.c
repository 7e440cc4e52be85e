#include "base/say.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

/* What is between '%' and its letter. */
struct directive {
    char layout[16]; /* width and precision, as printf takes them */
    bool plus;
    char letter;
};

static const char *parse(const char *at, struct directive *d)
{
    size_t n = 0;
    *d = (struct directive){0};
    for (; *at && strchr("+-0123456789.", *at); at++) {
        d->plus |= *at == '+';
        if (*at != '+' && n + 1 < sizeof d->layout)
            d->layout[n++] = *at;
    }
    d->letter = *at;
    return *at ? at + 1 : at;
}

static bool is_positive(const struct said *a)
{
    return a->type == SAID_REAL ? a->real > 0 : a->integer > 0;
}

static double real_of(const struct said *a)
{
    return a->type == SAID_REAL       ? a->real
           : a->type == SAID_UNSIGNED ? (double)a->natural
                                      : (double)a->integer;
}

static void add_real(struct strbuf *out, const struct directive *d, double value)
{
    char format[32], text[400];
    snprintf(format, sizeof format, "%%%s%c", d->letter == 'P' ? ".1" : d->layout,
             d->letter == 'P' ? 'f' : d->letter);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, value + 0.0); /* + 0.0: no "-0.0" */
#pragma GCC diagnostic pop
    strbuf_puts(out, text);
}

static void add_text(struct strbuf *out, const struct directive *d, const char *text)
{
    if (!text)
        strbuf_puts(out, "(null)");
    else if (d->letter == 'r')
        strbuf_puts(out, text);
    else
        unit_text(out, text);
}

/* The argument as a whole number, if the letter wants one; a number that is too large becomes the
 * largest. */
static struct said argument_of(const struct directive *d, struct said a)
{
    if (a.type != SAID_REAL || !d->letter || strchr("Pfg", d->letter))
        return a;
    return said_integer((int64_t)fmin(fmax(round(a.real), -9e18), 9e18));
}

/* false: the argument is not of the kind that the letter wants. */
static bool add(struct strbuf *out, const struct directive *d, const struct said *a)
{
    if (strchr("sr", d->letter)) {
        if (a->type == SAID_TEXT)
            add_text(out, d, a->text);
        return a->type == SAID_TEXT;
    }
    if (a->type == SAID_TEXT)
        return false;
    if (d->plus && is_positive(a))
        strbuf_putc(out, '+');
    switch (d->letter) {
    case 'B':
        unit_bytes(out, a->integer);
        break;
    case 'N':
        unit_count(out, a->integer);
        break;
    case 'M':
        unit_ms(out, a->integer);
        break;
    case 'T':
        unit_time(out, a->natural);
        break;
    case 'd':
        strbuf_printf(out, a->type == SAID_UNSIGNED ? "%" PRIu64 : "%" PRId64, a->integer);
        break;
    case 'x':
        strbuf_printf(out, "%" PRIx64, a->natural);
        break;
    default:
        add_real(out, d, real_of(a));
    }
    return true;
}

void say_said(struct strbuf *out, const char *format, const struct said *arguments, size_t count)
{
    bool one = false; /* the last number */
    size_t next = 0;
    strbuf_puts(out, ""); /* a valid string, even if nothing is appended */
    for (const char *at = format; *at;) {
        struct directive d;
        if (text_begins(at, "(s)") || text_begins(at, "(es)")) {
            size_t size = at[1] == 's' ? 1 : 2;
            strbuf_add(out, at + 1, one ? 0 : size);
            at += size + 2;
        } else if (*at != '%') {
            size_t size = strcspn(at + 1, "%(") + 1;
            strbuf_add(out, at, size);
            at += size;
        } else if (at[1] == '%') {
            strbuf_putc(out, '%');
            at += 2;
        } else {
            at = parse(at + 1, &d);
            bool known = d.letter && strchr("BNMTPdxfgsr", d.letter) && next < count;
            struct said a = known ? argument_of(&d, arguments[next++]) : said_integer(0);
            if (!known || !add(out, &d, &a))
                strbuf_puts(out, "(?)"); /* a mistake of the caller; tests search for it */
            else if (a.type != SAID_TEXT && d.letter != 'T')
                one = real_of(&a) == 1;
        }
    }
}
