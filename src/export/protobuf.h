/*
 * protobuf: the few kinds of fields that profiles need, appended to a strbuf.
 */
#ifndef TIDE_EXPORT_PROTOBUF_H
#define TIDE_EXPORT_PROTOBUF_H

#include <string.h>

#include "base/strbuf.h"

/* A number; 0 is not written, because a missing field counts as 0. */
static inline void proto_number(struct strbuf *out, unsigned field, uint64_t value)
{
    if (!value)
        return;
    strbuf_varint(out, (uint64_t)field << 3);
    strbuf_varint(out, value);
}

/* Eight bytes, the lowest first. */
static inline void proto_fixed64(struct strbuf *out, unsigned field, uint64_t value)
{
    if (!value)
        return;
    strbuf_varint(out, (uint64_t)field << 3 | 1);
    for (int i = 0; i < 8; i++)
        strbuf_putc(out, (char)(value >> (8 * i) & 0xff));
}

static inline void proto_bytes(struct strbuf *out, unsigned field, const char *bytes, size_t size)
{
    strbuf_varint(out, (uint64_t)field << 3 | 2);
    strbuf_varint(out, size);
    strbuf_add(out, bytes, size);
}

static inline void proto_text(struct strbuf *out, unsigned field, const char *text)
{
    proto_bytes(out, field, text, strlen(text));
}

/* Appends a message, or packed numbers, and releases it: it is empty afterwards. */
static inline void proto_message(struct strbuf *out, unsigned field, struct strbuf *message)
{
    proto_bytes(out, field, message->data ? message->data : "", message->size);
    strbuf_release(message);
}

#endif
