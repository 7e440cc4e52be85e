/* Which blocks are lost, on memory that is made up. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "collect/leakscan/reachability.h"
#include "machine/code.h"

#define BASE  UINT64_C(0x7f0000000000)
#define WORDS 65536
#define AT(n) (BASE + (n)*8ull) /* address of word n */
#define TYPE  UINT64_C(0x555500001230)

static uint64_t image[WORDS];

static unsigned reads;

static void read_image(void *context, const struct address_range *ranges, size_t count, char *out)
{
    (void)context;
    reads++;
    for (size_t i = 0; i < count; i++)
        for (uint64_t a = ranges[i].start; a < ranges[i].end; a++, out++)
            *out = a >= BASE && a < AT(WORDS) ? ((const char *)image)[a - BASE] : 0;
}

static struct reachability made;

static void begin(void)
{
    reachability_release(&made);
    memset(image, 0, sizeof image);
}

/* Roots are the first 16 words. */
static void run(void)
{
    reachability_ready(&made, read_image, NULL);
    reachability_note_begin(&made);
    reachability_from(&made, AT(0), AT(16), false);
    reachability_note(&made);
    reachability_run(&made);
}

/* Only the words from 20000 to 30000 are there. */
static struct address_range next_there(void *context, struct address_range range)
{
    (void)context;
    uint64_t start = range.start > AT(20000) ? range.start : AT(20000);
    uint64_t end = range.end < AT(30000) ? range.end : AT(30000);
    return start < end ? (struct address_range){start, end}
                       : (struct address_range){range.end, range.end};
}

static enum reach state(size_t word)
{
    uint32_t i = 0;
    while (i < made.blocks.count && made.blocks.items[i].address != AT(word))
        i++;
    assert_true(i < made.blocks.count);
    return (enum reach)made.blocks.items[i].state;
}

/* Of a lost or indirect block. */
static uint64_t root(size_t word)
{
    uint32_t i = 0;
    while (i < made.blocks.count && made.blocks.items[i].address != AT(word))
        i++;
    assert_true(i < made.blocks.count && made.blocks.items[i].root < made.roots);
    return made.blocks.items[i].root;
}

static void add(size_t word, size_t words)
{
    reachability_add(&made, AT(word), words * 8);
}

static void test_pointers(void **unused)
{
    (void)unused;
    begin();
    for (size_t i = 0; i < 9; i++)
        add(100 + 10 * i, 4);
    image[0] = AT(100);      /* its beginning */
    image[1] = AT(112);      /* inside */
    image[2] = AT(124);      /* one past its end */
    image[3] = AT(134) - 1;  /* its last byte */
    image[4] = AT(140) - 1;  /* one before it */
    image[5] = AT(150) << 8; /* not at an aligned place: bytes 1 to 7 */
    image[6] = AT(150) >> 56;
    image[7] = AT(160) | 1ull << 47;      /* no block is there */
    image[8] = AT(170) | 0xfffdull << 48; /* with a counter or a tag in the upper bits */
    run();
    assert_int_equal(state(100), REACH_REACHABLE);
    assert_int_equal(state(110), REACH_REACHABLE);
    assert_int_equal(state(120), REACH_LOST);
    assert_int_equal(state(130), REACH_REACHABLE);
    assert_int_equal(state(140), REACH_LOST);
    assert_int_equal(state(150), REACH_LOST);
    assert_int_equal(state(160), REACH_LOST);
    assert_int_equal(state(170), REACH_REACHABLE);
    assert_int_equal(state(180), REACH_LOST);
}

/* The array begins one past the block, which has its length and nothing else. */
static void test_empty_arrays(void **unused)
{
    (void)unused;
    begin();
    for (size_t i = 0; i < 6; i++)
        add(100 + 10 * i, 1);
    add(160, 2); /* of elements that are aligned to 16 bytes */
    add(171, 2); /* not aligned to them */
    add(180, 1);
    add(181, 1);        /* right behind it */
    add(190, 1);        /* the last block of all */
    image[0] = AT(101); /* an empty array */
    image[1] = AT(111); /* one of length 7 is longer than that */
    image[110] = 7;
    image[2] = AT(121) + 1; /* two past it */
    image[3] = AT(130);     /* another block has the pointer */
    image[130] = AT(141);
    image[150] = AT(151); /* it points to itself */
    image[4] = AT(162);
    image[160] = 99; /* room before the length */
    image[5] = AT(173);
    image[6] = AT(181);
    image[7] = AT(191);
    run();
    assert_int_equal(state(100), REACH_REACHABLE);
    assert_int_equal(state(110), REACH_LOST);
    assert_int_equal(state(120), REACH_LOST);
    assert_int_equal(state(140), REACH_REACHABLE);
    assert_int_equal(state(150), REACH_LOST);
    assert_int_equal(state(160), REACH_REACHABLE);
    assert_int_equal(state(171), REACH_LOST);
    assert_int_equal(state(180), REACH_REACHABLE);
    assert_int_equal(state(181), REACH_REACHABLE);
    assert_int_equal(state(190), REACH_REACHABLE);
}

static void test_chains(void **unused)
{
    (void)unused;
    begin();
    for (size_t i = 0; i < 6; i++)
        add(100 + 10 * i, 4);
    image[3] = AT(140); /* 140 -> 120 -> 100; 150 -> 130 -> 110, and 130 -> 100 */
    image[143] = AT(120);
    image[120] = AT(102);
    image[150] = AT(130);
    image[131] = AT(110);
    image[132] = AT(100);
    run();
    assert_int_equal(state(140), REACH_REACHABLE);
    assert_int_equal(state(120), REACH_REACHABLE);
    assert_int_equal(state(100), REACH_REACHABLE);
    assert_int_equal(state(150), REACH_LOST);
    assert_int_equal(state(130), REACH_INDIRECT);
    assert_int_equal(state(110), REACH_INDIRECT);
}

static void test_circles(void **unused)
{
    (void)unused;
    begin();
    for (size_t i = 0; i < 8; i++)
        add(100 + 10 * i, 4);
    image[100] = AT(110); /* a circle of three: the lowest is lost */
    image[110] = AT(120);
    image[120] = AT(100);
    image[130] = AT(130); /* itself */
    image[140] = AT(150); /* a circle, and something that leads to it, behind it */
    image[150] = AT(140);
    image[160] = AT(150);
    image[170] = AT(160); /* and to that */
    run();
    assert_int_equal(state(100), REACH_LOST);
    assert_int_equal(state(110), REACH_INDIRECT);
    assert_int_equal(state(120), REACH_INDIRECT);
    assert_int_equal(state(130), REACH_LOST);
    assert_int_equal(state(140), REACH_INDIRECT);
    assert_int_equal(state(150), REACH_INDIRECT);
    assert_int_equal(state(160), REACH_INDIRECT);
    assert_int_equal(state(170), REACH_LOST);
    assert_int_equal(made.roots, 3);
    assert_int_equal(root(110), root(100));
    assert_int_equal(root(120), root(100));
    assert_int_equal(root(140), root(170));
    assert_int_equal(root(150), root(170));
    assert_int_equal(root(160), root(170));
    assert_true(root(130) != root(100) && root(130) != root(170) && root(100) != root(170));
}

/* Roots are read around blocks: what is in those counts only if they are reached. */
static void test_blocks_among_roots(void **unused)
{
    (void)unused;
    begin();
    add(4, 4);
    add(100, 2);
    add(110, 2);
    add(120, 2);
    image[3] = AT(100);
    image[5] = AT(110);
    image[8] = AT(120);
    run();
    assert_int_equal(state(100), REACH_REACHABLE);
    assert_int_equal(state(4), REACH_LOST);
    assert_int_equal(state(110), REACH_INDIRECT);
    assert_int_equal(state(120), REACH_REACHABLE);
}

/* Words between blocks of a program's own allocator are roots; they are not read one by
 * one. Some are near, and some behind a large block. */
static void test_words_between_blocks(void **unused)
{
    (void)unused;
    enum { BLOCKS = 1000, TARGETS = 40000 };
    begin();
    for (size_t i = 0; i < BLOCKS; i++) {
        reachability_add(&made, AT(i * 6 + (i >= BLOCKS / 2) * 10000), 20 + i % 8);
        add(TARGETS + i * 4, 2);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t first = i * 6 + (i >= BLOCKS / 2) * 10000;
        image[first + 2] = AT(TARGETS + 0); /* the block's own last bytes, or padding */
        image[first + 5] = i ? AT(TARGETS + i * 4) : 0;
    }
    reachability_ready(&made, read_image, NULL);
    reads = 0;
    reachability_from(&made, AT(0), AT(BLOCKS * 6 + 10000), false);
    assert_in_range(reads, 1, 4);
    reachability_note_begin(&made);
    reachability_note(&made);
    reachability_run(&made);
    assert_int_equal(state(TARGETS), REACH_INDIRECT);
    for (size_t i = 1; i < BLOCKS; i++)
        assert_int_equal(state(TARGETS + i * 4), REACH_REACHABLE);
}

/* An int of CPython: its words, from word `at` on. `digits` is the value of ob_size up to 3.11, or of
 * lv_tag. */
static void put_int(size_t at, uint64_t references, uint64_t digits, uint64_t value)
{
    image[at] = references;
    image[at + 1] = TYPE;
    image[at + 2] = digits;
    image[at + 3] = (value & 0x3fffffff) | value >> 30 << 32;
}

static void test_ints_of_python(void **unused)
{
    (void)unused;
    begin();
    put_int(0, 1, 2, AT(1000));
    put_int(4, 1, 2 << 3, AT(1012));        /* 3.12; inside the block */
    put_int(8, UINT32_MAX, 2, AT(1020));    /* immortal */
    put_int(12, AT(500), 2, AT(1030));      /* freed */
    put_int(16, 1, (uint64_t)-2, AT(1040)); /* negative */
    put_int(20, 1, (2 << 3) + 2, AT(1050)); /* negative in 3.12 */
    put_int(24, 1, 3, AT(1060));            /* larger than any address */
    put_int(28, 1, 2, AT(1070));
    image[29] = TYPE + 8;          /* of another type */
    put_int(2000, 1, 2, AT(1080)); /* in a block that is reachable */
    image[32] = AT(2000);
    for (int known = 0; known < 2; known++) {
        reachability_release(&made);
        for (size_t i = 0; i < 9; i++)
            add(1000 + 10 * i, 4);
        add(2000, 4);
        reachability_ready(&made, read_image, NULL);
        made.python_int_type = known ? TYPE : 0;
        reachability_note_begin(&made);
        reachability_from(&made, AT(0), AT(40), false);
        reachability_note(&made);
        reachability_run(&made);
        for (size_t i = 0; i < 9; i++)
            assert_int_equal(state(1000 + 10 * i),
                             known && (i < 3 || i == 8) ? REACH_REACHABLE : REACH_LOST);
    }
}

/* Ints of one digit, of a program at low addresses: a block that ends after the digit, and one that
 * has something else in the other half of the word, which looks like an address. */
static void test_ints_of_one_digit(void **unused)
{
    (void)unused;
    uint64_t address = 0x1234560;
    begin();
    reachability_add(&made, address, 100);
    reachability_add(&made, address + 200, 100);
    reachability_add(&made, AT(100), 28);
    put_int(100, 1, 1, address);
    image[103] |= UINT64_C(0xdead) << 32;
    image[0] = AT(100);
    put_int(4, 1, 1, address + 200);
    image[7] |= UINT64_C(1) << 32;
    reachability_ready(&made, read_image, NULL);
    made.python_int_type = TYPE;
    reachability_note_begin(&made);
    reachability_from(&made, AT(0), AT(16), false);
    reachability_note(&made);
    reachability_run(&made);
    assert_int_equal(made.blocks.items[0].state, REACH_REACHABLE);
    assert_int_equal(made.blocks.items[1].state, REACH_REACHABLE);
}

/* libc's pointers to free chunks lie in the last word of the block before, if that is full. */
static void test_malloc_state(void **unused)
{
    (void)unused;
    begin();
    reachability_add(&made, AT(100), 24);
    reachability_add(&made, AT(110), 24);
    reachability_add(&made, AT(120), 8);
    reachability_add(&made, AT(130), 20);
    image[0] = AT(102);
    image[1] = AT(110);
    image[2] = AT(120);
    image[3] = AT(132);
    reachability_ready(&made, read_image, NULL);
    reachability_note_begin(&made);
    reachability_from(&made, AT(0), AT(16), true);
    reachability_note(&made);
    reachability_run(&made);
    assert_int_equal(state(100), REACH_LOST);
    assert_int_equal(state(110), REACH_REACHABLE);
    assert_int_equal(state(120), REACH_REACHABLE);
    assert_int_equal(state(130), REACH_LOST);
}

/* Nothing, empty ones, tables added one after the other, the same address twice, far apart. */
static void test_odd_tables(void **unused)
{
    (void)unused;
    begin();
    run();
    begin();
    add(200, 0);
    add(300, 4);
    add(100, 4);
    add(200, 4);
    reachability_add(&made, UINT64_C(0x10000), 4096);
    image[0] = AT(203);
    image[1] = 0x10fff;
    image[2] = 0x11000;
    run();
    assert_int_equal(made.blocks.count, 4);
    assert_int_equal(state(200), REACH_REACHABLE);
    assert_int_equal(state(100), REACH_LOST);
    assert_int_equal(made.blocks.items[0].state, REACH_REACHABLE);
}

enum { MOST = 300 };

static void spread(size_t n, bool edge[MOST][MOST], bool *reached)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; reached[i] && k < n; k++)
                if (edge[i][k] && !reached[k])
                    more = reached[k] = true;
    }
}

/* Against the definition, with blocks of all sizes and random pointers. */
static void test_against_the_definition(void **unused)
{
    (void)unused;
    static size_t word[MOST], size[MOST];
    static bool edge[MOST][MOST], seen[MOST], told[MOST];
    srand(7);
    for (int round = 0; round < 40; round++) {
        size_t n = 0;
        begin();
        memset(edge, 0, sizeof edge);
        memset(seen, 0, sizeof seen);
        memset(told, 0, sizeof told);
        for (size_t at = 20; n < MOST && at < WORDS - 3000; n++) {
            word[n] = at + (size_t)rand() % 4;
            size[n] = (size_t)(rand() % 20 ? rand() % 8 : rand() % 2000);
            at = word[n] + size[n] + 1 + (size_t)(rand() % 50 ? 0 : rand() % 300);
            add(word[n], size[n]);
        }
        for (size_t i = 0; i < n / 2; i++) {
            size_t from = (size_t)rand() % n, to = (size_t)rand() % n;
            if (!size[from] || !size[to])
                continue;
            size_t place = word[from] + (size_t)rand() % size[from];
            if (image[place])
                continue;
            image[place] = AT(word[to] + (size_t)rand() % size[to]);
            edge[from][to] = true;
        }
        size_t first = (size_t)rand() % n;
        image[5] = AT(word[first]);
        seen[first] = true;
        spread(n, edge, seen);
        run();
        /* Every block of the rest is lost, or a lost one leads to it; never to another lost one. */
        for (size_t i = 0; i < n; i++) {
            static bool led[MOST];
            assert_int_equal(state(word[i]) == REACH_REACHABLE, seen[i]);
            if (state(word[i]) != REACH_LOST)
                continue;
            memset(led, 0, sizeof led);
            led[i] = true;
            spread(n, edge, led);
            for (size_t k = 0; k < n; k++) {
                assert_false(k != i && led[k] && state(word[k]) == REACH_LOST);
                told[k] |= led[k];
                if (state(word[k]) == REACH_INDIRECT && root(word[k]) == root(word[i]))
                    assert_true(led[k]);
            }
        }
        for (size_t i = 0; i < n; i++)
            assert_true(seen[i] || told[i]);
    }
}

#define MANY       40000
#define MANY_WORDS 128 /* each: 40 MiB in all, which several threads read */

/* Each second block points to the one after the next, around a circle; the others to nothing. */
static uint64_t word_of_many(uint64_t number)
{
    uint64_t i = number / MANY_WORDS;
    return number % MANY_WORDS != i % MANY_WORDS || i % 2 ? 0
                                                          : BASE + (i + 2) % MANY * MANY_WORDS * 8;
}

static void read_many(void *context, const struct address_range *ranges, size_t count, char *out)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        for (uint64_t a = ranges[i].start; a < ranges[i].end; a += 8, out += 8) {
            uint64_t word = word_of_many((a - BASE) / 8);
            memcpy(out, &word, 8);
        }
}

static void test_many_parts(void **unused)
{
    (void)unused;
    size_t states[REACHES] = {0};
    begin();
    for (uint64_t i = 0; i < MANY; i++)
        reachability_add(&made, BASE + i * MANY_WORDS * 8, MANY_WORDS * 8);
    reachability_ready(&made, read_many, NULL);
    reachability_note_begin(&made);
    reachability_word(&made, BASE + UINT64_C(20000) * MANY_WORDS * 8);
    reachability_note(&made);
    reachability_run(&made);
    for (size_t i = 0; i < made.blocks.count; i++) {
        states[made.blocks.items[i].state]++;
        assert_int_equal(made.blocks.items[i].state, i % 2 ? REACH_LOST : REACH_REACHABLE);
    }
    assert_int_equal(states[REACH_LOST], MANY / 2);
    assert_int_equal(states[REACH_REACHABLE], MANY / 2);
}

static void test_address_set(void **unused)
{
    (void)unused;
    struct address_set s = {0}, out = {0};
    address_set_add(&s, 50, 60);
    address_set_add(&s, 10, 20);
    address_set_add(&s, 15, 30);
    address_set_add(&s, 30, 40);
    address_set_add(&s, 70, 70);
    address_set_settle(&s);
    assert_int_equal(s.items.count, 2);
    assert_int_equal(s.items.items[0].end, 40);
    address_set_inside(&s, 35, 55, &out);
    assert_int_equal(out.items.count, 2);
    assert_int_equal(out.items.items[0].start, 35);
    assert_int_equal(out.items.items[1].end, 55);
    out.items.count = 0;
    address_set_outside(&s, 5, 65, &out);
    assert_int_equal(out.items.count, 3);
    assert_int_equal(out.items.items[0].end, 10);
    assert_int_equal(out.items.items[1].start, 40);
    assert_int_equal(out.items.items[1].end, 50);
    assert_int_equal(out.items.items[2].start, 60);
    address_set_release(&s);
    address_set_release(&out);
}

static int end(void **unused)
{
    (void)unused;
    reachability_release(&made);
    return 0;
}

/* What is not there is not read, in large blocks and between them. */
static void test_memory_that_is_not_there(void **unused)
{
    (void)unused;
    begin();
    add(16, 50000);  /* a large block, there in part */
    add(50100, 100); /* small ones */
    add(50300, 10);
    add(50400, 10);
    image[0] = AT(16);
    image[19999] = AT(50100); /* not there */
    image[20000] = AT(50300);
    image[29999] = AT(50400);
    reachability_ready(&made, read_image, NULL);
    made.next = next_there;
    reachability_word(&made, image[0]);
    reachability_note_begin(&made);
    reachability_from(&made, AT(60000), AT(60100), false);
    reachability_note(&made);
    reachability_run(&made);
    assert_int_equal(state(16), REACH_REACHABLE);
    assert_int_equal(state(50100), REACH_LOST);
    assert_int_equal(state(50300), REACH_REACHABLE);
    assert_int_equal(state(50400), REACH_REACHABLE);
}

/* Code that is longer than a buffer: constants at any address, and a word that only begins like one. */
#define CODE      (BASE + (UINT64_C(1) << 32))
#define CODE_SIZE (REACHABILITY_BUFFER + REACHABILITY_BUFFER / 2)

static void read_code(void *context, const struct address_range *ranges, size_t count, char *out)
{
    static const struct {
        uint64_t at, constant;
    } code[] = {{3, AT(100)},
                {REACHABILITY_BUFFER - 3, AT(111)},
                {2 * 4096 + 1, AT(120) | 0x4889ull << 48},
                {CODE_SIZE - 8, AT(130)}};
    uint64_t start = ranges[0].start;
    assert_int_equal(count, 1);
    if (start < CODE || ranges[0].end > CODE + CODE_SIZE) {
        read_image(context, ranges, count, out);
        return;
    }
    memset(out, 0, ranges[0].end - start);
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        for (size_t k = 0; k < 8; k++) {
            uint64_t at = CODE + code[i].at + k;
            if (at >= start && at < ranges[0].end)
                out[at - start] = (char)(code[i].constant >> 8 * k);
        }
}

static void test_code(void **unused)
{
    (void)unused;
    begin();
    for (size_t i = 0; i < 4; i++)
        add(100 + 10 * i, 4);
    reachability_ready(&made, read_code, NULL);
    reachability_note_begin(&made);
    reachability_from_code(&made, CODE, CODE + CODE_SIZE);
    reachability_note(&made);
    reachability_run(&made);
    enum reach found = ARCH_CODE_HAS_ADDRESSES ? REACH_REACHABLE : REACH_LOST;
    assert_int_equal(state(100), found);
    assert_int_equal(state(110), found);
    assert_int_equal(state(120), REACH_LOST);
    assert_int_equal(state(130), found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_empty_arrays),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_circles),
        cmocka_unit_test(test_blocks_among_roots),
        cmocka_unit_test(test_words_between_blocks),
        cmocka_unit_test(test_ints_of_python),
        cmocka_unit_test(test_ints_of_one_digit),
        cmocka_unit_test(test_malloc_state),
        cmocka_unit_test(test_odd_tables),
        cmocka_unit_test(test_against_the_definition),
        cmocka_unit_test(test_many_parts),
        cmocka_unit_test(test_memory_that_is_not_there),
        cmocka_unit_test(test_code),
        cmocka_unit_test(test_address_set),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
