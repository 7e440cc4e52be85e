/* Code, and what a program may scribble over the shared memory: the collector must not care. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "test_read_rings_fixture.h"

/* --- code ------------------------------------------------------------------------------------- */

static void test_stack_states(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t deep = node(t, 0, WIRE_NODE_TRUNCATED), deep_child = node(t, deep, 0x4000);
    uint32_t lost = node(t, 0, WIRE_NODE_INCOMPLETE), lost_child = node(t, lost, 0x4000);
    uint32_t other = node(t, lost_child, 0x5000), beside = node(t, lost_child, 0x6000);
    alloc(&r[0], 1, 0, 3);
    alloc(&r[0], 1, 0, deep_child);
    alloc(&r[0], 1, 0, lost_child);
    alloc(&r[0], 1, 0, lost_child);
    alloc(&r[0], 1, 0, 4000000000u); /* no such stack */
    alloc(&r[0], 1, 0, WIRE_CUT_ROOT);
    alloc(&r[0], 1, 0, 3);
    alloc(&r[0], 1, 0, other);
    alloc(&r[0], 1, 0, beside);
    target_drain(t, 1);
    assert_u64_equal(t->ledger.truncated_stacks, 2);
    assert_u64_equal(t->ledger.incomplete_stacks, 5);
    assert_u64_equal(total(t, 0, 0, COL_ALLOCS), 1);
    target_end(t, 2);
    finish(t);
    for (size_t i = 0; i < t->profile.sites.count; i++)
        assert_true(t->profile.sites.items[i].node < t->profile.nodes.count);
    target_free(t);
}

static const struct node *node_of_site(struct target *t, size_t site)
{
    return &t->profile.nodes.items[t->profile.sites.items[site].node];
}

/* The profile's nodes are frames alone: slots that begin branches, or were never written, go. */
static void test_stack_tree_of_the_profile(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t branch = node(t, 1, 0x4000), end = node(t, branch, 0x5000);
    uint64_t *cut = (uint64_t *)(void *)((char *)t->header + t->header->cut_offset);
    cut[2] = WIRE_SLOT_BRANCH | WIRE_CUT_ROOT;
    cut[3] = 0x9000;
    t->header->cut_end = WIRE_CUT_FIRST + 4;
    alloc(&r[0], 1, 0, 3);
    alloc(&r[0], 1, 0, end);
    alloc(&r[0], 1, 0, WIRE_CUT_FIRST + 3);
    node(t, 0, 0);
    target_end(t, 1);
    finish(t);
    const struct node *nodes = t->profile.nodes.items, *n;
    assert_int_equal(t->profile.nodes.count, 1 + 3 + 2 + 2);
    n = node_of_site(t, 0);
    assert_u64_equal(n->address, 0x3000);
    assert_u64_equal(nodes[n->parent].address, 0x2000);
    assert_u64_equal(nodes[nodes[n->parent].parent].address, 0x1000);
    n = node_of_site(t, 1);
    assert_u64_equal(n->address, 0x5000);
    assert_u64_equal(nodes[n->parent].address, 0x4000);
    assert_u64_equal(nodes[nodes[n->parent].parent].address, 0x1000);
    n = node_of_site(t, 2);
    assert_u64_equal(n->address, 0x9000);
    assert_u64_equal(nodes[n->parent].address, NODE_TRUNCATED);
    assert_int_equal(nodes[n->parent].parent, 0);
    target_free(t);
}

static enum stack_state state_of(struct target *t, uint32_t stack)
{
    enum stack_state state = STACK_WHOLE;
    assert_true(program_stacks_state(&t->program_stacks, stack, &state));
    return state;
}

/* Frames that are their own callers, or were claimed before they were written. */
static void test_bad_and_late_slots(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    enum stack_state any;
    uint32_t own = node(t, 5, 0x5000), later = node(t, 70, 0x6000), late = node(t, 0, 0);
    assert_int_equal(own, 5);
    target_update_code(t);
    assert_u64_equal(program_stacks_node(&t->program_stacks, own).address, NODE_INCOMPLETE);
    assert_u64_equal(program_stacks_node(&t->program_stacks, later).address, NODE_INCOMPLETE);
    assert_int_equal(state_of(t, own), STACK_INCOMPLETE);
    assert_false(program_stacks_state(&t->program_stacks, late, &any));
    uint32_t above = node(t, late, 0x8000);
    target_update_code(t); /* its caller is not known yet, so nothing is known of it */
    assert_false(program_stacks_state(&t->program_stacks, above, &any));
    slots(t)[late] = WIRE_NODE_TRUNCATED;
    assert_int_equal(state_of(t, above), STACK_TRUNCATED);
    assert_int_equal(state_of(t, late), STACK_TRUNCATED);
    assert_int_equal(t->program_stacks.late.count, 0);
    t->header->slots_end = UINT32_MAX; /* more than there can be, and nothing is in them */
    t->header->cut_end = UINT32_MAX;
    target_update_code(t);
    assert_true(t->program_stacks.states.count <= WIRE_PAGE / 8);
    assert_int_equal(t->program_stacks.cut_states.count, WIRE_CUT_SLOTS);
    t->header->slots_end = 1;
    target_update_code(t);
    target_free(t);
}

/* A thread has claimed a whole page and not written it yet; what others wrote behind it is read. */
static void test_page_that_is_late(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    const uint32_t behind = (1u << WIRE_WINDOW_BITS) - (uint32_t)page_bytes() / 8;
    t->header->slots_end = behind + 2;
    slots(t)[behind] = WIRE_SLOT_BRANCH | 1;
    slots(t)[behind + 1] = 0x9000;
    alloc(&r[0], 1, 0, behind + 1);
    target_drain(t, 1);
    assert_u64_equal(t->ledger.incomplete_stacks, 0);
    assert_u64_equal(total(t, behind + 1, 0, COL_ALLOCS), 1);
    assert_int_equal(t->program_stacks.late.count, behind - 4);
    slots(t)[4] = WIRE_SLOT_BRANCH | 2;
    for (uint32_t i = 5; i < behind; i++)
        slots(t)[i] = 0x100000 + i;
    target_update_code(t);
    assert_int_equal(t->program_stacks.late.count, 0);
    target_free(t);
}

/* A tree of several windows. */
static void windows(bool goes_on)
{
    struct ring r[3];
    struct target *t = target_open(r);
    const uint32_t many = 5u << WIRE_WINDOW_BITS;
    char *all = mremap((char *)t->header + t->header->slots_offset, 0, many * 8, MREMAP_MAYMOVE);
    assert_ptr_not_equal(all, MAP_FAILED);
    uint64_t *slot = (uint64_t *)(void *)all;
    const uint32_t last = many - 2;
    for (uint32_t i = 4; i < many; i++)
        slot[i] = (uint64_t)i << 8;
    t->header->slots_end = many - goes_on;
    alloc(&r[0], 1, 0, last);
    target_end(t, 1);
    assert_u64_equal(t->ledger.incomplete_stacks, 0);
    t->header->slots_end = many;
    target_update_code(t);
    finish(t);
    assert_int_equal(t->profile.nodes.count, many);
    for (uint32_t i = 1; i < many; i++)
        assert_int_equal(t->profile.nodes.items[i].parent, i - 1);
    assert_u64_equal(node_of_site(t, 0)->address, (uint64_t)last << 8);
    munmap(all, many * 8);
    target_free(t);
}

/* So many nodes are made while other things are settled, and again if the program goes on. */
static void test_windows(void **state)
{
    (void)state;
    windows(false);
    windows(true);
}

static void test_modules(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    char *at = (char *)t->header + t->header->modules_offset;
    struct wire_module m = {.start = 0x1000,
                            .end = 0x2000,
                            .bias = 0x1000,
                            .epoch = 2,
                            .path_size = 11,
                            .build_id_size = 20,
                            .build_id = {1, 2, 3}};
    memcpy(at, &m, sizeof m);
    memcpy(at + sizeof m, "/lib/libx.so", 12);
    t->header->modules_used = 80;
    target_update_code(t);
    assert_int_equal(t->profile.modules.count, 1);
    assert_string_equal(t->profile.modules.items[0].path, "/lib/libx.s"); /* 11 bytes of it */
    assert_int_equal(t->profile.modules.items[0].epoch, 2);
    assert_int_equal(t->profile.modules.items[0].build_id[2], 3);
    m.path_size = 0; /* the program itself */
    memcpy(at + 80, &m, sizeof m);
    t->header->modules_used = 144;
    target_update_code(t);
    assert_string_equal(t->profile.modules.items[1].path, t->profile.executable);
    static const struct {
        uint16_t path_size, build_id_size;
        uint64_t end;
        uint32_t used;
    } bad[] = {{60000, 0, 0x3000, 208},   {0, 33, 0x3000, 208}, {0, 0, 0xfff, 208},
               {0, 0, 0x3000, 207},       {0, 0, 0x3000, 10},   {0, 0, 0x3000, 0},
               {0, 0, 0x3000, UINT32_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        m.path_size = bad[i].path_size;
        m.build_id_size = bad[i].build_id_size;
        m.end = bad[i].end;
        memcpy(at + 144, &m, sizeof m);
        t->header->modules_used = bad[i].used;
        target_update_code(t);
        assert_int_equal(t->profile.modules.count, 2);
    }
    target_free(t);
}

/* --- damage ----------------------------------------------------------------------------------- */

/* The first ring goes bad after one good event; the others must not care. */
static void check_damage(void (*damage)(struct target *, struct ring *), uint64_t lost)
{
    struct ring r[3];
    struct target *t = target_open(r);
    alloc(&r[0], 1, 0, 1);
    alloc(&r[1], 10, 0, 1);
    damage(t, &r[0]);
    alloc(&r[1], 100, 0, 1);
    target_drain(t, 1);
    assert_true(t->readers.items[0].damaged);
    assert_u64_equal(t->ledger.lost_events, lost);
    assert_true(t->ledger.live.bytes == 111 || t->ledger.live.bytes == 110);
    /* It stays out, whatever is in it; the others go on. */
    r[0].shared->written = r[0].shared->read + 100;
    alloc(&r[1], 1000, 0, 1);
    target_drain(t, 2);
    assert_u64_equal(t->ledger.live.bytes / 10, 111);
    target_end(t, 3);
    finish(t);
    assert_int_equal(t->profile.intervals.count, 1);
    target_free(t);
}

static void zero_word(struct target *t, struct ring *r)
{
    (void)t;
    record(r, 1, 0, 0, 0, 0);
}

static void unknown_kind(struct target *t, struct ring *r)
{
    (void)t;
    record(r, 1, WIRE_WORD(15, 1, 2), 0, 0, 0);
}

static void cut_record(struct target *t, struct ring *r)
{
    (void)t;
    record(r, 3, WIRE_WORD(WIRE_MAP, 0, 0x50000), 1, 1, 0);
    r->shared->written -= 1;
}

static void record_across_chunks(struct target *t, struct ring *r)
{
    (void)t;
    while (r->at % WIRE_CHUNK_WORDS != WIRE_CHUNK_WORDS - 1)
        put(r, WIRE_WORD(WIRE_SEQUENCE, 0, 1));
    for (int i = 0; i < 4; i++)
        put(r, WIRE_WORD(WIRE_ROW, 0, 0x50000));
    r->shared->written = r->at;
}

static void order_out_of_range(struct target *t, struct ring *r)
{
    (void)t;
    while (r->at % WIRE_CHUNK_WORDS)
        put(r, WIRE_WORD(WIRE_SEQUENCE, 0, 1));
    put(r, WIRE_WORD(WIRE_SEQUENCE, 0, 1));
    r->shared->order[1] = WIRE_CHUNKS;
    r->shared->written = r->at;
}

static void position_goes_back(struct target *t, struct ring *r)
{
    target_drain(t, 1);
    r->shared->written = 1;
}

static void position_far_ahead(struct target *t, struct ring *r)
{
    target_drain(t, 1);
    r->shared->written = r->at + WIRE_RING_WORDS + 1;
}

static void position_at_the_end(struct target *t, struct ring *r)
{
    target_drain(t, 1);
    r->shared->written = UINT64_MAX;
}

static void test_damage(void **state)
{
    (void)state;
    check_damage(zero_word, 1);
    check_damage(unknown_kind, 1);
    check_damage(cut_record, 1);
    check_damage(record_across_chunks, 1);
    check_damage(order_out_of_range, 1);
    check_damage(position_goes_back, 1);
    check_damage(position_far_ahead, 1);
    check_damage(position_at_the_end, 1);
}

/* The place after a ring's last chunk is the next ring's first page, which may look like words. */
static void test_place_after_the_last(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    size_t size;
    close(target_more_rings(t, 2, &size));
    struct ring first = ring_of(t, 4), second = ring_of(t, 5);
    second.shared->written = WIRE_WORD(WIRE_SEQUENCE, 0, 1);
    first.shared->order[0] = WIRE_CHUNKS;
    first.shared->written = 1;
    target_drain(t, 1);
    assert_true(t->readers.items[4].damaged && t->readers.items[5].damaged);
    assert_u64_equal(t->ledger.lost_events, 2);
    target_free(t);
}

/* Records before the ring has said whose they are. */
static void test_nobodys_events(void **state)
{
    (void)state;
    struct err err;
    struct target *t = target_new(getpid(), true, WIRE_WAIT, INTERVAL, &err);
    struct ring r = ring_of(t, 0);
    tick_to(&r, 1); /* these are fine */
    sequence(&r, 5);
    target_drain(t, 1);
    assert_clean(t);
    name(&r, 1, "nobody");
    target_drain(t, 1);
    assert_true(t->readers.items[0].damaged);
    target_free(t);
}

/* Numbers no program can mean; the memory they lead to must stay what it is. */
static void test_absurd_numbers(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    for (uint32_t account = 0; account < 20; account++) { /* more freed than there ever were */
        row(&r[0], account, UINT32_MAX, UINT64_MAX, UINT32_MAX);
        row_of_frees(&r[0], UINT32_MAX - account, UINT32_MAX, UINT64_MAX, 0);
        row_of_frees(&r[0], account_of(&r[0], 3, 0), 1, 1, 1);
    }
    const uint64_t growth[6] = {
        WIRE_WORD(WIRE_GROWTH, 0, 0), UINT64_MAX, UINT64_MAX, 0, UINT64_MAX, UINT64_MAX};
    record_words(&r[0], 6, growth);
    map(&r[0], WIRE_LOW48, UINT64_MAX, UINT32_MAX);
    map(&r[0], 0, UINT64_MAX, 1);
    map(&r[0], 4096, UINT64_MAX / 2, 1);
    unmap(&r[0], 1, UINT64_MAX);
    unmap(&r[0], 8192, UINT64_MAX - 8192);
    record(&r[0], 2, WIRE_WORD(WIRE_TICK, 0xfff, WIRE_LOW48), 0, 0, 0);
    record(&r[0], 1, WIRE_WORD(WIRE_SEQUENCE, 0, WIRE_LOW48), 0, 0, 0);
    alloc(&r[0], UINT32_MAX, 0xfff, 2);
    record(&r[0], 1, WIRE_WORD(WIRE_SEQUENCE, 0, 1), 0, 0, 0); /* goes back */
    alloc(&r[0], 1, 0, 2);
    target_drain(t, INTERVAL);
    target_drain(t, 5 * INTERVAL);
    assert_u64_equal(total(t, 2, 0, COL_ALLOCS) +
                         (t->timeline.slices.count ? 2 - total(t, 2, 0, COL_ALLOCS) : 0),
                     2);
    for (size_t i = 1; i < t->program_mmaps.items.count; i++)
        assert_true(t->program_mmaps.items.items[i - 1].end <=
                    t->program_mmaps.items.items[i].start);
    target_end(t, 6 * INTERVAL);
    finish(t);
    assert_false(t->readers.items[0].damaged);
    target_free(t);
}

/* Stacks that do not exist, in every row, must not make each of them slow. */
static void test_missing_stacks_cost_little(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    clock_t took[2]; /* of processor time, for rows with and without a stack */
    const uint32_t first = WIRE_ACCOUNT_USUAL;
    t->header->totals.accounts_end = first + 5000;
    for (unsigned missing = 0; missing < 2; missing++) {
        if (missing)
            t->header->slots_end = UINT32_MAX; /* all of them, and nothing is in any */
        for (uint32_t i = missing * 2500; i < (missing + 1) * 2500; i++) {
            *account_at(t, first + i) = (struct wire_account){.owner = r[0].shared->owner,
                                                              .node = missing ? UINT32_MAX - i : 1};
            row(&r[0], first + i, 1, 1, 0);
        }
        took[missing] = clock();
        target_drain(t, 1); /* minutes in a large program, if every row reads all nodes again */
        took[missing] = clock() - took[missing];
    }
    assert_true(took[1] < 1000 * took[0] + CLOCKS_PER_SEC); /* 50 times, with a system call each */
    assert_u64_equal(total(t, 0, 0, COL_ALLOCS), 2500);
    assert_u64_equal(t->ledger.incomplete_stacks, 2500);
    target_free(t);
}

/* Anything at all in the rings. */
static void test_random_words(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct ring r[3];
        struct target *t = target_open(r);
        uint64_t random = seed;
        for (int pass = 0; pass < 4; pass++) {
            for (unsigned i = 0; i < 3; i++) {
                for (uint64_t n = unit_random(&random) % 500; n > 0; n--) {
                    uint64_t kind = 1 + unit_random(&random) % (seed % 4 ? WIRE_KINDS - 2 : 15);
                    uint64_t low = unit_random(&random) % 8 ? unit_random(&random) % 64 * 16
                                                            : unit_random(&random) & WIRE_LOW48;
                    uint64_t second = unit_random(&random) >> unit_random(&random) % 64;
                    uint64_t words[WIRE_RECORD_MAX] = {
                        WIRE_WORD(kind, unit_random(&random) & 0xfff, low),
                        second,
                        unit_random(&random) >> unit_random(&random) % 64,
                        second,
                        second,
                        low};
                    record_words(&r[i], wire_record_words((unsigned)kind) ?: 1, words);
                }
                if (unit_random(&random) % 16 == 0)
                    r[i].shared->written -= unit_random(&random) % 3;
            }
            target_drain(t, (uint64_t)pass * INTERVAL);
        }
        target_end(t, 9 * INTERVAL);
        finish(t);
        assert_int_equal(t->ledger.accounts.count, 0);
        target_free(t);
    }
}

/* --- accounts --------------------------------------------------------------------------------- */

/* What was read of an account before its row came is not counted twice, and not kept. */
static void test_rows_that_were_read_before(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t number = account_of(&r[0], 3, 0);
    struct wire_account *a = account_at(t, number);
    a->allocs = 2;
    a->size = 10;
    a->next_dirty = WIRE_LAST;
    atomic_store(&r[0].shared->dirty, number);
    drain_counters(t);
    assert_u64_equal(t->ledger.live.bytes, 20);
    assert_int_equal(t->accounts.shown.count, 1);
    drain_counters(t);
    assert_u64_equal(t->ledger.live.bytes, 20);
    row(&r[0], number, 3, 30, 0);
    atomic_store(&r[0].shared->dirty, WIRE_LAST);
    target_drain(t, 2);
    assert_u64_equal(t->ledger.live.bytes, 30);
    assert_u64_equal(t->ledger.live.blocks, 3);
    assert_int_equal(t->accounts.shown.count, 0);
    target_free(t);
}

/* The program has overwritten the list of changed accounts: it leads in a circle. The collector
 * keeps nothing for each step, of which there would be millions. */
static void test_changed_accounts_in_a_circle(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    const uint32_t numbers[] = {account_of(&r[0], 1, 0), account_of(&r[0], 2, 0),
                                account_of(&r[0], 3, 0)};
    for (unsigned i = 0; i < 3; i++) {
        struct wire_account *a = account_at(t, numbers[i]);
        a->allocs = 1;
        a->size = 10;
        a->next_dirty = numbers[i < 2 ? i + 1 : 1];
    }
    atomic_store(&r[0].shared->dirty, numbers[0]);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    drain_counters(t);
    getrusage(RUSAGE_SELF, &after);
    assert_u64_equal(t->ledger.live.bytes, 30);
    assert_true(after.ru_maxrss - before.ru_maxrss < 2 << 10);
    target_free(t);
}

/* An account that there is not makes no table as large as its number. */
static void test_absurd_account(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    row(&r[0], account_of(&r[0], UINT32_C(1) << 24, WIRE_ACCOUNT_OTHERS), 1, 10, 0);
    row(&r[0], UINT32_C(1) << 25, 1, 10, 0);
    target_drain(t, 1);
    assert_u64_equal(t->ledger.live.bytes, 0);
    assert_true(t->accounts.ledger_accounts.count < 1000);
    assert_true(t->accounts.shown_of.count < 1000);
    target_free(t);
}

/* Nobody reads gigabytes because the program says that it has so many accounts. */
static void test_absurd_number_of_accounts(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    alloc(&r[0], 10, 0, 1);
    target_drain(t, 1);
    t->header->totals.accounts_end = UINT32_MAX;
    assert_true(accounts_end(t) > WIRE_ACCOUNT_USUAL);
    assert_true(accounts_end(t) < WIRE_ACCOUNT_USUAL + 1000);
    target_end(t, 2);
    finish(t);
    assert_u64_equal(t->profile.peak_bytes,
                     10); /* nobody has told of one: the last interval has it */
    target_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stack_states),
        cmocka_unit_test(test_bad_and_late_slots),
        cmocka_unit_test(test_stack_tree_of_the_profile),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_page_that_is_late),
        cmocka_unit_test(test_modules),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_place_after_the_last),
        cmocka_unit_test(test_nobodys_events),
        cmocka_unit_test(test_absurd_numbers),
        cmocka_unit_test(test_missing_stacks_cost_little),
        cmocka_unit_test(test_rows_that_were_read_before),
        cmocka_unit_test(test_changed_accounts_in_a_circle),
        cmocka_unit_test(test_absurd_account),
        cmocka_unit_test(test_absurd_number_of_accounts),
        cmocka_unit_test(test_random_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
