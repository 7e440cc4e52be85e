/*
 * stored_frame: zstd frames whose blocks are not compressed. Every zstd can read them, and so can
 * the page's core, which has no zstd. A frame is a header of 13 bytes that holds the size, then
 * blocks of at most 128 KiB, each after 3 bytes of its own (RFC 8878).
 */
#ifndef TIDE_STORE_STORED_FRAME_H
#define TIDE_STORE_STORED_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define STORED_WRONG ((size_t)-1)

void stored_frame_add(struct strbuf *out, const void *bytes, size_t size);
/* false: it is no such frame. */
bool stored_frame_size(const void *frame, size_t size, uint64_t *content);
/* Returns how many bytes it contained, or STORED_WRONG. Trusts nothing in the frame. */
size_t stored_frame_read(void *to, size_t room, const void *frame, size_t size);

#endif
