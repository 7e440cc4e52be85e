/*
 * jit_names: names of code that a program made at run time, from the file that it writes for perf.
 *
 * CPython (-X perf), node (--perf-basic-prof), agents of Java and others write /tmp/perf-PID.map: a
 * line for each function with its address, its size and its name. Anybody may write such a file, so
 * it is not trusted: it may be huge, nonsense, or not a regular file.
 *
 * Ownership: jit_names_release frees; {0} is none. Not thread-safe.
 */
#ifndef TIDE_COLLECT_NAMING_JIT_NAMES_H
#define TIDE_COLLECT_NAMING_JIT_NAMES_H

#include <sys/types.h>

#include "store/recording.h"

struct jit_name {
    uint64_t start, end;
    uint32_t order; /* of its line: of two at an address, the later is what is there now */
    char *name;     /* in the text */
};

struct jit_names {
    VEC(struct jit_name) items; /* in order of address, and of line */
    char *text;
};

/* Reads the file of a process, if there is one that may be its own, and it was seen in such code.
 */
void jit_names_look(struct jit_names *j, const struct profile *p);
/* Takes a text that ends with 0, and changes it; it is freed with the names. */
void jit_names_parse(struct jit_names *j, char *text);
/* NULL: none. */
const char *jit_names_find(const struct jit_names *j, uint64_t address);
/* The frame of code at an address in a module, if it has a name and no file is behind the module.
 * Python's functions are frames of Python. */
bool jit_names_frame(const struct jit_names *j, const struct module *m, uint64_t address,
                     struct strpool *strings, struct frame *out);
void jit_names_release(struct jit_names *j);

#endif
