/*
 * blocks: the live blocks of one process, by address.
 *
 * Blocks that are near each other are allocated and freed near each other in time, so they are kept
 * by page: a hash table of pages, and in each page a small one of its blocks, by place in the page.
 * Finding one touches two cache lines, and never moves what other pages hold.
 *
 * At most 64 bytes a block, whatever their size: a page's only block is in the table itself.
 * Not thread-safe; nor are two tables independent of each other.
 */
#ifndef TIDE_COLLECT_COUNTING_BLOCKS_H
#define TIDE_COLLECT_COUNTING_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct block {
    uint64_t address, size, usable;
    uint32_t site;
    uint32_t birth; /* its era: eras.h */
};

struct block_page;

struct block_large {
    uint64_t size, usable;
};

#define BLOCKS_FRESH 64

/* Pages without a block, for those who ask of one address after another. */
struct blocks_gap {
    uint64_t low, high; /* numbers of pages, both in it */
    uint64_t fresh;     /* blocks.fresh_count when they were looked at; 0: there is none */
};

struct blocks {
    struct block_page *pages;
    size_t size, used; /* of pages: places, and places taken */
    struct block_page *last;
    uint64_t count;
    uint64_t slots;                /* for blocks, in all pages with more than one */
    VEC(struct block_large) large; /* sizes that do not fit where small ones are kept */
    VEC(uint32_t) large_free;      /* places in it */
    uint64_t fresh[BLOCKS_FRESH];  /* numbers of pages that got their first block last, by turns, */
    uint64_t fresh_count;          /* of so many */
};

/* Adds a block. If there is one at its address, *old is that one, which is replaced, and the answer
 * is true. */
bool blocks_put(struct blocks *t, const struct block *b, struct block *old);
/* Removes the block at an address into *out; false: there is none. */
bool blocks_take(struct blocks *t, uint64_t address, struct block *out);
/* The block that holds an address, which may be anywhere in it; it is looked for down to `lowest`,
 * page by page. false: there is none. `gap`: NULL, or pages that are known to be empty, of an
 * earlier call; they are not looked at again. */
bool blocks_holding(struct blocks *t, uint64_t address, uint64_t lowest, struct blocks_gap *gap,
                    struct block *out);
/* Before a block is put or taken, some events apart from each other and in this order: what leads
 * to it is brought into the cache. */
void blocks_prefetch(const struct blocks *t, uint64_t address);
void blocks_prefetch_entry(const struct blocks *t, uint64_t address);
/* A second table with the same blocks, for a forked process: `to` is empty. It costs 24 bytes a
 * page; what pages hold is shared until one of the two changes it. */
void blocks_clone(struct blocks *to, const struct blocks *from);
size_t blocks_bytes(const struct blocks *t); /* that a clone takes */
/* Calls `visit` for every block, in no order. */
void blocks_each(const struct blocks *t, void (*visit)(void *context, const struct block *b),
                 void *context);
/* The same in order of address; takes 16 bytes a page for a while. */
void blocks_in_order(const struct blocks *t, void (*visit)(void *context, const struct block *b),
                     void *context);
/* The same for every page with a block in it, by the page's address. */
void blocks_each_page(const struct blocks *t, void (*visit)(void *context, uint64_t address),
                      void *context);
void blocks_release(struct blocks *t);

#endif
