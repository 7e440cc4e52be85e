/* Files of recordings that are cut, flipped or made to hurt. */
#include "test_store_fixture.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

/* The bytes in a place of their own, so that a read beyond them is seen (by ASan and valgrind). */
static int parse_exactly(const char *bytes, size_t size, struct recording **got, struct err *err)
{
    char *exact = xmalloc(size);
    memcpy(exact, bytes, size);
    err->text[0] = '\0';
    *got = NULL;
    int status = recording_parse(exact, size, "cut.tide", got, err);
    free(exact);
    return status;
}

static void test_cut_at_every_length(void **state)
{
    (void)state;
    struct recording *r = sample(), *got;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(file.data, file.size);
    struct chunk chunk;
    source.offset = FILE_HEADER;
    chunk_next(&source, &chunk, &err);
    size_t first_chunk = (size_t)source.offset, opened = 0;
    chunk_source_release(&source);
    for (size_t size = 0; size < file.size; size++) {
        int status = parse_exactly(file.data, size, &got, &err);
        assert_int_equal(status == 0, size >= first_chunk);
        if (status) {
            assert_null(got);
            assert_true(strlen(err.text) > 10 && !strchr(err.text, '\n'));
            continue;
        }
        opened++;
        assert_false(got->complete);
        assert_non_null(got->incomplete);
        assert_true(strlen(got->incomplete) > 10 && !strchr(got->incomplete, '\n'));
        check_consistent(got);
        /* What came before the cut is there as it was. */
        assert_process_equal(&got->profiles.items[0], &r->profiles.items[0]);
        if (got->profiles.items[0].intervals.count)
            assert_counts_equal(&got->profiles.items[0], &r->profiles.items[0]);
        if (got->profiles.count == 2) {
            assert_code_equal(&got->profiles.items[0], &r->profiles.items[0]);
            assert_process_equal(&got->profiles.items[1], &r->profiles.items[1]);
        }
        recording_free(got);
    }
    assert_true(opened > 500);
    recording_free(r);
    strbuf_release(&file);
}

static void test_every_bit_flipped(void **state)
{
    (void)state;
    struct recording *r = sample(), *got;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    for (size_t bit = 0; bit < file.size * 8; bit++) {
        file.data[bit / 8] ^= (char)(1 << bit % 8);
        int status = recording_parse(file.data, file.size, "x", &got, &err);
        if (bit / 8 >= 12 && bit / 8 < FILE_HEADER) { /* set aside, and not looked at */
            assert_int_equal(status, 0);
            assert_recordings_equal(got, r);
        } else if (status == 0) {
            assert_false(got->complete);
            assert_non_null(strstr(got->incomplete, "; what came before it is shown"));
            check_consistent(got);
            assert_process_equal(&got->profiles.items[0], &r->profiles.items[0]);
        }
        if (status == 0)
            recording_free(got);
        file.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    recording_free(r);
    strbuf_release(&file);
}

/* --- hostile: the checksums are right, the contents are not ----------------------------------- */

static const enum chunk_type types[] = {CHUNK_PROCESS, CHUNK_MODULES,   CHUNK_THREADS, CHUNK_NODES,
                                        CHUNK_SITES,   CHUNK_INTERVALS, CHUNK_STAMPS,  CHUNK_NOTES,
                                        CHUNK_FRAMES,  CHUNK_STRINGS};
enum { TYPES = sizeof types / sizeof *types };

/* The sample, chunk by chunk, with the chunk number `which` replaced by `payload`. */
static int parse_replaced(const struct strbuf *file, size_t which, const struct strbuf *payload,
                          struct recording **got)
{
    struct strbuf other = {0};
    struct chunk chunk;
    struct err err;
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(file->data, file->size);
    size_t before = (size_t)(source.offset = FILE_HEADER);
    strbuf_add(&other, file->data, FILE_HEADER);
    for (size_t n = 0; chunk_next(&source, &chunk, &err) > 0; n++) {
        if (n == which)
            chunk_append(&other, (enum chunk_type)chunk.type, chunk.process, payload);
        else
            strbuf_add(&other, file->data + before, (size_t)source.offset - before);
        before = (size_t)source.offset;
    }
    chunk_source_release(&source);
    int status = parse_exactly(other.data, other.size, got, &err);
    strbuf_release(&other);
    return status;
}

/* Every byte of every chunk's content, one at a time, made something else. */
static void test_contents_changed(void **state)
{
    (void)state;
    struct recording *r = sample(), *got;
    struct strbuf file = {0}, raw = {0};
    struct chunk chunk;
    struct err err;
    size_t opened = 0;
    recording_write(&file, r);
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(file.data, file.size);
    source.offset = FILE_HEADER;
    for (size_t n = 0; chunk_next(&source, &chunk, &err) > 0; n++) {
        assert_int_equal(chunk_unpack(&chunk, &raw, &err), 0);
        for (size_t at = 0; at < raw.size; at++) {
            static const unsigned char others[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
            char was = raw.data[at];
            for (size_t k = 0; k < sizeof others; k++) {
                raw.data[at] = (char)others[k];
                if (parse_replaced(&file, n, &raw, &got) == 0) {
                    check_consistent(got);
                    recording_free(got);
                    opened++;
                }
            }
            raw.data[at] = was;
        }
        for (size_t size = 0; size < raw.size; size++) { /* and cut */
            struct strbuf shorter = {.data = raw.data, .size = size, .capacity = raw.capacity};
            if (parse_replaced(&file, n, &shorter, &got) == 0) {
                check_consistent(got);
                recording_free(got);
                opened++;
            }
        }
    }
    assert_true(opened > 1000);
    chunk_source_release(&source);
    recording_free(r);
    strbuf_release(&file);
    strbuf_release(&raw);
}

static uint64_t peak_kilobytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss;
}

/* Counts and sizes that promise far more than there is. */
static void test_hostile_counts(void **state)
{
    (void)state;
    static const uint64_t counts[] = {
        UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 32, UINT32_MAX, 1 << 30, 1 << 20, 60};
    uint64_t before = peak_kilobytes();
    for (size_t t = 0; t < TYPES; t++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (unsigned where = 0; where < 40; where++) { /* the number is the where-th of it */
                struct strbuf file = {0}, payload = {0}, empty = {0};
                struct recording *got;
                struct err err;
                for (unsigned k = 0; k < 50; k++)
                    strbuf_varint(&payload, k == where ? counts[i] : 1);
                writer_begin(&file);
                chunk_append(&file, CHUNK_PROCESS, 0, &empty);
                chunk_append(&file, types[t], 0, &payload);
                if (parse_exactly(file.data, file.size, &got, &err) == 0) {
                    check_consistent(got);
                    recording_free(got);
                }
                strbuf_clear(&file);
                writer_begin(&file);
                chunk_append(&file, types[t], 0, &payload);
                if (parse_exactly(file.data, file.size, &got, &err) == 0) {
                    check_consistent(got);
                    recording_free(got);
                }
                strbuf_release(&file);
                strbuf_release(&payload);
            }
    if (!UNIT_SANITIZED) /* which keeps what was freed for a while */
        assert_true(peak_kilobytes() - before < 16 * 1024);
}

/* A header that promises more than the payload unpacks to, and processes that are not there. */
static void test_hostile_headers(void **state)
{
    (void)state;
    struct strbuf file = {0}, payload = {0}, empty = {0};
    struct recording *got;
    struct err err;
    strbuf_puts(&payload, "\x01");
    writer_begin(&file);
    chunk_append(&file, CHUNK_PROCESS, 0, &empty);
    assert_true(parse_exactly(file.data, file.size, &got, &err) ==
                0); /* nothing in it, but there */
    assert_string_equal(got->incomplete, "a chunk before byte 49 makes no sense; what came before "
                                         "it is shown");
    recording_free(got);
    strbuf_clear(&file);
    writer_begin(&file);
    chunk_append(&file, CHUNK_PROCESS, 1, &payload); /* the second comes first */
    assert_true(parse_exactly(file.data, file.size, &got, &err) < 0);
    strbuf_clear(&file);
    writer_begin(&file);
    chunk_append(&file, CHUNK_STRINGS, 0, &payload);
    assert_true(parse_exactly(file.data, file.size, &got, &err) < 0);
    assert_string_equal(err.text, "cut.tide holds no whole profile");
    strbuf_release(&file);
    strbuf_release(&payload);
}

static void put_zeros(struct strbuf *b, size_t size)
{
    strbuf_reserve(b, size);
    memset(b->data + b->size, 0, size);
    b->size += size;
}

/* A recording may be as regular as can be: what is written can be read, though it packs into less
 * than a reader would believe. */
static void test_regular_contents(void **state)
{
    (void)state;
    enum { NODES = 1 << 20, SITES = 1 << 17, INTERVALS = 8 };
    struct recording *r = recording_new(), *got;
    struct profile *p = vec_push(&r->profiles);
    *p = (struct profile){.executable = xstrdup("x"), .host = xstrdup("")};
    *vec_push(&p->threads) = (struct thread){.name = xstrdup("x")};
    for (uint32_t i = 0; i < NODES; i++)
        *vec_push(&p->nodes) = (struct node){.address = i ? 4711 : 0, .parent = i ? i - 1 : 0};
    for (uint32_t i = 0; i < SITES; i++)
        *vec_push(&p->sites) = (struct site){.node = i, .unit_bytes = 8, .unit_usable = 8};
    for (uint32_t i = 0; i < INTERVALS; i++) {
        for (uint32_t k = 0; k < SITES; k++)
            *vec_push(&p->rows) = (struct row){.site = k};
        add_interval(p, (struct interval){.end_ns = i + 1}, SITES);
    }
    r->complete = true;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    recording_free(r);
    uint64_t memory = NODES * sizeof(struct node) + SITES * sizeof(struct site) +
                      INTERVALS * SITES * sizeof(struct row);
    assert_true(memory > MEMORY_FREE);
    assert_in_range(file.size, memory / MEMORY_RATIO, memory / MEMORY_RATIO * 2);
    assert_int_equal(recording_parse(file.data, file.size, "x", &got, &err), 0);
    assert_null(got->incomplete);
    assert_int_equal(got->profiles.items[0].rows.count, INTERVALS * SITES);
    recording_free(got);
    strbuf_release(&file);
}

/* As chunk_append, but packed as well as can be. */
static void append_packed(struct strbuf *out, enum chunk_type type, const struct strbuf *payload)
{
    size_t bound = ZSTD_compressBound(payload->size);
    strbuf_reserve(out, CHUNK_HEADER + bound);
    char *header = out->data + out->size;
    size_t stored = ZSTD_compress(header + CHUNK_HEADER, bound, payload->data, payload->size, 6);
    uint32_t words[4] = {type, 0, (uint32_t)stored, (uint32_t)payload->size};
    memcpy(header, words, sizeof words);
    uint64_t checksum = XXH64(header + CHUNK_HEADER, stored, XXH64(header, 16, 0));
    memcpy(header + 16, &checksum, 8);
    out->size += CHUNK_HEADER + stored;
}

/* A hundred megabytes of zeros pack into 4 KiB: opening it in a child that may have 512 MiB. */
static void test_bomb(void **state)
{
    (void)state;
    struct strbuf zeros = {0}, count = {0}, file = {0};
    const size_t size = 100u << 20;
    strbuf_varint(&count, size - 16);
    put_zeros(&zeros, size);
    memcpy(zeros.data, count.data, count.size);
    struct strbuf process = {0};
    put_zeros(&process, 15);
    writer_begin(&file);
    chunk_append(&file, CHUNK_PROCESS, 0, &process);
    append_packed(&file, CHUNK_NOTES, &zeros); /* a hundred million empty sentences */
    assert_true(file.size < 64 * 1024);
    strbuf_release(&zeros);
    strbuf_release(&count);
    strbuf_release(&process);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {512u << 20, 512u << 20};
        setrlimit(RLIMIT_AS, &limit);
        struct recording *got;
        struct err err;
        close(2);
        _exit(recording_parse(file.data, file.size, "x", &got, &err) == 0 && got->incomplete ? 0
                                                                                             : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    strbuf_release(&file);
}

/* --- few bytes that become much memory -------------------------------------------------------- */

static void put_repeated(struct strbuf *b, const void *item, size_t size, size_t count)
{
    strbuf_reserve(b, size * count);
    for (size_t i = 0; i < count; i++, b->size += size)
        memcpy(b->data + b->size, item, size);
}

enum { SPREAD_SITES = 10000 };

/* What a chunk needs to be believed: a thread, a node, sites. */
static void begin_spread(struct strbuf *file)
{
    struct strbuf b = {0};
    writer_begin(file);
    put_zeros(&b, 15);
    chunk_append(file, CHUNK_PROCESS, 0, &b);
    strbuf_clear(&b);
    strbuf_varint(&b, 1);
    put_zeros(&b, 4);
    chunk_append(file, CHUNK_THREADS, 0, &b);
    strbuf_release(&b);
}

static void add_sites(struct strbuf *file)
{
    struct strbuf b = {0};
    put_zeros(&b, 2); /* no address, and no node but the root */
    chunk_append(file, CHUNK_NODES, 0, &b);
    strbuf_clear(&b);
    strbuf_varint(&b, SPREAD_SITES);
    put_zeros(&b, 11 * SPREAD_SITES);
    chunk_append(file, CHUNK_SITES, 0, &b);
    strbuf_release(&b);
}

/* Of each kind, the items that take least in the file, as many as `bytes` hold. */
static void spread(enum chunk_type type, size_t bytes, struct strbuf *b)
{
    static const uint8_t nothing[64];
    switch (type) {
    case CHUNK_PROCESS: /* arguments without a letter */
        put_zeros(b, 2);
        strbuf_varint(b, bytes);
        put_zeros(b, bytes + 32);
        break;
    case CHUNK_NODES:
        strbuf_varint(b, 1);
        strbuf_varint(b, 4711);
        strbuf_varint(b, bytes / 2);
        put_repeated(b, "\1", 1, bytes / 2);
        put_zeros(b, bytes / 2);
        break;
    case CHUNK_INTERVALS: {
        size_t count = bytes / (SPREAD_SITES * 2 + 9);
        strbuf_varint(b, count);
        for (size_t i = 0; i < count; i++) {
            put_zeros(b, 6);
            strbuf_varint(b, SPREAD_SITES);
        }
        put_repeated(b, "\1\0", 2, count * SPREAD_SITES);
        break;
    }
    case CHUNK_FRAMES:
        strbuf_varint(b, bytes / 2);
        put_repeated(b, "\2", 1, bytes / 2);
        put_zeros(b, bytes / 2);
        break;
    case CHUNK_LIVE:
        strbuf_varint(b, 1);
        put_zeros(b, 6);
        strbuf_varint(b, bytes / 9);
        put_repeated(b, nothing, 9, bytes / 9);
        break;
    case CHUNK_HISTOGRAMS:
        strbuf_varint(b, bytes / 4);
        put_repeated(b, "\0\1\1\1", 4, bytes / 4);
        break;
    default: /* a count of things that may be all zero, of 12 bytes at most */
        strbuf_varint(b, bytes / (type == CHUNK_NOTES     ? 1
                                  : type == CHUNK_THREADS ? 4
                                  : type == CHUNK_MODULES ? 6
                                  : type == CHUNK_SITES   ? 11
                                  : type == CHUNK_STAMPS  ? 12
                                                          : 16));
        put_zeros(b, bytes);
    }
}

/* A file of 256 KiB may unpack to 20 MiB. What it becomes then must be in proportion too. */
static void test_hostile_contents(void **state)
{
    (void)state;
    static const enum chunk_type spreading[] = {
        CHUNK_PROCESS, CHUNK_MODULES, CHUNK_NODES,     CHUNK_THREADS, CHUNK_SITES,
        CHUNK_STAMPS,  CHUNK_MARKS,   CHUNK_INTERVALS, CHUNK_LIVE,    CHUNK_HISTOGRAMS,
        CHUNK_NOTES,   CHUNK_FRAMES,  CHUNK_STRINGS};
    const size_t stored = 256u << 10, bytes = 18u << 20;
    const uint64_t may = MEMORY_FREE + stored * MEMORY_RATIO;
    for (size_t i = 0; i < sizeof spreading / sizeof *spreading; i++) {
        enum chunk_type type = spreading[i];
        struct strbuf file = {0}, b = {0};
        begin_spread(&file);
        if (type != CHUNK_NODES && type != CHUNK_SITES)
            add_sites(&file);
        spread(type, bytes, &b);
        chunk_append(&file, type, 0, &b);
        strbuf_release(&b);
        assert_in_range(file.size, stored, stored * 2);
        pid_t child = fork();
        if (child == 0) {
            struct recording *got;
            struct err err;
            uint64_t before = peak_kilobytes();
            bool parsed = recording_parse(file.data, file.size, "x", &got, &err) == 0;
            uint64_t more = (peak_kilobytes() - before) * 1024;
            /* What was unpacked, and what the allocator adds to small things, come on top. */
            _exit(!parsed ? 2 : !UNIT_SANITIZED && more > may * 3 / 2 ? 1 : 0);
        }
        int status;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            fprintf(stderr, "chunk %.4s: %d\n", (const char *)&type, status);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        strbuf_release(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_at_every_length), cmocka_unit_test(test_every_bit_flipped),
        cmocka_unit_test(test_contents_changed),    cmocka_unit_test(test_hostile_counts),
        cmocka_unit_test(test_hostile_contents),    cmocka_unit_test(test_hostile_headers),
        cmocka_unit_test(test_regular_contents),    cmocka_unit_test(test_bomb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
