/*
 * style: what the output's destination can show: width, colours, UTF-8. cli/terminal.c finds it
 * out; here are the colours themselves.
 */
#ifndef TIDE_ANSWER_STYLE_H
#define TIDE_ANSWER_STYLE_H

#include <stdbool.h>
#include <stddef.h>

struct style {
    size_t width; /* columns */
    bool colour;
    bool terminal;
    bool utf8; /* block elements and the like can be shown */
};

#define STYLE_WIDTH 100 /* if there is no terminal */

/* Escape sequences; empty without colour. */
const char *style_bold(const struct style *s);
const char *style_faint(const struct style *s);
const char *style_warn(const struct style *s);
const char *style_hot(const struct style *s);
const char *style_plain(const struct style *s);

#endif
