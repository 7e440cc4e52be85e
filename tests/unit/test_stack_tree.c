/* The stack tree: what the recorder writes (record/stack_tree.h) and what the collector reads of it. */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/counting/program_stacks.h"
#include "record/stack_tree.h"
#include "recorder_memory.h"
#include "unit.h"

/* --- a tree ----------------------------------------------------------------------------------- */

struct tree {
    struct wire_header *header;
    size_t mapped;
    struct program_stacks read;
};

static struct tree tree_open(void)
{
    struct wire_header layout = {0};
    size_t size;
    struct tree t = {.mapped = program_stacks_lay_out(&layout, WIRE_PAGE, &size)};
    int fd = memfd_create("tree", 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    void *memory = mmap(NULL, t.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    close(fd);
    layout.tick = 1;
    memcpy(memory, &layout, sizeof layout);
    t.header = memory;
    program_stacks_open(&t.read, memory, &layout);
    memory_left = true;
    assert_true(stack_tree_reset(t.header));
    return t;
}

static void tree_close(struct tree *t)
{
    program_stacks_release(&t->read);
    munmap(t->header, t->mapped);
}

/* The frames of a stack as the collector sees them, innermost first; how many. */
static size_t frames_of(struct tree *t, uint32_t number, uint64_t *out, size_t most)
{
    enum stack_state state;
    size_t count = 0;
    assert_true(program_stacks_state(&t->read, number, &state));
    while (number && count < most) {
        struct node n = program_stacks_node(&t->read, number);
        assert_true(n.parent < number);
        out[count++] = n.address;
        number = n.parent;
    }
    return count;
}

#define DEPTH 12

/* Stack `which` of many: its outer frames are those of many others. */
static void make_stack(uint32_t which, uint64_t frames[DEPTH])
{
    for (unsigned i = 0; i < DEPTH; i++)
        frames[i] = 0x1000 + (i < 4 ? 0 : which >> (DEPTH - 1 - i) * 2) % 65536 * 64 + i;
}

static void check_stack(struct tree *t, uint32_t which, uint32_t number)
{
    uint64_t wanted[DEPTH], found[DEPTH + 1];
    make_stack(which, wanted);
    assert_int_equal(frames_of(t, number, found, DEPTH + 1), DEPTH);
    for (unsigned i = 0; i < DEPTH; i++)
        assert_u64_equal(found[i], wanted[DEPTH - 1 - i]);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_stacks_are_numbers(void **state)
{
    (void)state;
    struct tree t = tree_open();
    uint64_t a[] = {1000, 2000, 3000}, b[] = {1000, 2000, 4000, 5000};
    uint32_t ids[4], more[4];
    uint32_t first = stack_tree_extend(0, a, 3, ids);
    assert_int_equal(first, ids[2]);
    assert_int_equal(t.header->slots_end, 1 + 4); /* one branch, three frames */
    assert_int_equal(stack_tree_extend(0, a, 3, more), first);
    assert_memory_equal(ids, more, 3 * sizeof *ids);
    uint32_t second = stack_tree_extend(0, b, 4, more);
    assert_int_equal(more[1], ids[1]);
    assert_int_equal(t.header->slots_end, 1 + 4 + 3);
    assert_int_equal(stack_tree_extend(ids[1], b + 2, 2, more), second);
    assert_int_equal(stack_tree_extend(first, NULL, 0, more), first);
    assert_int_equal(t.header->slots_end, 1 + 4 + 3);
    uint64_t found[5];
    assert_int_equal(frames_of(&t, second, found, 5), 4);
    assert_u64_equal(found[0], 5000);
    assert_u64_equal(found[3], 1000);
    tree_close(&t);
}

/* Several windows and many levels of the index, by one thread: every stack has one number. */
static void test_it_grows(void **state)
{
    (void)state;
    enum { MANY = 300000 };
    struct tree t = tree_open();
    static uint32_t numbers[MANY];
    uint64_t frames[DEPTH];
    uint32_t ids[DEPTH];
    for (uint32_t i = 0; i < MANY; i++) {
        make_stack(i, frames);
        numbers[i] = stack_tree_extend(0, frames, DEPTH, ids);
        assert_int_not_equal(numbers[i], 0);
    }
    uint32_t end = t.header->slots_end;
    assert_true(wire_window(end) > 3);
    assert_true(end < MANY * 3u); /* a third of them share each frame with three others */
    for (uint32_t i = 0; i < MANY; i++) {
        make_stack(i, frames);
        assert_int_equal(stack_tree_extend(0, frames, DEPTH, ids), numbers[i]);
        if (i % 97 == 0)
            check_stack(&t, i, numbers[i]);
    }
    assert_int_equal(t.header->slots_end, end);
    tree_close(&t);
}

enum { THREADS = 4, EACH = 60000, DIFFERENT = 40000 };
static uint32_t of_thread[THREADS][EACH];

static void *intern_many(void *arg)
{
    uint32_t *numbers = arg, ids[DEPTH];
    uint64_t frames[DEPTH];
    for (uint32_t i = 0; i < EACH; i++) {
        make_stack(i % DIFFERENT, frames);
        numbers[i] = stack_tree_extend(0, frames, DEPTH, ids);
    }
    return NULL;
}

/* Threads that meet the same stacks at the same time: each number is the right stack, and few
 * stacks have several. */
static void test_threads(void **state)
{
    (void)state;
    struct tree t = tree_open();
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, intern_many, of_thread[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    program_stacks_update(&t.read);
    assert_int_equal(t.read.late.count, 0);
    for (unsigned k = 0; k < THREADS; k++)
        for (uint32_t i = 0; i < EACH; i += 7)
            check_stack(&t, i % DIFFERENT, of_thread[k][i]);
    assert_true(t.header->slots_end <
                DIFFERENT * 3 * 2); /* all of them twice would be twice that */
    tree_close(&t);
}

/* No memory: what is new is cut, what is known is not; and the innermost frames are there as long
 * as there is any room for them. */
static void test_no_memory(void **state)
{
    (void)state;
    struct tree t = tree_open();
    uint64_t frames[DEPTH], found[DEPTH];
    uint32_t ids[DEPTH], which = 0, known;
    make_stack(0, frames);
    known = stack_tree_extend(0, frames, DEPTH, ids);
    memory_left = false;
    do
        make_stack(++which, frames);
    while (stack_tree_extend(0, frames, DEPTH, ids));
    assert_true(t.header->slots_end <= 1u << WIRE_WINDOW_BITS);
    uint32_t cut = stack_tree_cut(frames, DEPTH);
    assert_true(cut > WIRE_CUT_ROOT);
    assert_int_equal(stack_tree_cut(frames, DEPTH), cut);
    assert_int_equal(frames_of(&t, cut, found, DEPTH), STACK_TREE_CUT + 1);
    for (unsigned i = 0; i < STACK_TREE_CUT; i++)
        assert_u64_equal(found[i], frames[DEPTH - 1 - i]);
    assert_u64_equal(found[STACK_TREE_CUT], WIRE_NODE_TRUNCATED);
    for (uint32_t i = 0; i < 100000; i++) { /* until there is no room for one frame */
        frames[DEPTH - 1] = 0x900000 + i;
        uint32_t number = stack_tree_cut(frames, DEPTH);
        assert_true(number >= WIRE_CUT_ROOT && number < WIRE_CUT_FIRST + WIRE_CUT_SLOTS);
        frames_of(&t, number, found, DEPTH);
        assert_u64_equal(found[0],
                         number == WIRE_CUT_ROOT ? WIRE_NODE_TRUNCATED : frames[DEPTH - 1]);
    }
    assert_int_equal(stack_tree_cut(frames, DEPTH), WIRE_CUT_ROOT);
    make_stack(0, frames);
    assert_int_equal(stack_tree_extend(0, frames, DEPTH, ids), known);
    memory_left = true;
    t.header->tick++; /* memory is asked for once a tick */
    make_stack(which, frames);
    assert_int_not_equal(stack_tree_extend(0, frames, DEPTH, ids), 0);
    tree_close(&t);
}

/* A forked child makes a tree of its own; its parent's is not touched, nor searched. */
static void test_fork(void **state)
{
    (void)state;
    struct tree t = tree_open();
    uint64_t frames[DEPTH];
    uint32_t ids[DEPTH];
    for (uint32_t i = 0; i < 30000; i++) {
        make_stack(i, frames);
        stack_tree_extend(0, frames, DEPTH, ids);
    }
    uint32_t end = t.header->slots_end;
    pid_t child = fork();
    if (child == 0) {
        struct tree own = tree_open();
        for (uint32_t i = 0; i < 30000; i++) {
            make_stack(i, frames);
            stack_tree_extend(0, frames, DEPTH, ids);
        }
        _exit(own.header->slots_end != end || t.header->slots_end != end);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    make_stack(29999, frames);
    stack_tree_extend(0, frames, DEPTH, ids);
    assert_int_equal(t.header->slots_end, end);
    tree_close(&t);
}

/* Shared memory that this process has mapped, as the kernel counts it. */
static size_t shared_bytes(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    size_t kib = 0;
    while (fgets(line, sizeof line, status))
        sscanf(line, "RssShmem: %zu", &kib);
    fclose(status);
    return kib << 10;
}

static void check_node(const struct profile *p, uint32_t which, uint32_t node)
{
    uint64_t wanted[DEPTH];
    make_stack(which, wanted);
    for (unsigned i = DEPTH; i-- > 0; node = p->nodes.items[node].parent) {
        assert_in_range(node, 1, p->nodes.count - 1);
        assert_u64_equal(p->nodes.items[node].address, wanted[i]);
    }
    assert_int_equal(node, 0);
}

/* The reader keeps hardly any of a large tree mapped, and the profile gets all of it. */
static void test_large_tree_is_read_and_let_go(void **state)
{
    (void)state;
    enum { MANY = 1200000, APART = 1000 };
    struct tree t = tree_open();
    uint64_t frames[DEPTH];
    uint32_t ids[DEPTH], frame_count = 0;
    struct ledger ledger;
    struct profile profile = {0};
    struct node fresh[1024];
    ledger_init(&ledger);
    *vec_push(&profile.nodes) = (struct node){0};
    for (uint32_t i = 0; i < MANY; i++) {
        make_stack(i, frames);
        uint32_t number = stack_tree_extend(0, frames, DEPTH, ids);
        if (i % APART == 0)
            ledger_account(&ledger, number, 0, DOMAIN_HEAP, STACK_WHOLE);
    }
    size_t tree_bytes = (size_t)t.header->slots_end * 8, before = shared_bytes();
    assert_true(tree_bytes > (size_t)12 << 20);
    program_stacks_update(&t.read);
    for (size_t n; (n = program_stacks_fresh(&t.read, fresh, 1024));)
        frame_count += (uint32_t)n;
    assert_true(shared_bytes() < before + tree_bytes / 2);
    program_stacks_settle(&t.read, &ledger, &profile);
    assert_int_equal(profile.nodes.count, frame_count); /* + the root - that of cut stacks */
    for (uint32_t i = 0; i < MANY; i += APART)
        check_node(&profile, i, ledger.accounts.items[i / APART].node);
    vec_release(&profile.nodes);
    ledger_release(&ledger);
    munmap(t.header, t.mapped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks_are_numbers),
        cmocka_unit_test(test_it_grows),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_large_tree_is_read_and_let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
