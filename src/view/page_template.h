/*
 * page_template: the page of `tidemark view` before recordings are inserted (scripts/join_page.py).
 */
#ifndef TIDE_VIEW_PAGE_TEMPLATE_H
#define TIDE_VIEW_PAGE_TEMPLATE_H

#include <stddef.h>

extern const char page_template[];
extern const size_t page_template_size; /* 0: tidemark was built without the viewer */

#endif
