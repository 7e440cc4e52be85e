/*
 * say: sentences with numbers as people read them.
 *
 *     say(out, "%B in %N block(s), %P %% of all", bytes, blocks, percent);
 *     -> "1.5 KiB in 3 blocks, 12.3 % of all"
 *
 * A format stays in one piece, so that a message is found by searching for its words. Arguments
 * carry their types, so any number will do where one is wanted, without a cast; a real number is
 * rounded where a whole one is printed.
 *
 *     %B  bytes: "1.5 KiB"          %T  nanoseconds: "3.2 ms", "2 min 3 s"
 *     %N  a count: "1,234"          %M  nanoseconds: "1,234.5 ms"
 *     %P  a percentage: "12.3"      %d  an integer as it is: "1234"     %x  the same, hexadecimal
 *     %s  text, control characters as '?': a profile must not drive the terminal
 *     %r  text as it is             %f %g  as printf does, with width and precision
 *
 * `%+B` (N, M, P, d) puts a plus sign before what is above 0. `(s)` and `(es)` after a word stay
 * out if the last number was 1: "%N block(s)", "%d process(es)".
 */
#ifndef TIDE_BASE_SAY_H
#define TIDE_BASE_SAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* One argument. */
struct said {
    enum { SAID_INTEGER, SAID_UNSIGNED, SAID_REAL, SAID_TEXT } type;
    union {
        int64_t integer;
        uint64_t natural;
        double real;
        const char *text;
    };
};

/* Up to twelve arguments. */
#define say(out, ...)                                                                              \
    SAY_PICK(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)(out, __VA_ARGS__)

void say_said(struct strbuf *out, const char *format, const struct said *arguments, size_t count);

static inline struct said said_integer(int64_t v)
{
    return (struct said){.type = SAID_INTEGER, .integer = v};
}

static inline struct said said_unsigned(uint64_t v)
{
    return (struct said){.type = SAID_UNSIGNED, .natural = v};
}

static inline struct said said_real(double v)
{
    return (struct said){.type = SAID_REAL, .real = v};
}

static inline struct said said_text(const char *v)
{
    return (struct said){.type = SAID_TEXT, .text = v};
}

#define SAID(x)                                                                                    \
    _Generic((x),                                                                                  \
        char *: said_text,                                                                         \
        const char *: said_text,                                                                   \
        float: said_real,                                                                          \
        double: said_real,                                                                         \
        unsigned long: said_unsigned,                                                              \
        unsigned long long: said_unsigned,                                                         \
        default: said_integer)(x)

#define SAY_PICK(f, a, b, c, d, e, g, h, i, j, k, l, m, n, ...) SAY_##n
#define SAY_GIVE(out, f, ...)                                                                      \
    say_said(out, f, (const struct said[]){__VA_ARGS__},                                           \
             sizeof((const struct said[]){__VA_ARGS__}) / sizeof(struct said))
#define SAY_0(out, f)                say_said(out, f, NULL, 0)
#define SAY_1(out, f, a)             SAY_GIVE(out, f, SAID(a))
#define SAY_2(out, f, a, b)          SAY_GIVE(out, f, SAID(a), SAID(b))
#define SAY_3(out, f, a, b, c)       SAY_GIVE(out, f, SAID(a), SAID(b), SAID(c))
#define SAY_4(out, f, a, b, c, d)    SAY_GIVE(out, f, SAID(a), SAID(b), SAID(c), SAID(d))
#define SAY_5(out, f, a, b, c, d, e) SAY_GIVE(out, f, SAID(a), SAID(b), SAID(c), SAID(d), SAID(e))
#define SAY_6(out, f, a, b, c, d, e, g)                                                            \
    SAY_GIVE(out, f, SAID(a), SAID(b), SAID(c), SAID(d), SAID(e), SAID(g))
#define SAY_7(out, f, a, b, c, d, e, g, h)                                                         \
    SAY_GIVE(out, f, SAID(a), SAID(b), SAID(c), SAID(d), SAID(e), SAID(g), SAID(h))
#define SAY_8(out, f, a, b, c, d, e, g, h, i)                                                      \
    SAY_GIVE(out, f, SAID(a), SAID(b), SAID(c), SAID(d), SAID(e), SAID(g), SAID(h), SAID(i))
#define SAY_9(out, f, a, b, c, d, e, g, h, i, j)                                                   \
    SAY_GIVE(out, f, SAID(a), SAID(b), SAID(c), SAID(d), SAID(e), SAID(g), SAID(h), SAID(i),       \
             SAID(j))
#define SAY_10(out, f, a, b, c, d, e, g, h, i, j, k)                                               \
    SAY_GIVE(out, f, SAID(a), SAID(b), SAID(c), SAID(d), SAID(e), SAID(g), SAID(h), SAID(i),       \
             SAID(j), SAID(k))
#define SAY_11(out, f, a, b, c, d, e, g, h, i, j, k, l)                                            \
    SAY_GIVE(out, f, SAID(a), SAID(b), SAID(c), SAID(d), SAID(e), SAID(g), SAID(h), SAID(i),       \
             SAID(j), SAID(k), SAID(l))
#define SAY_12(out, f, a, b, c, d, e, g, h, i, j, k, l, m)                                         \
    SAY_GIVE(out, f, SAID(a), SAID(b), SAID(c), SAID(d), SAID(e), SAID(g), SAID(h), SAID(i),       \
             SAID(j), SAID(k), SAID(l), SAID(m))

#endif
