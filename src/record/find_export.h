/*
 * find_export: what a loaded file exports, looked up in its own tables. dlsym could do it, but
 * takes the loader's lock and may allocate. The tables of a file that the loader accepted are
 * trusted. [malloc-free] [async-signal-safe]; borrows the link map, valid until the file is
 * unloaded.
 */
#ifndef TIDE_RECORD_FIND_EXPORT_H
#define TIDE_RECORD_FIND_EXPORT_H

#include <link.h>
#include <stdint.h>

struct exports {
    uint64_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash, *hash;
    const uint16_t *versions; /* versions of the symbols; NULL: they have none */
    uint64_t own_name;        /* where its name (DT_SONAME) is in strings; 0: it has none */
};

void exports_read(struct exports *x, const struct link_map *m);

/* The exported definition; NULL: there is none. */
const ElfW(Sym) * exports_find(const struct exports *x, const char *name);

/* The number of symbols, exported and imported. */
uint32_t exports_count(const struct exports *x);

#endif
