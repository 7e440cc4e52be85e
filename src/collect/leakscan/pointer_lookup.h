/*
 * pointer_lookup: whether a word is a pointer, and which block it is in. Only the files that search
 * memory include this: it is asked for every word.
 *
 * The blocks are in order of address, in areas without large gaps. A table of cells says how many
 * blocks begin before each 2^n addresses of an area; in a cell there are few. pointer_lookup.c
 * makes it (reachability_ready).
 */
#ifndef TIDE_COLLECT_LEAKSCAN_POINTER_LOOKUP_H
#define TIDE_COLLECT_LEAKSCAN_POINTER_LOOKUP_H

#include "base/vec.h"
#include "collect/leakscan/python_int.h"
#include "collect/leakscan/reachability.h"
#include "wire/layout.h"

#define NONE UINT32_MAX

static inline uint64_t end_of(const struct reachability_block *b)
{
    return b->address + b->size;
}

/* Can the block be only the length field in front of the elements of an array? */
static inline bool may_be_empty_array(const struct reachability_block *b)
{
    return b->size == 8 || (b->size == 16 && b->address % 16 == 0);
}

static inline const struct reachability_area *area_of(const struct reachability *f,
                                                      uint64_t address)
{
    size_t at;
    BISECT(at, f->areas.count, f->areas.items[at].end <= address);
    const struct reachability_area *a = &f->areas.items[at];
    return at < f->areas.count && a->start <= address ? a : NULL;
}

static inline const uint32_t *cell_of(const struct reachability *f,
                                      const struct reachability_area *a, uint64_t address)
{
    return &f->cells.items[a->first_cell + ((address - a->start) >> a->shift)];
}

/* The block that holds an address. *ended: the block that ends at the address, if it may be an
 * empty array. */
static inline uint32_t block_in(const struct reachability *f, const struct reachability_area *a,
                                const uint32_t *cell, uint64_t address, uint32_t *ended)
{
    const struct reachability_block *b = f->blocks.items;
    /* First block after the address; branch-free search: no branch could be predicted. */
    uint32_t low = cell[0];
    for (uint32_t count = cell[1] - low; count;) {
        uint32_t half = count / 2;
        bool after = b[low + half].address <= address;
        low += after ? half + 1 : 0;
        count = after ? count - half - 1 : half;
    }
    uint32_t before = low > a->first ? low - 1 : NONE, found = before;
    *ended = NONE;
    if (before == NONE || address - b[before].address >= b[before].size)
        found = NONE;
    else if (address == b[before].address)
        before = before > a->first ? before - 1 : NONE;
    if (before != NONE && end_of(&b[before]) == address && may_be_empty_array(&b[before]))
        *ended = before;
    return found;
}

/* The address that a word may hold. Its upper bits may be something else: lock-free containers keep
 * a counter there (boost::lockfree), and memory tags are there (MTE). */
static inline uint64_t address_in(uint64_t word)
{
    return word & WIRE_LOW48;
}

/* Are the digits of an int of Python at `at`? */
static inline bool is_int(const struct reachability *f, const char *bytes, size_t at)
{
    return f->python_int_type && at >= PYTHON_INT_HEADER &&
           python_int_is_at(bytes + at, f->python_int_type);
}

static inline bool int_points(const struct reachability *f, const char *digits, uint64_t first,
                              uint64_t *out)
{
    return python_int_value(digits, first, out) && *out - f->low < f->span;
}

/* Where the word at `at` in `bytes` points to, if that may be a block; false: it does not. */
static inline bool pointer_at(const struct reachability *f, const char *bytes, size_t at,
                              uint64_t *out)
{
    uint64_t word;
    memcpy(&word, bytes + at, 8);
    /* The other half of the word after an int of one digit may be anything. */
    if (is_int(f, bytes, at) && int_points(f, bytes + at, word, out))
        return true;
    *out = address_in(word);
    return *out - f->low < f->span;
}

#endif
