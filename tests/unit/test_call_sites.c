/* Call sites that a walk remembers: which answers are kept, and when they are forgotten. */
#include "unit.h"

#include "unwind/frame_pointer.h"
#include "unwind/walk.h"

/* --- a process with one file, and code that was generated at run time --------------------------- */

#define FILE_START UINT64_C(0x400000)
#define FILE_END   UINT64_C(0x480000)
#define FUNCTION   (FILE_START + 0x1000) /* has no unwind information */
#define SITE       (FILE_START + 0x5000) /* a return address after a call of it */
#define GENERATED  UINT64_C(0x900000)    /* a return address in no file */

static bool loaded;
static enum step_call kind; /* of the call that ends at SITE */
static unsigned asked;      /* how many answers were not remembered */

static int find_none(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    (void)self;
    (void)address;
    (void)out;
    return -1;
}

static int no_code(const struct unwind_space *self, uint64_t address, uint64_t *out)
{
    (void)self;
    (void)address;
    (void)out;
    return -1;
}

static bool call_site(const struct unwind_space *self, uint64_t address, struct call_site *out)
{
    (void)self;
    asked++;
    if (!loaded || address < FILE_START || address >= FILE_END)
        return false;
    *out = (struct call_site){.address = address, .kind = CALL_NONE};
    if (address == SITE) {
        out->kind = kind;
        out->distance = -(int32_t)(SITE - FUNCTION);
    }
    return true;
}

static enum step_call call(const struct unwind_space *self, uint64_t address, uint64_t callee)
{
    struct call_site site;
    return call_site(self, address, &site) ? call_site_seen_from(&site, callee) : CALL_NONE;
}

static const struct unwind_space process = {.find = find_none,
                                            .read = unwind_read_own,
                                            .code = no_code,
                                            .call = call,
                                            .call_site = call_site};

/* A frame of FUNCTION, called from `back`, whose own frame is the first. */
struct stack {
    uint64_t locals[4], fp, back, outer[4], end[512];
};

static void stack_make(struct stack *s, uint64_t back)
{
    memset(s, 0, sizeof *s);
    s->back = back;
}

static bool plausible(const struct stack *s, struct call_site *sites)
{
    return frame_pointer_is_plausible(&process, sites, FUNCTION + 0x10, (uintptr_t)s,
                                      (uintptr_t)&s->fp, false);
}

/* --- tests -------------------------------------------------------------------------------------- */

static void test_seen_from(void **state)
{
    (void)state;
    struct call_site site = {SITE, -0x4000, CALL_FRAMED};
    assert_int_equal(call_site_seen_from(&site, FUNCTION), CALL_FRAMED);
    assert_int_equal(call_site_seen_from(&site, FUNCTION + ARCH_FUNCTION_LARGEST - 1), CALL_FRAMED);
    assert_int_equal(call_site_seen_from(&site, FUNCTION + ARCH_FUNCTION_LARGEST), CALL_ANY);
    assert_int_equal(call_site_seen_from(&site, FUNCTION - 1), CALL_ANY);
    site.kind = CALL_BARE;
    assert_int_equal(call_site_seen_from(&site, FUNCTION), CALL_BARE);
    assert_int_equal(call_site_seen_from(&site, FUNCTION - 1), CALL_ANY);
    site.kind = CALL_NONE;
    assert_int_equal(call_site_seen_from(&site, FUNCTION - 1), CALL_NONE);
}

/* Addresses from where no call by name reaches are too far away, and no others. */
static void test_reach(void **state)
{
    (void)state;
    const uint64_t callee = UINT64_C(0x7f0012345678);
    uint64_t furthest = callee - (ARCH_FUNCTION_LARGEST - 1) - (ARCH_CALL_REACH - 1);
    assert_true(call_reaches(callee, callee));
    assert_true(call_reaches(furthest, callee));
    assert_true(call_reaches(callee + ARCH_CALL_REACH + ARCH_CALL_LONGEST, callee));
    assert_false(call_reaches(furthest - 64, callee));
    assert_false(call_reaches(callee + ARCH_CALL_REACH + ARCH_FUNCTION_LARGEST + 64, callee));
    assert_false(call_reaches(UINT64_C(0x550000000000), callee));
    assert_true(call_reaches(0x1000, 0x2000)); /* where a distance passes address 0 */
    assert_false(call_reaches(callee, 0x2000));
}

/* What a file's code answers is kept, what generated code answers is not. */
static void test_kept(void **state)
{
    (void)state;
    struct call_site sites[CALL_SITES] = {{0}};
    static struct stack s;
    loaded = true;
    kind = CALL_FRAMED;
    asked = 0;
    stack_make(&s, SITE);
    for (unsigned i = 0; i < 3; i++)
        assert_true(plausible(&s, sites));
    assert_int_equal(asked, 1);
    for (unsigned i = 0; i < 3; i++)
        assert_true(plausible(&s, NULL));
    assert_int_equal(asked, 4);

    /* A return address between sp and fp, after a call of a function that keeps no frame pointer. */
    memset(sites, 0, sizeof sites);
    kind = CALL_BARE;
    s.back = FILE_START + 0x6000;
    s.locals[2] = SITE;
    assert_false(plausible(&s, sites));
    s.back = SITE;
    assert_false(plausible(&s, sites));
    s.locals[2] = 0;
    assert_true(plausible(&s, sites)); /* and the one at fp + 8 is no such word */

    loaded = false; /* not in a file: asked every time, and never an answer from before */
    memset(sites, 0, sizeof sites);
    stack_make(&s, GENERATED);
    asked = 0;
    for (unsigned i = 0; i < 3; i++)
        assert_false(plausible(&s, sites));
    assert_int_equal(asked, 3);
    for (unsigned i = 0; i < CALL_SITES; i++)
        assert_u64_equal(sites[i].address, 0);
}

/* Two addresses with the same place in the table take turns there. */
static void test_same_place(void **state)
{
    (void)state;
    struct call_site sites[CALL_SITES] = {{0}};
    static struct stack s;
    uint64_t other = FILE_START;
    while (other == SITE || call_site_place(sites, other) != call_site_place(sites, SITE))
        other++;
    assert_true(other < FILE_END);
    loaded = true;
    kind = CALL_FRAMED;
    for (unsigned i = 0; i < 3; i++) {
        stack_make(&s, SITE);
        assert_true(plausible(&s, sites));
        stack_make(&s, other); /* no call ends there */
        assert_false(plausible(&s, sites));
    }
}

static uint32_t walked(struct walk *w, struct rules *rules, const struct stack *s)
{
    w->stack_end = (uintptr_t)(s + 1);
    w->stack_sure = true;
    w->count = w->trusted = 0; /* so that the stack is walked again */
    walk_stack(w, rules, &process, FUNCTION + 0x10, (uintptr_t)s, (uintptr_t)&s->fp);
    return w->count;
}

/* When a file is unloaded, a walk forgets the stack, and the call sites with it. */
static void test_forgotten(void **state)
{
    (void)state;
    static struct stack s;
    struct walk w;
    void *memory = aligned_alloc(64, (WALK_BYTES + 63) & ~(size_t)63);
    struct rules *rules = aligned_alloc(64, sizeof *rules);
    memset(memory, 0, WALK_BYTES);
    memset(rules, 0, sizeof *rules);
    walk_init(&w, memory);
    stack_make(&s, SITE);
    loaded = true;
    kind = CALL_FRAMED;
    asked = 0;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(walked(&w, rules, &s), 2);
    assert_int_equal(asked, 1);

    kind = CALL_NONE; /* another file is at these addresses now */
    walk_forget(&w);
    assert_int_equal(walked(&w, rules, &s), 1);
    assert_int_equal(w.root, WALK_INCOMPLETE);
    assert_int_equal(asked, 2);

    walk_forget(&w);
    loaded = false; /* and now none */
    assert_int_equal(walked(&w, rules, &s), 1);
    assert_int_equal(asked, 3);

    loaded = true; /* what was not in a file is not remembered */
    kind = CALL_FRAMED;
    assert_int_equal(walked(&w, rules, &s), 2);
    free(rules);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seen_from), cmocka_unit_test(test_reach),
        cmocka_unit_test(test_kept),      cmocka_unit_test(test_same_place),
        cmocka_unit_test(test_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
