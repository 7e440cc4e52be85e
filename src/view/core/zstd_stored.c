/*
 * zstd_stored: the part of zstd's interface that the reader needs, for recordings whose chunks are
 * not compressed. A page has its recording inside gzip, which browsers unpack themselves, so the
 * frames in it consist of stored blocks only (src/view/stored_recording.c writes them): there is
 * nothing to decode.
 */
#include <string.h>
#include <zstd.h>

#include "store/stored_frame.h"

#define WRONG ((size_t)-1)

unsigned long long ZSTD_getFrameContentSize(const void *src, size_t size)
{
    uint64_t content;
    return stored_frame_size(src, size, &content) ? content : ZSTD_CONTENTSIZE_ERROR;
}

unsigned ZSTD_isError(size_t code)
{
    return code == WRONG;
}

size_t ZSTD_decompress(void *to, size_t room, const void *src, size_t size)
{
    size_t got = stored_frame_read(to, room, src, size);
    return got == STORED_WRONG ? WRONG : got;
}
