/*
 * svg: the few things that every picture needs. All append to a strbuf.
 */
#ifndef TIDE_EXPORT_SVG_H
#define TIDE_EXPORT_SVG_H

#include <stdlib.h>

#include "base/strbuf.h"

/* Text with what XML forbids replaced: markup, control characters, bytes that are not UTF-8. */
void svg_text(struct strbuf *out, const char *text);
/* The head of a picture with a white ground, as wide as the window it is in. */
void svg_open(struct strbuf *out, double width, double height);
/* A text element; `attributes` come from us and are written as they are. */
void svg_label(struct strbuf *out, double x, double y, const char *attributes, const char *text);

#endif
