#include "store/rows.h"

#include <string.h>

#define STRING_OVERHEAD 32 /* of the allocator, and for the pointer to the string */

uint64_t cursor_long_varint(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (c->at == c->end)
            break;
        uint8_t byte = *c->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    c->bad = true;
    c->at = c->end;
    return 0;
}

uint64_t cursor_count(struct cursor *c, size_t least)
{
    uint64_t n = cursor_varint(c);
    if (n > (uint64_t)(c->end - c->at) / least) {
        c->bad = true;
        return 0;
    }
    return n;
}

bool cursor_room(struct cursor *c, uint64_t count, size_t size)
{
    if (!c->room)
        return true;
    if (count * size > *c->room) {
        *c->room = 0;
        c->bad = true;
        c->at = c->end;
        return false;
    }
    *c->room -= count * size;
    return true;
}

uint64_t cursor_items(struct cursor *c, size_t least, size_t size)
{
    uint64_t n = cursor_count(c, least);
    return cursor_room(c, n, size) ? n : 0;
}

char *cursor_string(struct cursor *c)
{
    uint64_t size = cursor_count(c, 1);
    if (!cursor_room(c, 1, size + STRING_OVERHEAD))
        size = 0;
    char *s = xstrndup((const char *)c->at, size);
    c->at += size;
    return s;
}

void string_put(struct strbuf *b, const char *s)
{
    size_t size = s ? strlen(s) : 0;
    strbuf_varint(b, size);
    strbuf_add(b, s ? s : "", size);
}

/* Predicts a column from those before it (in `order`): most sites free everything they allocate, in
 * blocks of one size. */
static uint64_t predicted(const uint64_t *columns, unsigned column, const struct unit *unit,
                          bool all_temporary)
{
    bool all_freed = columns[COL_FREES] == columns[COL_ALLOCS];
    uint64_t over = unit->usable - unit->bytes;
    switch (column) {
    case COL_FREES:
        return columns[COL_ALLOCS];
    case COL_TEMPS:
        return all_temporary ? columns[COL_FREES] : 0;
    case COL_BYTES:
        return columns[COL_ALLOCS] * unit->bytes;
    case COL_FREED:
        return all_freed ? columns[COL_BYTES] : columns[COL_FREES] * unit->bytes;
    case COL_TEMP_BYTES:
        return columns[COL_TEMPS] == columns[COL_FREES] ? columns[COL_FREED]
                                                        : columns[COL_TEMPS] * unit->bytes;
    case COL_USABLE:
        return columns[COL_BYTES] + columns[COL_ALLOCS] * over;
    case COL_USABLE_FREED:
        return all_freed ? columns[COL_USABLE] : columns[COL_FREED] + columns[COL_FREES] * over;
    default:
        return 0;
    }
}

/* Counts first, because the byte columns are predicted from them. */
static const uint8_t order[COLUMNS] = {COL_ALLOCS,     COL_FREES,  COL_TEMPS,
                                       COL_REALLOCS,   COL_BYTES,  COL_FREED,
                                       COL_TEMP_BYTES, COL_USABLE, COL_USABLE_FREED};

void row_put(struct strbuf *out, uint32_t *previous, const struct row *row, const struct unit *unit)
{
    bool all_temporary =
        row->columns[COL_TEMPS] && row->columns[COL_TEMPS] == row->columns[COL_FREES];
    uint64_t mask = (uint64_t)all_temporary << COLUMNS, values[COLUMNS];
    for (unsigned i = 0; i < COLUMNS; i++) {
        values[i] = row->columns[order[i]] - predicted(row->columns, order[i], unit, all_temporary);
        mask |= (uint64_t)(values[i] != 0) << i;
    }
    strbuf_varint(out, row->site - *previous);
    strbuf_varint(out, mask);
    for (unsigned i = 0; i < COLUMNS; i++)
        if (values[i])
            strbuf_varint(out, zigzag((int64_t)values[i]));
    *previous = row->site;
}

/* Reads the columns of a row that has this mask. */
static void columns_take(struct cursor *c, uint64_t mask, const struct unit *unit,
                         uint64_t columns[COLUMNS])
{
    memset(columns, 0, COLUMNS * sizeof *columns);
    for (unsigned i = 0; i < COLUMNS; i++) {
        uint64_t value = mask >> i & 1 ? (uint64_t)unzigzag(cursor_varint(c)) : 0;
        columns[order[i]] = value + predicted(columns, order[i], unit, mask >> COLUMNS & 1);
    }
}

bool row_take(struct cursor *c, uint32_t *previous, struct row *row, const struct units *units)
{
    uint64_t step = cursor_varint(c), mask = cursor_varint(c);
    uint64_t site = (uint64_t)*previous + step;
    if (*previous == UINT32_MAX)
        site = step - 1;
    if (c->bad || step == 0 || step > units->count || site >= units->count ||
        mask >> (COLUMNS + 1)) {
        c->bad = true;
        return false;
    }
    row->site = (uint32_t)site;
    columns_take(c, mask, unit_of(units, site), row->columns);
    *previous = row->site;
    return !c->bad;
}

/* A row that was found and not taken apart. */
struct packed_row {
    uint32_t site;
    const uint8_t *mask, *end; /* its bytes after the number of the site */
};

/* The next row, unless there is none, or damage. */
static bool row_find(struct cursor *c, uint32_t *previous, struct packed_row *row)
{
    if (c->at >= c->end)
        return false;
    row->site = *previous + (uint32_t)cursor_varint(c);
    row->mask = c->at;
    uint64_t mask = cursor_varint(c);
    for (int left = __builtin_popcountll(mask & ((1u << COLUMNS) - 1)); left > 0; left--) {
        while (c->at < c->end && *c->at & 0x80)
            c->at++;
        c->bad |= c->at++ >= c->end;
    }
    row->end = c->at;
    *previous = row->site;
    return !c->bad;
}

/* Takes apart a row that was found. */
static void row_read(const struct packed_row *packed, const struct units *units, struct row *row)
{
    struct cursor c = {.at = packed->mask, .end = packed->end};
    columns_take(&c, cursor_varint(&c), unit_of(units, packed->site), row->columns);
    row->site = packed->site;
}

/* Appends a row as it is, after another one than before. */
static void row_copy(struct strbuf *out, uint32_t *previous, const struct packed_row *row)
{
    size_t size = (size_t)(row->end - row->mask);
    strbuf_reserve(out, VARINT_MOST + size);
    strbuf_varint_there(out, row->site - *previous);
    memcpy(out->data + out->size, row->mask, size);
    out->size += size;
    *previous = row->site;
}

void rows_merge(struct strbuf *out, size_t *count, const struct strbuf *a, const struct strbuf *b,
                const struct units *units)
{
    const struct strbuf *in[2] = {a, b};
    struct cursor c[2];
    struct packed_row row[2];
    bool has[2];
    uint32_t from[2] = {UINT32_MAX, UINT32_MAX}, previous = UINT32_MAX;
    for (int i = 0; i < 2; i++) {
        const uint8_t *bytes = (const uint8_t *)in[i]->data;
        c[i] = (struct cursor){.at = bytes, .end = bytes ? bytes + in[i]->size : bytes};
        has[i] = row_find(&c[i], &from[i], &row[i]);
    }
    strbuf_reserve(out, a->size + b->size);
    for (*count = 0; has[0] || has[1]; ++*count) {
        int first = !has[0] || (has[1] && row[1].site < row[0].site);
        bool same = has[0] && has[1] && row[0].site == row[1].site;
        if (same) {
            struct row sum, other;
            row_read(&row[0], units, &sum);
            row_read(&row[1], units, &other);
            for (unsigned k = 0; k < COLUMNS; k++)
                sum.columns[k] += other.columns[k];
            row_put(out, &previous, &sum, unit_of(units, sum.site));
        } else {
            row_copy(out, &previous, &row[first]);
        }
        for (int i = 0; i < 2; i++)
            if (i == first || same)
                has[i] = row_find(&c[i], &from[i], &row[i]);
    }
    if (out->data)
        out->data[out->size] = '\0';
}
