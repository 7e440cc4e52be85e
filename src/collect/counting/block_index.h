/*
 * block_index: reads the live blocks of a program that counts in place, from the index that it
 * keeps in its own memory (wire/accounts.h), through /proc/PID/mem.
 *
 * What is read is as the program left it: whole if it stands still, else without what changed
 * meanwhile. Nonsense is passed over.
 */
#ifndef TIDE_COLLECT_COUNTING_BLOCK_INDEX_H
#define TIDE_COLLECT_COUNTING_BLOCK_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct block;
struct target;

/* Makes target.blocks what the index holds now, and the inherited ones' table; nothing, if the
 * program does not count in place or is gone. */
void block_index_read(struct target *t);
/* The block that holds an address now, looked for down to `lowest`; false: there is none. */
bool block_index_holding(struct target *t, uint64_t address, uint64_t lowest, struct block *out);
/* The live blocks that there are, without reading any. */
uint64_t block_index_count(const struct target *t);

#endif
