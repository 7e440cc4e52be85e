/*
 * annotate_parts: the steps of annotate(), each in its file. In this order.
 */
#ifndef TIDE_ANALYSE_ANNOTATE_PARTS_H
#define TIDE_ANALYSE_ANNOTATE_PARTS_H

#include "analyse/annotate.h"

/* An address of the function that stacks go through. */
struct touched {
    uint32_t code;
    uint64_t address; /* in the file, of a byte of the instruction */
    struct value self, total;
    uint32_t active;
};

/* Which function is meant: the number of its group. */
int annotate_choose(const struct answer *a, const char *wanted, const char *library,
                    uint32_t *group, struct err *err);

/* Adds up places and addresses. */
void annotate_values(struct annotation *a, const struct group *g, uint32_t group);

/* The place, made when it is new. */
uint32_t annotation_place(struct annotation *a, uint32_t parent, const char *function,
                          const char *file, uint32_t line);
#define CODE_NONE UINT32_MAX /* the file of an address that is in none that is known */

/* Reads the instructions, and the lines they are from. */
void annotate_code(struct annotation *a);

/* Reads the sources, and finds where the function begins and ends in them. */
void annotate_sources(struct annotation *a);

void annotation_note(struct annotation *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "libfoo.so+0x1234": no symbol covers the address. */
bool name_is_address(const char *name);

#endif
