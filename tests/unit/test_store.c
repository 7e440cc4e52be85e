/* A recording as a file and back. */
#include "test_store_fixture.h"

#include <errno.h>
#include <unistd.h>

static void test_round_trip(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0}, again = {0};
    struct err err;
    recording_write(&file, r);
    assert_int_equal(recording_parse(file.data, file.size, "x", &got, &err), 0);
    assert_null(got->incomplete);
    check_consistent(got);
    assert_recordings_equal(r, got);
    recording_write(&again, got);
    assert_int_equal(again.size, file.size);
    assert_memory_equal(again.data, file.data, file.size);
    recording_free(got);
    recording_free(r);
    strbuf_release(&file);
    strbuf_release(&again);
}

/* Of processes that were not chosen it is known who they are, what was noted of them and which
 * marks they have: enough to choose one, and for the head of a report. */
static void test_one_process_of_several(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    static const uint32_t choices[] = {READER_NONE, 0, 1};
    for (size_t k = 0; k < 3; k++) {
        const struct reader_choice choice = {.process = choices[k], .most = UINT64_MAX};
        assert_int_equal(recording_parse_some(file.data, file.size, "x", &choice, &got, &err), 0);
        assert_null(got->incomplete);
        check_consistent(got);
        assert_int_equal(got->profiles.count, r->profiles.count);
        for (size_t i = 0; i < r->profiles.count; i++) {
            const struct profile *a = &r->profiles.items[i], *b = &got->profiles.items[i];
            assert_process_equal(a, b);
            assert_int_equal(a->notes.count, b->notes.count);
            assert_int_equal(a->marks.count, b->marks.count);
            assert_int_equal(b->sites.count, choices[k] == i ? a->sites.count : 0);
            assert_int_equal(b->frames.count, choices[k] == i ? a->frames.count : 0);
        }
        recording_free(got);
    }
    recording_free(r);
    strbuf_release(&file);
}

/* What is too large is refused before anything of it is unpacked; of a choice, only that counts. */
static void test_limit_of_size(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    uint64_t all = 0, first = 0;
    for (size_t at = FILE_HEADER; at < file.size;) {
        uint32_t header[4]; /* type, process, stored, raw */
        memcpy(header, file.data + at, sizeof header);
        all += header[3];
        first += header[1] == 0 ? header[3] : 0;
        at += CHUNK_HEADER + header[2];
    }
    assert_true(first < all);
    struct reader_choice choice = {.process = READER_ALL, .most = all};
    assert_int_equal(recording_parse_some(file.data, file.size, "x", &choice, &got, &err), 0);
    assert_null(got->incomplete);
    assert_int_equal(got->profiles.count, r->profiles.count);
    recording_free(got);
    choice.most--;
    assert_int_equal(recording_parse_some(file.data, file.size, "x", &choice, &got, &err), -E2BIG);
    choice.process = 0;
    assert_int_equal(recording_parse_some(file.data, file.size, "x", &choice, &got, &err), 0);
    recording_free(got);
    recording_free(r);
    strbuf_release(&file);
}

/* As the collector writes it: rows packed already. */
static void test_packed_rows(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    const struct profile *p = &r->profiles.items[0];
    struct strbuf file = {0}, rows[3] = {0};
    const struct strbuf *list[3] = {&rows[0], &rows[1], &rows[2]};
    size_t counts[3];
    struct err err;
    for (size_t i = 0; i < 3; i++) {
        uint32_t previous = UINT32_MAX;
        const struct interval *v = &p->intervals.items[i];
        counts[i] = v->row_count;
        for (size_t k = 0; k < v->row_count; k++) {
            const struct row *row = &p->rows.items[v->first_row + k];
            row_put(&rows[i], &previous, row, &p->sites.items[row->site].unit);
        }
    }
    const struct packed_figures packed = {.rows = list, .counts = counts};
    writer_begin(&file);
    writer_profile(&file, 0, p, &packed);
    writer_profile(&file, 1, &r->profiles.items[1], NULL);
    writer_end(&file, r);
    assert_int_equal(recording_parse(file.data, file.size, "x", &got, &err), 0);
    assert_recordings_equal(r, got);
    recording_free(got);
    recording_free(r);
    strbuf_release(&file);
    for (size_t i = 0; i < 3; i++)
        strbuf_release(&rows[i]);
}

static void test_read_from_disk(void **state)
{
    (void)state;
    char path[] = "/tmp/tidemark-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    assert_int_equal(write(fd, file.data, file.size), file.size);
    close(fd);
    assert_int_equal(recording_read(path, &got, &err), 0);
    assert_recordings_equal(r, got);
    recording_free(got);
    unlink(path);
    assert_int_equal(recording_read(path, &got, &err), -2);
    assert_non_null(strstr(err.text, path));
    assert_true(recording_read("/tmp", &got, &err) < 0);
    recording_free(r);
    strbuf_release(&file);
}

/* One chunk more, of a type from the future, at the beginning, between others and at the end. */
static void test_unknown_chunks_are_skipped(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0}, payload = {0}, unknown = {0};
    struct err err;
    recording_write(&file, r);
    strbuf_puts(&payload, "from the future");
    chunk_append(&unknown, (enum chunk_type)CHUNK_TYPE('N', 'E', 'W', '!'), 12345, &payload);
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(file.data, file.size);
    size_t offset, places = 0;
    source.offset = FILE_HEADER;
    struct chunk chunk;
    do {
        offset = (size_t)source.offset;
        struct strbuf longer = {0};
        strbuf_add(&longer, file.data, offset);
        strbuf_add(&longer, unknown.data, unknown.size);
        strbuf_add(&longer, file.data + offset, file.size - offset);
        assert_int_equal(recording_parse(longer.data, longer.size, "x", &got, &err), 0);
        assert_null(got->incomplete);
        assert_recordings_equal(r, got);
        recording_free(got);
        strbuf_release(&longer);
        places++;
    } while (chunk_next(&source, &chunk, &err) > 0);
    chunk_source_release(&source);
    assert_int_equal(offset, file.size);
    assert_int_equal(
        places,
        12 + 8 + 2 +
            1); /* the second has no accounts, histograms, chains or notes; strings, the end */
    recording_free(r);
    strbuf_release(&file);
    strbuf_release(&payload);
    strbuf_release(&unknown);
}

static void test_not_ours(void **state)
{
    (void)state;
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0};
    struct err err;
    recording_write(&file, r);
    assert_true(recording_parse("", 0, "nothing", &got, &err) < 0);
    assert_string_equal(err.text, "nothing is empty, not a tidemark recording");
    assert_true(recording_parse("#!/bin/sh\necho hello world\n", 27, "a.sh", &got, &err) < 0);
    assert_string_equal(err.text, "a.sh is not a tidemark recording");
    file.data[8] = 2;
    assert_true(recording_parse(file.data, file.size, "new.tide", &got, &err) < 0);
    assert_string_equal(err.text, "new.tide has format version 2; this tidemark reads version 1");
    file.data[8] = 1;
    assert_true(recording_parse(file.data, FILE_HEADER, "head.tide", &got, &err) < 0);
    assert_string_equal(err.text, "head.tide holds no whole profile");
    assert_null(got);
    recording_free(r);
    strbuf_release(&file);
}

/* What reports leave out by default; kinds of later versions are skipped. */
static void test_defaults(void **state)
{
    (void)state;
    static const char *const texts[] = {"^main$", "", "leak:x\nleak:y\n"};
    struct recording *r = sample(), *got = NULL;
    struct strbuf file = {0}, b = {0};
    struct err err;
    for (int i = 0; i < 3; i++)
        *vec_push(&r->defaults) = (struct recorded_default){
            (enum default_kind)i, xstrdup(i == 2 ? "x.supp" : ""), xstrdup(texts[i])};
    *vec_push(&r->defaults) =
        (struct recorded_default){(enum default_kind)99, xstrdup("later"), xstrdup("z")};
    recording_write(&file, r);
    assert_int_equal(recording_parse(file.data, file.size, "x", &got, &err), 0);
    assert_null(got->incomplete);
    assert_int_equal(got->defaults.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(got->defaults.items[i].kind, i);
        assert_string_equal(got->defaults.items[i].text, texts[i]);
        assert_string_equal(got->defaults.items[i].name, i == 2 ? "x.supp" : "");
    }
    recording_free(got);
    recording_free(r);
    strbuf_varint(&b, 101); /* more than anyone gives */
    for (int i = 0; i < 303; i++)
        strbuf_varint(&b, 0);
    r = sample();
    strbuf_clear(&file);
    recording_write(&file, r);
    recording_free(r);
    chunk_append(&file, CHUNK_DEFAULTS, 0, &b);
    assert_int_equal(recording_parse(file.data, file.size, "x", &got, &err), 0);
    assert_non_null(got->incomplete);
    assert_int_equal(got->defaults.count, 0);
    recording_free(got);
    strbuf_release(&b);
    strbuf_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_one_process_of_several),
        cmocka_unit_test(test_limit_of_size),  cmocka_unit_test(test_packed_rows),
        cmocka_unit_test(test_read_from_disk), cmocka_unit_test(test_unknown_chunks_are_skipped),
        cmocka_unit_test(test_not_ours),       cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
