/* Walks a stack three ways: with what was remembered, afresh, and by the C++ runtime's unwinder. */
#ifndef TEST_WALK_FIXTURE_H
#define TEST_WALK_FIXTURE_H

#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include "base/map.h"
#include "own_module.h"
#include "unit_machine.h"
#include "unwind/walk.h"

#define NOINLINE __attribute__((noinline))
/* Keeps a call from being the last thing in a function, and functions from being merged. */
#define AFTER_CALL __asm__ volatile("" ::: "memory")

/* --- this process ----------------------------------------------------------------------------- */

static int own_find(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    (void)self;
    return own_module(address, out);
}

static const struct unwind_space space = {.find = own_find, .read = unwind_read_own};

/* --- names for stacks: (name of the outer part, address) -> name -------------------------------
 */

struct name {
    uint32_t outer;
    uint64_t address;
};
static VEC(struct name) names;
static struct map name_index;

static uint32_t name_of(uint32_t outer, uint64_t address)
{
    uint32_t *number =
        map_at(&name_index, address ^ (uint64_t)(outer + 1) * UINT64_C(0xff51afd7ed558ccd));
    if (*number == MAP_NONE) {
        *number = (uint32_t)names.count + 1;
        *vec_push(&names) = (struct name){outer, address};
    }
    const struct name *n = &names.items[*number - 1];
    assert_true(n->outer == outer && n->address == address);
    return *number;
}

/* As record/event.c does it. */
static uint32_t give_ids(struct walk *w)
{
    uint32_t i = w->fresh, id;
    if (i > 0)
        id = w->frames[i - 1].id;
    else
        id = w->root == WALK_WHOLE ? 0 : name_of(0, (uint64_t)w->root);
    for (; i < w->count; i++)
        w->frames[i].id = id = name_of(id, w->frames[i].address);
    return id;
}

/* --- the three ways --------------------------------------------------------------------------- */

enum { RUNTIME_FRAMES = 40000 };

struct runtime {
    uint64_t pc[RUNTIME_FRAMES];
    unsigned count;
};

static _Unwind_Reason_Code runtime_frame(struct _Unwind_Context *context, void *argument)
{
    struct runtime *r = argument;
    int interrupted = 0;
    uint64_t pc = _Unwind_GetIPInfo(context, &interrupted);
    if (pc && r->count < RUNTIME_FRAMES)
        r->pc[r->count++] = pc + (interrupted != 0);
    return _URC_NO_REASON;
}

struct checker {
    struct walk kept, fresh;
    uint64_t stack_low, stack_high;
    unsigned captures, by_leaf;
    enum walk_root root;
    unsigned depth;
    struct runtime runtime;
};

static struct rules *rules;
static _Thread_local struct checker *checker;

static uint64_t stack_end(uint64_t sp)
{
    return sp >= checker->stack_low && sp < checker->stack_high ? checker->stack_high : WALK_NO_END;
}

/* The caller of capture(), by its return address, sp and fp. */
__attribute__((used)) void capture_at(uint64_t pc, uint64_t sp, uint64_t fp);

void capture_at(uint64_t pc, uint64_t sp, uint64_t fp)
{
    struct checker *c = checker;
    uint32_t leaf = walk_leaf_id(&c->kept, pc, sp, fp), kept = leaf;
    c->kept.stack_end = c->fresh.stack_end = stack_end(sp);
    if (!leaf || c->captures % 5 == 0 || c->kept.root == WALK_TRUNCATED) {
        walk_stack(&c->kept, rules, &space, pc, sp, fp);
        kept = give_ids(&c->kept);
        walk_keep_leaf(&c->kept);
    }
    walk_forget(&c->fresh);
    walk_stack(&c->fresh, rules, &space, pc, sp, fp);
    uint32_t fresh = give_ids(&c->fresh);
    c->captures++;
    c->by_leaf += leaf != 0;
    c->root = c->fresh.root;
    c->depth = c->fresh.count;
    if (c->fresh.root == WALK_TRUNCATED || c->kept.root == WALK_TRUNCATED) {
        /* Cut elsewhere, but never so that less than this is left. */
        uint32_t n = c->kept.count < c->fresh.count ? c->kept.count : c->fresh.count;
        assert_true(c->kept.root == WALK_WHOLE || c->kept.count >= 1024);
        for (uint32_t i = 1; i <= n; i++)
            assert_u64_equal(c->kept.frames[c->kept.count - i].address,
                             c->fresh.frames[c->fresh.count - i].address);
    } else {
        assert_int_equal(kept, fresh);
        assert_true(!leaf || leaf == fresh);
    }

    c->runtime.count = 0;
    _Unwind_Backtrace(runtime_frame, &c->runtime);
    unsigned first = 0;
    while (first < c->runtime.count && c->runtime.pc[first] != pc)
        first++;
    unsigned theirs = c->runtime.count - first;
    assert_true(theirs > 0);
    if (c->fresh.root == WALK_WHOLE)
        assert_int_equal(c->fresh.count, theirs);
    else
        assert_true(c->fresh.count <= theirs);
    for (unsigned i = 0; i < c->fresh.count; i++)
        assert_u64_equal(c->fresh.frames[c->fresh.count - 1 - i].address, c->runtime.pc[first + i]);
}

/* A jump, not a call: capture_at() sees its caller as capture() found it. */
void capture(void);
__asm__(".text\n"
        ".type capture, %function\n"
        "capture:\n"
        "\t.cfi_startproc\n" MACHINE_CAPTURE "\t.cfi_endproc\n"
        "\t.size capture, .-capture\n");

static void *zeroed(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static void checker_open(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    checker = zeroed(sizeof *checker);
    walk_init(&checker->kept, zeroed(WALK_BYTES));
    walk_init(&checker->fresh, zeroed(WALK_BYTES));
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    checker->stack_low = (uint64_t)(uintptr_t)low;
    checker->stack_high = checker->stack_low + size;
}

static void checker_close(void)
{
    munmap(checker->kept.frames, WALK_BYTES);
    munmap(checker->fresh.frames, WALK_BYTES);
    munmap(checker, sizeof *checker);
    checker = NULL;
}

static int open_all(void **state)
{
    (void)state;
    if (!rules)
        rules = zeroed(sizeof *rules);
    checker_open();
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    checker_close();
    return 0;
}

#endif
