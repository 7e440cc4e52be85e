/* Accounts of resident memory: joined from pages and blocks made up for it, and compared with a
 * count byte by byte; and which of many are kept. */
#include "unit.h"

#include <unistd.h>

#include "collect/resident/footprint.h"
#include "collect/resident/heap_pages.h"
#include "machine/page.h"

#define PAGE  page_bytes()
#define HEAP  UINT64_C(0x10000000)
#define ARENA UINT64_C(0x7f0010000000) /* a multiple of 64 MiB */
#define OWN   UINT64_C(0x7f0020000000) /* mapped by the program, and next to it by the allocator */
enum { PAGES = 64, SITES = 3, RANGE = 16 };

/* The live blocks, as a program has them that was recorded with --sample. */
enum { TABLE_BITS = 14 };
static _Alignas(4096) struct wire_block table[1 << TABLE_BITS];
static size_t blocks;
static struct wire_header header;

struct world {
    struct target target;
    struct footprint_reading look;
    uint8_t bytes[PAGES * ARCH_PAGE_LARGEST]; /* of a mapping: 0 free, 1 live, 2 added */
    bool there[PAGES];
    uint64_t want[FOOTPRINT_PARTS];
};

static void add_mapping(struct world *w, uint64_t start, uint64_t end, uint32_t flags,
                        const char *name)
{
    *vec_push(&w->look.mappings.items) = (struct proc_mapping){
        .mapping = {.start = start, .end = end, .flags = flags}, .name = name};
}

static void add_pages(struct world *w, uint64_t start, uint64_t *random)
{
    uint32_t number = (uint32_t)w->look.mappings.items.count - 1;
    for (uint64_t i = 0; i < PAGES; i++) {
        w->there[i] = unit_random(random) % 4;
        if (!w->there[i])
            continue;
        struct page_run run = {start + i * PAGE, start + (i + 1) * PAGE, PAGE_PRESENT};
        struct page_run *last = i && w->there[i - 1] ? vec_last(&w->look.runs.items) : NULL;
        if (last) {
            last->end = run.end;
            continue;
        }
        *vec_push(&w->look.runs.items) = run;
        *vec_push(&w->look.mapping_of) = number;
    }
}

/* Blocks as glibc places them, with gaps of all sizes. */
static void add_blocks(struct world *w, uint64_t start, uint64_t from, uint64_t *random)
{
    uint64_t at = from + unit_random(random) % 256 * 16;
    memset(w->bytes, 0, sizeof w->bytes);
    for (;;) {
        bool large = unit_random(random) % 8 == 0;
        uint64_t size = 24 + unit_random(random) % (large ? 40000 : 500);
        uint64_t usable = (size + 8 + 15) / 16 * 16 - 8;
        uint32_t account = WIRE_ACCOUNT_FIRST + (uint32_t)(at / 16 % SITES);
        if (at + 16 + usable + 16 > PAGES * PAGE)
            return;
        assert_true(blocks < 1 << TABLE_BITS);
        table[blocks++] = (struct wire_block){start + at + 16, account, 0, size, usable};
        memset(w->bytes + at + 8, 2, usable + 8);
        memset(w->bytes + at + 16, 1, size);
        at += usable + 8 + unit_random(random) % 4 / 3 * (unit_random(random) % 2000 * 16);
    }
}

static void count(struct world *w, enum footprint_part otherwise, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        uint64_t kinds[3] = {0};
        for (uint64_t k = 0; k < PAGE; k++)
            kinds[w->bytes[i * PAGE + k]]++;
        if (!w->there[i])
            continue;
        w->want[kinds[0] == PAGE ? otherwise : PART_HELD] += kinds[0];
        w->want[PART_LIVE] += kinds[1];
        w->want[PART_ROUNDING] += kinds[2];
    }
}

static void test_join(void **state)
{
    (void)state;
    static struct world w;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed * 7919;
        struct footprint f = {0};
        memset(&w, 0, sizeof w);
        memset(table, 0, sizeof table);
        blocks = 0;
        w.target.pid = getpid();
        w.target.header = &header;
        w.target.profile.sample_bytes = 1; /* all are recorded */
        header.totals.sample_table = (uintptr_t)table | TABLE_BITS;
        eras_begin(&w.target.eras, 0, 1, true);
        for (uint32_t i = 0; i < WIRE_ACCOUNT_FIRST + SITES; i++)
            *vec_push(&w.target.accounts.ledger_accounts) =
                i < WIRE_ACCOUNT_FIRST ? 0 : i - WIRE_ACCOUNT_FIRST + 1;
        for (int i = 0; i < SITES; i++)
            *vec_push(&w.target.ledger.accounts) =
                (struct account){.domain = DOMAIN_HEAP, .unit = {.usable = 24}};
        uint32_t rw = MAPPING_READ | MAPPING_WRITE;
        add_mapping(&w, HEAP, HEAP + PAGES * PAGE, rw, "[heap]");
        add_pages(&w, HEAP, &random);
        add_blocks(&w, HEAP, 0, &random);
        count(&w, PART_FREE, 0, PAGES);
        add_mapping(&w, ARENA, ARENA + PAGES * PAGE, rw, "");
        add_pages(&w, ARENA, &random);
        add_blocks(&w, ARENA, 0, &random);
        count(&w, PART_FREE, 0, PAGES);
        add_mapping(&w, ARENA + PAGES * PAGE, ARENA + (UINT64_C(64) << 20), 0, "");
        add_mapping(&w, OWN, OWN + PAGES * PAGE, rw | MAPPING_BLOCKS, "");
        *vec_push(&w.target.program_mmaps.items) =
            (struct program_mmap){OWN, OWN + RANGE * PAGE, 0};
        add_pages(&w, OWN, &random);
        add_blocks(&w, OWN, RANGE * PAGE, &random);
        count(&w, PART_MAPPED, 0, RANGE);
        count(&w, PART_FREE, RANGE, PAGES);
        footprint_join(&w.look, &w.target, &f);
        for (int i = 0; i < FOOTPRINT_PARTS; i++)
            assert_u64_equal(f.parts[i], w.want[i]);
        assert_true(f.trim_bytes <= f.parts[PART_FREE]);
        uint64_t pinned = 0;
        for (size_t i = 0; i < f.pin_count; i++)
            pinned += w.target.profile.pins.items[f.first_pin + i].pinned;
        assert_true(pinned <= f.parts[PART_HELD] && pinned + SITES >= f.parts[PART_HELD]);
        vec_release(&w.target.ledger.accounts);
        vec_release(&w.target.program_mmaps.items);
        vec_release(&w.target.profile.pins);
        vec_release(&w.look.mappings.items);
        vec_release(&w.look.runs.items);
        vec_release(&w.look.mapping_of);
        vec_release(&w.target.accounts.ledger_accounts);
        eras_release(&w.target.eras);
    }
}

static void test_thinning(void **state)
{
    (void)state;
    struct profile p = {0};
    for (uint32_t i = 0; i < 7; i++) {
        *vec_push(&p.footprints) =
            (struct footprint){.time_ns = i, .first_pin = p.pins.count, .pin_count = i};
        for (uint32_t k = 0; k < i; k++)
            *vec_push(&p.pins) = (struct pin){.site = i, .pinned = k};
    }
    static const uint64_t kept[][4] = {{0, 2, 4, 6}, {0, 4, 6}, {0, 6}, {0, 6}};
    static const size_t counts[] = {4, 3, 2, 2};
    for (size_t round = 0; round < 4; round++) {
        footprint_thin_out(&p);
        assert_int_equal(p.footprints.count, counts[round]);
        for (size_t i = 0; i < counts[round]; i++) {
            const struct footprint *f = &p.footprints.items[i];
            assert_u64_equal(f->time_ns, kept[round][i]);
            assert_int_equal(f->pin_count, kept[round][i]);
            for (size_t k = 0; k < f->pin_count; k++) {
                assert_int_equal(p.pins.items[f->first_pin + k].site, kept[round][i]);
                assert_u64_equal(p.pins.items[f->first_pin + k].pinned, k);
            }
        }
    }
    vec_release(&p.footprints);
    vec_release(&p.pins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_join),
                                       cmocka_unit_test(test_thinning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
