/*
 * heaptrack_modules: the loaded files that a raw file of heaptrack lists, and the names of
 * addresses in them, found in the files as they are on this machine now. heaptrack writes addresses
 * inside the calling instruction, not return addresses.
 *
 * Ownership: heaptrack_modules_release frees. Not thread-safe.
 */
#ifndef TIDE_IMPORT_HEAPTRACK_MODULES_H
#define TIDE_IMPORT_HEAPTRACK_MODULES_H

#include "import/stacks.h"
#include "symbol/symbolizer.h"

struct heaptrack_module {
    uint64_t start, end, base;
    uint32_t path; /* index into paths */
};

struct heaptrack_modules {
    VEC(struct heaptrack_module) items; /* segments, in order of address once `sorted` */
    struct strpool paths;
    struct map runs; /* address -> run, valid as long as the list does not change */
    struct symbolizer *symbolizer;
    char *program;
    bool sorted;
    uint64_t memory;
};

void heaptrack_modules_program(struct heaptrack_modules *t, const char *path);
/* "PATH BASE (START SIZE)*", or "-", which begins a new list. false: damage. */
bool heaptrack_modules_line(struct heaptrack_modules *t, const char *line);
uint32_t heaptrack_modules_run(struct heaptrack_modules *t, uint64_t address, struct stacks *s);
void heaptrack_modules_release(struct heaptrack_modules *t);

#endif
