/*
 * ruby_end: blocks that Ruby's own code allocated, in a Ruby program that has come to its end.
 *
 * Before main returns, Ruby releases the pages of its objects, but not the memory that the objects
 * own (long strings, tables): nothing points to that any more, although the program held it to the
 * end. So whether such a block was lost is not known.
 *
 * A block is Ruby's if its stack has frames of Ruby only, besides those of the C library and of
 * generated code. What an extension allocates for itself is the extension's. Checked: Ruby 3.1.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_RUBY_END_H
#define TIDE_COLLECT_LEAKSCAN_RUBY_END_H

#include "collect/counting/target.h"
#include "collect/proc/address_set.h"

struct ruby_end {
    const struct target *target;
    struct address_set others; /* code of other modules */
    uint8_t *sites;            /* what is known about each site */
    uint64_t blocks, bytes;    /* what was counted */
};

/* false: it is no Ruby program, and there is nothing to close. */
bool ruby_end_open(struct ruby_end *r, const struct target *t);
/* Did Ruby's own code allocate this lost block? */
bool ruby_end_is(struct ruby_end *r, const struct block *b);
/* Counts a block of which it is not known whether it was lost. */
void ruby_end_count(struct ruby_end *r, uint64_t size);
/* Adds a note if any were counted. */
void ruby_end_close(struct ruby_end *r, struct target *t);

#endif
