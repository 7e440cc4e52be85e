/*
 * protobuf_reader: the fields of a message in protobuf's encoding, one after another. It never
 * reads past the end: after an error `bad` stays set.
 */
#ifndef TIDE_IMPORT_PROTOBUF_READER_H
#define TIDE_IMPORT_PROTOBUF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf {
    const uint8_t *at, *end;
    bool bad;
};

struct field {
    uint32_t number;
    uint64_t value;       /* if it is a number */
    const uint8_t *bytes; /* text or a message; NULL: a number */
    size_t size;
};

static inline struct protobuf protobuf_of(const void *bytes, size_t size)
{
    static const uint8_t none[1];
    const uint8_t *at = bytes ? bytes : none;
    return (struct protobuf){at, at + size, false};
}

static inline bool protobuf_varint(struct protobuf *p, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && p->at < p->end; shift += 7) {
        uint8_t byte = *p->at++;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    p->bad = true;
    return false;
}

/* false: the end, or damage. */
static inline bool protobuf_next(struct protobuf *p, struct field *f)
{
    uint64_t key, size;
    *f = (struct field){0};
    if (p->bad || p->at == p->end || !protobuf_varint(p, &key))
        return false;
    f->number = (uint32_t)(key >> 3);
    switch (key & 7) {
    case 0:
        return protobuf_varint(p, &f->value);
    case 1:
    case 5:
        size = (key & 7) == 1 ? 8 : 4;
        break;
    case 2:
        if (!protobuf_varint(p, &size))
            return false;
        f->bytes = p->at;
        f->size = (size_t)size;
        break;
    default:
        p->bad = true;
        return false;
    }
    if (size > (uint64_t)(p->end - p->at)) {
        p->bad = true;
        return false;
    }
    p->at += size;
    return true;
}

#endif
