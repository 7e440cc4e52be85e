/*
 * locations: the code of call stacks in the form of pprof and OTLP: strings, functions, mappings
 * and locations, each once and numbered from 1. Number 0 is none; for strings it is the empty one.
 *
 * A location is an address with the functions that are inlined there, if they are listed. The
 * location "[other]" stands for calls and stacks that are left out.
 *
 * Ownership: borrows the stack table; locations_release frees the rest.
 */
#ifndef TIDE_EXPORT_LOCATIONS_H
#define TIDE_EXPORT_LOCATIONS_H

#include "export/stack_table.h"

struct location_function {
    uint32_t name, file; /* numbers of strings */
};

struct location_line {
    uint32_t frame; /* in the stack table; frames.count: "[other]" */
    uint32_t function, line;
};

struct location {
    uint64_t node_address; /* as in the recording */
    uint64_t address;      /* of the call; 0: not native code */
    uint32_t mapping;
    uint32_t first, count; /* in lines, innermost first */
};

struct locations {
    const struct stack_table *table;
    struct strpool strings; /* UTF-8 */
    VEC(struct location_function) functions;
    VEC(const struct module *) mappings;
    VEC(struct location) items;
    VEC(struct location_line) lines;
    uint32_t other;                              /* the location [other]; 0: not yet */
    struct map function_of, mapping_of, by_hash; /* -> number; by_hash: the first one with a hash */
    VEC(uint32_t) next;                          /* by location: the next one with the same hash */
    uint32_t *of_call;                           /* innermost call of a location -> its number */
};

void locations_init(struct locations *l, const struct stack_table *table);
void locations_release(struct locations *l);

/* The number of a text, which is converted to UTF-8. */
uint32_t locations_string(struct locations *l, const char *text);
uint32_t locations_mapping(struct locations *l, const struct module *module);
/* The build id in hexadecimal digits, as a string of the table. */
uint32_t locations_build_id(struct locations *l, const struct module *module);

/* Appends the numbers of the locations of a stack, innermost first, as varints. If there are more
 * than `max_depth` (0: no limit), the innermost become one [other], and the result is true. Call 0
 * is what was left out: [other], if there is a limit. */
bool locations_list(struct locations *l, uint32_t call, size_t max_depth, struct strbuf *list);

/* Appends the lines of a location to its message of pprof or OpenTelemetry, as fields `field`. */
void locations_put_lines(const struct locations *l, const struct location *of, unsigned field,
                         struct strbuf *message);

#endif
