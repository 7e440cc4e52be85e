/*
 * annotate_parts: the steps of annotate() in their order, each in a file of its own.
 */
#ifndef TIDE_ANALYSE_ANNOTATE_PARTS_H
#define TIDE_ANALYSE_ANNOTATE_PARTS_H

#include "analyse/annotate.h"

/* An address of the function that is on stacks. */
struct touched {
    uint32_t code;
    uint64_t address; /* in the file, of any byte of the instruction */
    struct value self, total;
    uint32_t active;
};

/* Finds the function that is meant: the number of its group. */
int annotate_choose(const struct answer *a, const char *wanted, const char *library,
                    uint32_t *group, struct err *err);

/* Adds up places and addresses. */
void annotate_values(struct annotation *a, const struct group *g, uint32_t group);

/* The place, added if it is new. */
uint32_t annotation_place(struct annotation *a, uint32_t parent, const char *function,
                          const char *file, uint32_t line);
#define CODE_NONE UINT32_MAX /* for an address that is in no known file */

/* Reads the instructions, and which lines they belong to. */
void annotate_code(struct annotation *a);

/* Reads the sources, and finds where the function begins and ends in them. */
void annotate_sources(struct annotation *a);

void annotation_note(struct annotation *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Is it "libfoo.so+0x1234": an address that no symbol covers? */
bool name_is_address(const char *name);

#endif
