/*
 * svg: what every picture needs. All functions append to a strbuf.
 */
#ifndef TIDE_EXPORT_SVG_H
#define TIDE_EXPORT_SVG_H

#include <stdlib.h>

#include "base/strbuf.h"

/* Appends text with what XML forbids replaced: markup, control characters, bytes that are not
 * UTF-8. */
void svg_text(struct strbuf *out, const char *text);
/* Begins a picture with a white background, as wide as the window. */
void svg_open(struct strbuf *out, double width, double height);
/* Appends a text element; `attributes` are trusted and written unchanged. */
void svg_label(struct strbuf *out, double x, double y, const char *attributes, const char *text);

#endif
