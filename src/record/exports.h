/*
 * exports: what a loaded file defines for others to see, looked up in its own tables.
 *
 * dlsym would do, but it takes the loader's lock and may allocate. What the tables of a file that
 * the loader accepted say is believed.
 * [malloc-free] [async-signal-safe]; borrows the link map, good until the file is unloaded.
 */
#ifndef TIDE_RECORD_EXPORTS_H
#define TIDE_RECORD_EXPORTS_H

#include <link.h>
#include <stdint.h>

struct exports {
    uint64_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash, *hash;
    const uint16_t *versions; /* of the symbols; NULL: they have none */
};

void exports_read(struct exports *x, const struct link_map *m);

/* Defined there and for others to see; NULL: not. */
const ElfW(Sym) * exports_find(const struct exports *x, const char *name);

/* How many symbols there are, those for others to see and those that are needed of others. */
uint32_t exports_count(const struct exports *x);

#endif
