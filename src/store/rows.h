/*
 * rows: the interval log's rows as bytes, in memory while recording and in the file.
 *
 * Rows of one interval are in order of site. Most sites allocate blocks of one size and free all of
 * them. So a column is written as its difference from what the columns before it predict (rows.c,
 * predicted). Most differences are 0, and these are not written at all:
 *
 *   varint  site - previous site (the first: site + 1)
 *   varint  mask: bit n says that column n follows; the bit after the last says that all frees were
 *           temporary
 *   zigzag  each such column
 *
 * The cursor never reads past its end: after an error `bad` stays set, and every value read is 0.
 */
#ifndef TIDE_STORE_ROWS_H
#define TIDE_STORE_ROWS_H

#include "base/strbuf.h"
#include "store/recording.h"

#define SYMBOL_BYTES                                                                               \
    (2 * sizeof *((struct map *)0)->slots + sizeof(uint32_t)) /* bytes of a run of frames */
#define STRING_INDEX 48 /* bytes that a string takes in a pool in addition to its text */

struct cursor {
    const uint8_t *at, *end;
    uint64_t *room; /* how many bytes the result may still take in memory; NULL: no limit */
    bool bad;
};

/* The units of sites, wherever they are stored: in items of `size` bytes, at `offset` in each. */
struct units {
    const void *items; /* NULL, if there are none */
    size_t offset, size, count;
};
#define UNITS_OF(sites, n)                                                                         \
    ((struct units){(sites), offsetof(struct site, unit), sizeof(struct site), (n)})

static inline const struct unit *unit_of(const struct units *u, size_t site)
{
    return (const struct unit *)(const void *)((const char *)u->items + site * u->size + u->offset);
}

uint64_t cursor_long_varint(struct cursor *c);
/* Most numbers take one byte or two. */
static inline uint64_t cursor_varint(struct cursor *c)
{
    if (c->end - c->at >= 2) {
        uint64_t first = c->at[0], second = c->at[1];
        if (first < 0x80) {
            c->at += 1;
            return first;
        }
        if (second < 0x80) {
            c->at += 2;
            return (first & 0x7f) | second << 7;
        }
    }
    return cursor_long_varint(c);
}
/* Reads a count of things that each take at least `least` of the remaining bytes; a larger count is
 * damage, and gives 0. */
uint64_t cursor_count(struct cursor *c, size_t least);
/* The same for things that each take `size` bytes in memory: a count that exceeds the room is
 * damage too. */
uint64_t cursor_items(struct cursor *c, size_t least, size_t size);
/* false: there is no room in memory for so many things of that size. Both numbers are small enough
 * to be multiplied. */
bool cursor_room(struct cursor *c, uint64_t count, size_t size);
/* Reads a string that is stored in place: varint size, bytes. The caller frees it. */
char *cursor_string(struct cursor *c);
/* Writes such a string; NULL counts as the empty string. */
void string_put(struct strbuf *b, const char *s);

/* `previous` must be UINT32_MAX at the start of each interval. */
void row_put(struct strbuf *out, uint32_t *previous, const struct row *row,
             const struct unit *unit);
/* false: damage. A site number without a unit is damage. */
bool row_take(struct cursor *c, uint32_t *previous, struct row *row, const struct units *units);

/* Both inputs must be in order of site. Rows of the same site are added up. */
void rows_merge(struct strbuf *out, size_t *count, const struct strbuf *a, const struct strbuf *b,
                const struct units *units);

#endif
