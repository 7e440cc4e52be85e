/*
 * strbuf: a growing string of bytes; also the little-endian base-128 numbers ("varints") of the
 * file format.
 *
 * Once anything was added, `data` is always followed by a NUL that is not counted in `size`.
 * {0} is empty; strbuf_release frees; strbuf_detach passes the bytes to the caller.
 */
#ifndef TIDE_BASE_STRBUF_H
#define TIDE_BASE_STRBUF_H

#include <stddef.h>
#include <stdint.h>

struct strbuf {
    char *data;
    size_t size, capacity;
};

void strbuf_reserve(struct strbuf *b, size_t extra);
void strbuf_add(struct strbuf *b, const void *bytes, size_t size);
void strbuf_puts(struct strbuf *b, const char *text);
void strbuf_putc(struct strbuf *b, char c);
void strbuf_printf(struct strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_u64(struct strbuf *b, uint64_t value); /* in decimal digits */
void strbuf_varint(struct strbuf *b, uint64_t value);
void strbuf_clear(struct strbuf *b);
void strbuf_release(struct strbuf *b);
char *strbuf_detach(struct strbuf *b);

#define VARINT_MOST 10 /* bytes of a varint */
/* The same without the NUL, where room has been reserved. */
static inline void strbuf_varint_there(struct strbuf *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        b->data[b->size++] = (char)(value | 0x80);
    b->data[b->size++] = (char)value;
}

/* Small differences of either sign become small numbers: 0, -1, 1, -2, ... -> 0, 1, 2, 3, ... */
static inline uint64_t zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
