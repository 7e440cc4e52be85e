#include "collect/counting/program_stacks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/err.h"
#include "collect/counting/shared_memory.h"
#include "machine/page.h"

#define LATE           UINT8_MAX
#define FIRST_SLOTS    (1u << WIRE_WINDOW_BITS)
#define SLOTS_AHEAD    (1u << 17)
#define SLOTS_KEPT     (1u << 19) /* slots that were read and are still mapped: 4 MiB */
#define CUT_WINDOW     (WIRE_WINDOWS - 1)
#define WORTH_A_THREAD 50000      /* slots: fewer are numbered in a millisecond */
#define BESIDE_MOST    (6u << 20) /* slots: of more, the accounts are freed before nodes are made */

/* How many slots fit if a file of that size can be made: whole windows, at least the first. */
static uint32_t slots_that_fit(size_t offset)
{
    struct rlimit limit;
    unsigned windows = CUT_WINDOW;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0)
        while (windows > 1 && offset + (size_t)wire_window_start(windows) * 8 > limit.rlim_cur)
            windows--;
    return wire_window_start(windows);
}

size_t program_stacks_lay_out(struct wire_header *h, size_t offset, size_t *file_size)
{
    h->slots_end = 1;
    h->cut_end = WIRE_CUT_ROOT + 1;
    h->cut_offset = offset;
    h->slots_offset = offset + (size_t)WIRE_CUT_SLOTS * 8;
    h->slots_limit = slots_that_fit(h->slots_offset);
    *file_size = h->slots_offset + (size_t)h->slots_limit * 8;
    return h->slots_offset + (size_t)FIRST_SLOTS * 8;
}

void program_stacks_open(struct program_stacks *s, void *memory, const struct wire_header *h)
{
    uint64_t *cut = (void *)((char *)memory + h->cut_offset);
    *s = (struct program_stacks){.header = memory, .limit = h->slots_limit, .taken = 1};
    s->windows[0] = (const void *)((const char *)memory + h->slots_offset);
    s->windows[CUT_WINDOW] = (const void *)cut;
    *vec_push(&s->states) = STACK_WHOLE; /* the root */
    cut[0] = WIRE_SLOT_BRANCH;
    cut[WIRE_CUT_ROOT - WIRE_CUT_FIRST] = WIRE_NODE_TRUNCATED;
}

static void numbers_release(struct frame_numbers *n)
{
    free(n->frames);
    free(n->before);
    *n = (struct frame_numbers){0};
}

void program_stacks_release(struct program_stacks *s)
{
    for (unsigned i = 1; i < CUT_WINDOW; i++)
        if (s->windows[i])
            munmap((void *)(uintptr_t)s->windows[i], (size_t)8 << (WIRE_WINDOW_BITS + i));
    vec_release(&s->states);
    vec_release(&s->cut_states);
    vec_release(&s->late);
    vec_release(&s->arrived);
    numbers_release(&s->numbers);
    s->header = NULL;
    memset(s->windows, 0, sizeof s->windows);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool window_map(struct program_stacks *s, unsigned window)
{
    if (!s->windows[window])
        s->windows[window] = (const void *)shared_memory_window(
            (const void *)s->windows[window - 1], (size_t)8 << (WIRE_WINDOW_BITS + window));
    return s->windows[window];
}

/* A slot in a window that is mapped. */
static inline uint64_t slot_get(const struct program_stacks *s, uint32_t number)
{
    unsigned window = wire_window(number);
    uint32_t start = window == CUT_WINDOW ? WIRE_CUT_FIRST : wire_window_start(window);
    return atomic_load_explicit(&s->windows[window][number - start], memory_order_acquire);
}

/* Is there memory behind a slot? Reading a slot that was never written would allocate some, and the
 * program can claim any number of them. */
static bool has_memory(const struct program_stacks *s, uint32_t number)
{
    unsigned char there;
    unsigned window = wire_window(number);
    const char *page = (const char *)&s->windows[window][number - wire_window_start(window)];
    page -= (uintptr_t)page % page_bytes();
    return mincore((void *)(uintptr_t)page, page_bytes(), &there) == 0 && there & 1;
}

/* Slots that were read are hardly ever read again, and the program has them anyway: this keeps the
 * kernel from counting them as our memory. */
static void drop_slots(const struct program_stacks *s, uint32_t first, uint32_t end)
{
    for (uint32_t to; first < end; first = to) {
        unsigned window = wire_window(first);
        uint32_t start = wire_window_start(window), next = wire_window_start(window + 1);
        to = end < next ? end : next;
        uintptr_t page = page_bytes();
        uintptr_t from = (uintptr_t)&s->windows[window][first - start] / page * page;
        uintptr_t until = (uintptr_t)&s->windows[window][to - start] / page * page;
        madvise((void *)from, until - from, MADV_DONTNEED);
    }
}

static inline uint8_t *state_of(struct program_stacks *s, uint32_t number)
{
    return number >= WIRE_CUT_FIRST ? &s->cut_states.items[number - WIRE_CUT_FIRST]
                                    : &s->states.items[number];
}

/* The first slot that was not read yet. */
static inline uint32_t next_of(const struct program_stacks *s, bool cut)
{
    return cut ? WIRE_CUT_FIRST + (uint32_t)s->cut_states.count : (uint32_t)s->states.count;
}

/* Can this be the caller of what is in slot `number`? */
static bool is_caller(uint32_t caller, uint32_t number)
{
    return caller < number && (caller == 0 || (caller ^ number) < WIRE_CUT_FIRST);
}

static bool is_branch(uint64_t word)
{
    return word & WIRE_SLOT_BRANCH && !NODE_IS_PYTHON(word);
}

/* The state of a frame, or of those whose branch this is. */
static uint8_t read_state(struct program_stacks *s, uint32_t number)
{
    uint64_t word = slot_get(s, number);
    if (!word)
        return LATE;
    if (is_branch(word)) {
        uint32_t caller = (uint32_t)word;
        return is_caller(caller, number) ? *state_of(s, caller) : STACK_INCOMPLETE;
    }
    if (word == WIRE_NODE_TRUNCATED)
        return STACK_TRUNCATED;
    if (word == WIRE_NODE_INCOMPLETE || number == WIRE_CUT_FIRST)
        return STACK_INCOMPLETE;
    return *state_of(s, number - 1);
}

/* A page is not present, but a later one is, in which `known` has been written: then the first page
 * was claimed by a thread that has not written it yet, or was swapped out. Its slots are late. */
static bool is_followed(struct program_stacks *s, uint32_t slot, uint32_t known)
{
    if (known <= slot || known >= s->limit || known - slot >= SLOTS_AHEAD)
        return false;
    for (unsigned window = wire_window(slot); window <= wire_window(known); window++)
        if (!window_map(s, window))
            return false;
    return has_memory(s, known);
}

static void read_slots(struct program_stacks *s, uint32_t end, uint32_t known, bool cut)
{
    bool there = true;
    for (uint32_t i = next_of(s, cut); i < end; i++) {
        if (!cut && i % (page_bytes() / 8) == 0) {
            if (!window_map(s, wire_window(i)) ||
                (!(there = has_memory(s, i)) && !is_followed(s, i, known)))
                return;
        }
        uint8_t *state = cut ? vec_push(&s->cut_states) : vec_push(&s->states);
        if ((*state = there ? read_state(s, i) : LATE) == LATE)
            *vec_push(&s->late) = i;
    }
}

/* `known`: a slot that was certainly written, if the program is right. */
static void update(struct program_stacks *s, uint32_t known)
{
    if (!s->header)
        return;
    uint32_t end = atomic_load_explicit(&s->header->slots_end, memory_order_acquire);
    uint32_t cut_end = atomic_load_explicit(&s->header->cut_end, memory_order_acquire);
    size_t late = s->late.count, still = 0;
    const uint32_t cut_limit = WIRE_CUT_FIRST + WIRE_CUT_SLOTS;
    read_slots(s, end < s->limit ? end : s->limit, known, false);
    read_slots(s, cut_end < cut_limit ? cut_end : cut_limit, 0, true);
    /* Including those of this time: what refers to them and was published exists by now. */
    for (size_t k = 0; k < s->late.count; k++) {
        uint32_t i = s->late.items[k];
        if ((*state_of(s, i) = read_state(s, i)) == LATE)
            s->late.items[still++] = i;
        else if (k < late)
            *vec_push(&s->arrived) = i;
    }
    s->late.count = still;
}

void program_stacks_update(struct program_stacks *s)
{
    update(s, 0);
}

bool program_stacks_state(struct program_stacks *s, uint32_t stack, enum stack_state *state)
{
    bool cut = stack >= WIRE_CUT_FIRST;
    if (stack >= next_of(s, cut) || *state_of(s, stack) == LATE)
        update(s, stack);
    if (stack >= next_of(s, cut) || *state_of(s, stack) == LATE)
        return false;
    *state = *state_of(s, stack);
    return true;
}

/* The caller of a frame, given the slot before it; its own number: there is none. */
static inline uint32_t caller_of(uint32_t number, uint64_t before)
{
    if (number == 1 || number == WIRE_CUT_FIRST)
        return number == 1 ? 0 : number;
    uint32_t caller = is_branch(before) ? (uint32_t)before : number - 1;
    return is_caller(caller, number) ? caller : number;
}

/* The node in a slot, given the slot before it; no address: it is not a frame. */
static inline struct node node_of(uint32_t number, uint64_t word, uint64_t before)
{
    if (!word || is_branch(word))
        return (struct node){0};
    uint32_t caller = caller_of(number, before);
    return (struct node){.address = caller == number ? NODE_INCOMPLETE : word,
                         .parent = caller == number ? 0 : caller};
}

struct node program_stacks_node(const struct program_stacks *s, uint32_t number)
{
    if (!s->header || number == 0 || number >= next_of(s, number >= WIRE_CUT_FIRST))
        return (struct node){0};
    return node_of(number, slot_get(s, number),
                   number == WIRE_CUT_FIRST ? 0 : slot_get(s, number - 1));
}

size_t program_stacks_fresh(struct program_stacks *s, struct node *out, size_t most)
{
    size_t count = 0;
    for (; s->taken < s->states.count && count < most; s->taken++)
        if ((out[count] = program_stacks_node(s, s->taken)).address)
            count++;
    if (s->taken - s->dropped >= SLOTS_KEPT) {
        drop_slots(s, s->dropped, s->taken);
        s->dropped = s->taken;
    }
    for (; s->cut_taken < s->cut_states.count && count < most; s->cut_taken++)
        if ((out[count] = program_stacks_node(s, WIRE_CUT_FIRST + s->cut_taken)).address)
            count++;
    for (; s->arrived.count && count < most; s->arrived.count--)
        if ((out[count] = program_stacks_node(s, *vec_last(&s->arrived))).address)
            count++;
    return count;
}

/* --- the profile ------------------------------------------------------------------------------ */

/* 0: the slot is not a frame. */
static uint32_t number_of(const struct frame_numbers *n, uint32_t slot)
{
    uint64_t frames = n->frames[slot / 64], own = UINT64_C(1) << slot % 64;
    return frames & own ? n->before[slot / 64] + (uint32_t)__builtin_popcountll(frames & (own - 1))
                        : 0;
}

/* Makes nodes of `count` slots from `first` on, and unmaps the slots on the way, because both at
 * once would be much. */
static struct frame_numbers number_frames(const struct program_stacks *s, struct profile *p,
                                          uint32_t first, size_t count)
{
    struct frame_numbers n = {.count = count,
                              .frames = xcalloc(count / 64 + 1, sizeof *n.frames),
                              .before = xcalloc(count / 64 + 1, sizeof *n.before)};
    uint64_t word = 0, before;
    uint32_t last = 0; /* the slot of the last frame */
    vec_reserve(&p->nodes, p->nodes.count + count);
    for (uint32_t i = 0; i < count; i++) {
        if (i % 64 == 0)
            n.before[i / 64] = (uint32_t)p->nodes.count;
        if (i % SLOTS_KEPT == 0 && i && !first)
            drop_slots(s, i - SLOTS_KEPT, i);
        before = word;
        word = first + i ? slot_get(s, first + i) : 0;
        struct node node = node_of(first + i, word, before);
        if (!node.address)
            continue;
        if (node.parent) {
            node.parent = node.parent == last ? (uint32_t)p->nodes.count - 1
                                              : number_of(&n, node.parent - first);
            if (!node.parent)
                node.address = NODE_INCOMPLETE; /* its caller was never written */
        }
        last = first + i;
        n.frames[i / 64] |= UINT64_C(1) << i % 64;
        *vec_push(&p->nodes) = node;
    }
    return n;
}

static void *number_all(void *stacks)
{
    struct program_stacks *s = stacks;
    s->numbers = number_frames(s, s->numbered, 0, s->numbers.count);
    return NULL;
}

void program_stacks_number_begin(struct program_stacks *s, struct profile *p)
{
    if (!s->header || s->states.count < WORTH_A_THREAD || s->states.count > BESIDE_MOST ||
        p->nodes.count > 1)
        return;
    s->numbers.count = s->states.count;
    s->numbered = p;
    if (pthread_create(&s->numberer, NULL, number_all, s) != 0) {
        s->numbers.count = 0;
        s->numbered = NULL;
    }
}

void program_stacks_number_end(struct program_stacks *s)
{
    if (s->numbered)
        pthread_join(s->numberer, NULL);
    s->numbered = NULL;
}

void program_stacks_settle(struct program_stacks *s, struct ledger *l, struct profile *p)
{
    if (s->settled || !s->header)
        return;
    s->settled = true;
    if (s->numbers.count != s->states.count) {
        if (s->numbers.count)
            p->nodes.count = 1;
        numbers_release(&s->numbers);
        s->numbers = number_frames(s, p, 0, s->states.count);
    }
    bool any_cut = false;
    for (size_t i = 0; i < l->accounts.count && !any_cut; i++)
        any_cut = l->accounts.items[i].node >= WIRE_CUT_FIRST;
    size_t cut_count = any_cut ? s->cut_states.count : 0;
    struct frame_numbers cut = number_frames(s, p, WIRE_CUT_FIRST, cut_count);
    for (size_t i = 0; i < l->accounts.count; i++) {
        struct account *site = &l->accounts.items[i];
        if (ledger_stack_is_sampled(l, site->domain))
            continue; /* its stacks are the collector's own */
        uint32_t n = site->node;
        site->node = n < s->states.count              ? number_of(&s->numbers, n)
                     : n - WIRE_CUT_FIRST < cut_count ? number_of(&cut, n - WIRE_CUT_FIRST)
                                                      : 0;
    }
    numbers_release(&cut);
    program_stacks_release(s);
}
