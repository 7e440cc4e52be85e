/* What a library has mapped is not the memory that is known to be something else. */
#include "test_model_fixture.h"

#include "analyse/findings.h"
#include "model/mapped_by.h"

#define MEGABYTE (UINT64_C(1) << 20)

/* libown.so reserves 1 GiB; 60 MiB of anonymous memory are resident, 10 MiB of them live blocks. */
static struct recording *reserved(void)
{
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 100, 1, "./app");
    *vec_push(&p->modules) =
        (struct module){.start = 0x1000, .end = 0x2000, .path = xstrdup("/lib/libown.so")};
    uint32_t thread = fx_thread(p, 100, "main");
    uint32_t site = fx_site(p, fx_node(p, 0, 0x1010), thread, DOMAIN_MAPPED);
    fx_interval(p, SECOND, 10 * MEGABYTE);
    fx_row(p, site, 1024 * MEGABYTE, 1, 0, 0);
    *vec_push(&p->stamps) = (struct stamp){.time_ns = SECOND,
                                           .rss_bytes = 70 * MEGABYTE,
                                           .anon_bytes = 60 * MEGABYTE,
                                           .live_bytes = 10 * MEGABYTE};
    p->duration_ns = 2 * SECOND;
    return r;
}

static uint64_t told(const struct recording *r)
{
    struct mapped_by m = mapped_by(&r->profiles.items[0]);
    if (!m.module)
        return 0;
    assert_string_equal(m.module, "libown.so");
    return m.bytes / MEGABYTE;
}

static void test_without_a_footprint(void **state)
{
    (void)state;
    struct recording *r = reserved();
    assert_int_equal(told(r), 50);
    recording_free(r);
}

static void test_known_parts_are_no_mappings(void **state)
{
    (void)state;
    struct recording *r = reserved();
    struct profile *p = &r->profiles.items[0];
    struct footprint *f = vec_push(&p->footprints);
    *f = (struct footprint){.time_ns = 5 * SECOND}; /* another one is nearer */
    f->parts[PART_RECORDER] = 60 * MEGABYTE;
    f = vec_push(&p->footprints);
    *f = (struct footprint){.time_ns = SECOND + 1};
    f->parts[PART_RECORDER] = 8 * MEGABYTE;
    f->parts[PART_DATA] = 4 * MEGABYTE;
    f->parts[PART_STACKS] = 1 * MEGABYTE;
    f->parts[PART_LIVE] = 4 * MEGABYTE; /* the rest of the heap was freed by then */
    f->parts[PART_FREE] = 6 * MEGABYTE;
    assert_int_equal(told(r), 37);
    f->parts[PART_FREE] = 15 * MEGABYTE; /* the heap was 19 MiB large */
    assert_int_equal(told(r), 28);
    f->parts[PART_FREE] = 40 * MEGABYTE; /* what remains is not worth a line */
    assert_int_equal(told(r), 0);
    recording_free(r);
}

/* 8 MiB of anonymous memory are written pages of a mapped file. The footprint knows it, and findings
 * have the same figure: the only mapping of libown.so is not of that file. */
static void test_written_pages_of_a_file(void **state)
{
    (void)state;
    struct recording *r = reserved();
    struct profile *p = &r->profiles.items[0];
    struct footprint *f = vec_push(&p->footprints);
    *f = (struct footprint){.time_ns = SECOND + 1,
                            .exact = true,
                            .rss_bytes = 70 * MEGABYTE,
                            .live_bytes = 10 * MEGABYTE};
    f->parts[PART_LIVE] = 10 * MEGABYTE;
    f->parts[PART_MAPPED] = 42 * MEGABYTE;
    f->parts[PART_FILES] = 18 * MEGABYTE;
    fx_symbols(r, p, 0x1010, 1, (struct sym[]){{"reserve", "/lib/libown.so"}});
    assert_int_equal(told(r), 42);
    struct query q = {.top = QUERY_ALL};
    struct findings found;
    assert_int_equal(findings_init(&found, r, &q, NULL), 0);
    assert_int_equal(found.list.count, 1);
    assert_int_equal(found.list.items[0].kind, FINDING_MAPPED);
    assert_int_equal(found.list.items[0].bytes, 42 * MEGABYTE);
    findings_release(&found);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_footprint),
        cmocka_unit_test(test_known_parts_are_no_mappings),
        cmocka_unit_test(test_written_pages_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
