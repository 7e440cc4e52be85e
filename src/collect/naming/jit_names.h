/*
 * jit_names: names of code that a program generated at run time, from the file that it writes for
 * perf.
 *
 * CPython (-X perf), node (--perf-basic-prof), agents of Java and others write /tmp/perf-PID.map: a
 * line for each function with its address, its size and its name. Anybody may write such a file, so
 * it is not trusted: it may be huge, nonsense, or not a regular file.
 *
 * Ownership: jit_names_release frees; {0} is empty. Not thread-safe.
 */
#ifndef TIDE_COLLECT_NAMING_JIT_NAMES_H
#define TIDE_COLLECT_NAMING_JIT_NAMES_H

#include <sys/types.h>

#include "store/recording.h"

struct jit_name {
    uint64_t start, end;
    uint32_t order; /* number of its line: of two names at one address, the later one is valid */
    char *name;     /* points into the text */
};

struct jit_names {
    VEC(struct jit_name) items; /* in order of address, and of line */
    char *text;
};

/* Reads the file of a process, if there is one that may be its own, and if the process has samples
 * or stacks in generated code. */
void jit_names_read(struct jit_names *j, const struct profile *p);
/* Parses a text that ends with 0, and changes it. Takes ownership of the text. */
void jit_names_parse(struct jit_names *j, char *text);
/* The name of the code at an address; NULL: no name is known. */
const char *jit_names_find(const struct jit_names *j, uint64_t address);
/* The frame of an address in a module that has no file, if its name is known. Functions of Python
 * become Python frames. */
bool jit_names_frame(const struct jit_names *j, const struct module *m, uint64_t address,
                     struct strpool *strings, struct frame *out);
void jit_names_release(struct jit_names *j);

#endif
