#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <cmocka.h>

#include "base/err.h"
#include "store/chunk.h"
#include "store/stored_frame.h"

static char *bytes_of(size_t size)
{
    char *bytes = xmalloc(size + 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 7 + (i >> 8));
    return bytes;
}

/* zstd itself must read them, and so must we. */
static void test_zstd_reads_them(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 131071, 131072, 131073, 262144, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i];
        struct strbuf frame = {0};
        char *bytes = bytes_of(size), *back = xmalloc(size + 1);
        stored_frame_add(&frame, bytes, size);
        assert_int_equal(ZSTD_getFrameContentSize(frame.data, frame.size), size);
        assert_int_equal(ZSTD_decompress(back, size, frame.data, frame.size), size);
        assert_memory_equal(back, bytes, size);
        uint64_t content;
        assert_true(stored_frame_size(frame.data, frame.size, &content));
        assert_int_equal(content, size);
        memset(back, 0, size);
        assert_int_equal(stored_frame_read(back, size, frame.data, frame.size), size);
        assert_memory_equal(back, bytes, size);
        /* 13 bytes, and 3 for each block of 128 KiB; an empty frame has one block. */
        size_t blocks = size ? (size + 131071) / 131072 : 1;
        assert_int_equal(frame.size, 13 + 3 * blocks + size);
        strbuf_release(&frame);
        free(bytes);
        free(back);
    }
}

static void test_damage(void **state)
{
    (void)state;
    char back[300];
    struct strbuf frame = {0};
    char *bytes = bytes_of(300);
    stored_frame_add(&frame, bytes, 300);
    for (size_t size = 0; size < frame.size; size++) {
        char *exact = malloc(size ? size : 1);
        memcpy(exact, frame.data, size);
        assert_true(stored_frame_read(back, sizeof back, exact, size) == STORED_WRONG);
        free(exact);
    }
    assert_true(stored_frame_read(back, 299, frame.data, frame.size) == STORED_WRONG);
    frame.data[13] |= 4; /* a compressed block */
    assert_true(stored_frame_read(back, sizeof back, frame.data, frame.size) == STORED_WRONG);
    frame.data[13] &= ~4;
    frame.data[13] &= ~1; /* not the last */
    assert_true(stored_frame_read(back, sizeof back, frame.data, frame.size) == STORED_WRONG);
    strbuf_release(&frame);
    free(bytes);
}

/* A chunk with such a frame is read as any other. */
static void test_chunk(void **state)
{
    (void)state;
    struct strbuf chunks = {0}, payload = {0}, back = {0};
    struct err err;
    struct chunk chunk;
    strbuf_puts(&payload, "what a chunk holds");
    chunk_append_stored(&chunks, CHUNK_NOTES, 3, &payload);
    chunk_append(&chunks, CHUNK_MARKS, 4, &payload);
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(chunks.data, chunks.size);
    for (uint32_t process = 3; process < 5; process++) {
        assert_int_equal(chunk_next(&source, &chunk, &err), 1);
        assert_int_equal(chunk.process, process);
        assert_int_equal(chunk_unpack(&chunk, &back, &err), 0);
        assert_int_equal(back.size, payload.size);
        assert_memory_equal(back.data, payload.data, payload.size);
    }
    assert_int_equal(chunk_next(&source, &chunk, &err), 0);
    chunk_source_release(&source);
    strbuf_release(&chunks);
    strbuf_release(&payload);
    strbuf_release(&back);
}

/* Chunks of a few bytes are written without zstd, in the same bytes if it could not save any. */
static void test_short_chunks(void **state)
{
    (void)state;
    struct strbuf chunks = {0}, payload = {0}, back = {0};
    struct err err;
    char expected[ZSTD_COMPRESSBOUND(100)], *bytes = bytes_of(100);
    for (size_t size = 0; size <= 100; size++) {
        struct chunk chunk;
        strbuf_clear(&chunks);
        strbuf_clear(&payload);
        strbuf_add(&payload, bytes, size);
        chunk_append(&chunks, CHUNK_NODES, 7, &payload);
        struct chunk_source source = CHUNK_SOURCE_OF_BYTES(chunks.data, chunks.size);
        assert_int_equal(chunk_next(&source, &chunk, &err), 1);
        size_t stored = ZSTD_compress(expected, sizeof expected, bytes, size, 6);
        assert_int_equal(chunk.stored, stored);
        assert_memory_equal(chunk.payload, expected, stored);
        assert_int_equal(chunk_unpack(&chunk, &back, &err), 0);
        assert_int_equal(back.size, size);
        assert_memory_equal(back.data ? back.data : "", bytes, size);
        chunk_source_release(&source);
    }
    free(bytes);
    strbuf_release(&chunks);
    strbuf_release(&payload);
    strbuf_release(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zstd_reads_them),
        cmocka_unit_test(test_short_chunks),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
