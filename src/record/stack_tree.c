#include "record/stack_tree.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/recorder.h"
#include "record/refused_memory.h"
#include "record/shared_window.h"

#define INDEX_FIRST_BITS 12
#define INDEX_LEVELS     20
#define INDEX_TRIES      512
#define INDEX_MOVED      16         /* entries of the smaller table that each new one moves */
#define INDEX_HUGE       (2u << 20) /* bytes: larger tables are accessed at random */
#define ABANDONED        1024       /* ticks */
#define PREPARED_SLOTS   (1u << 25) /* mapped before a filter is installed: 256 MiB of addresses, */
#define PREPARED_LEVELS  10         /* and 32 MiB */

static struct {
    struct wire_header *header;
    uint32_t limit; /* header->slots_limit */
    /* Address of slot 0 as seen from the window; 0: not mapped. */
    _Atomic uintptr_t windows[WIRE_WINDOWS];
    _Atomic(uint64_t *) levels[INDEX_LEVELS]; /* tables of entries; see entry_of() */
    _Atomic unsigned level;                   /* the one in use */
    _Atomic uint32_t entries;                 /* in the index */
    _Atomic uint32_t moved;   /* entries of the level before that were moved so far */
    _Atomic uint32_t growing; /* the tick at which a thread began to make the next level, or 0 */
    struct refusal refusal;
} tree;

static inline uint32_t level_slots(unsigned level)
{
    return 1u << (INDEX_FIRST_BITS + level);
}

/* The collector's clock; never 0. */
static uint32_t tick(void)
{
    uint32_t now = tree.header ? atomic_load_explicit(&tree.header->tick, memory_order_relaxed) : 1;
    return now ? now : 1;
}

/* May we map so much? */
static bool may_take(size_t size)
{
    uint32_t now = tick();
    return !refusal_holds(&tree.refusal, now) &&
           refusal_note(&tree.refusal, now, sys_leaves_room(size));
}

/* A slot in a window that is mapped. */
static inline _Atomic uint64_t *slot_at(uint32_t number)
{
    uintptr_t window =
        atomic_load_explicit(&tree.windows[wire_window(number)], memory_order_acquire);
    return (_Atomic uint64_t *)(window + (uintptr_t)number * 8);
}

static inline uint64_t slot_get(uint32_t number)
{
    return atomic_load_explicit(slot_at(number), memory_order_acquire);
}

/* Pairs with the acquire of slot_get and of the collector: a reader that sees a slot sees those
 * before it. */
static inline void slot_set(uint32_t number, uint64_t word)
{
    atomic_store_explicit(slot_at(number), word, memory_order_release);
}

/* --- the index -------------------------------------------------------------------------------- */

static inline uint32_t hash_of(uint32_t caller, uint64_t frame)
{
    uint64_t h = (frame ^ ((uint64_t)caller << 32 | caller)) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((h ^ h >> 29) >> 20);
}

static inline bool begins_branch(uint32_t number, uint32_t caller, uint64_t frame)
{
    return slot_get(number) == frame && slot_get(number - 1) == (WIRE_SLOT_BRANCH | caller);
}

/* The node and its hash: the nodes themselves are spread over memory, and only the right one is
 * read. */
static inline uint64_t entry_of(uint32_t number, uint32_t hash)
{
    return (uint64_t)number << 32 | hash;
}

static inline _Atomic uint64_t *level_entries(unsigned level)
{
    return (_Atomic uint64_t *)atomic_load_explicit(&tree.levels[level], memory_order_acquire);
}

/* The node, or 0, in one level. */
static inline uint32_t level_find(unsigned level, uint32_t hash, uint32_t caller, uint64_t frame)
{
    _Atomic uint64_t *entries = level_entries(level);
    uint32_t mask = level_slots(level) - 1;
    for (uint32_t i = hash, tries = 0; tries < INDEX_TRIES; i++, tries++) {
        uint64_t entry = atomic_load_explicit(&entries[i & mask], memory_order_acquire);
        uint32_t number = (uint32_t)(entry >> 32);
        if (!entry || ((uint32_t)entry == hash && begins_branch(number, caller, frame)))
            return number;
    }
    return 0;
}

/* If the table is too crowded, the node will be made again. */
static void level_enter(unsigned level, uint64_t entry)
{
    _Atomic uint64_t *entries = level_entries(level);
    uint32_t mask = level_slots(level) - 1;
    for (uint32_t i = (uint32_t)entry, tries = 0; tries < INDEX_TRIES; i++, tries++) {
        uint64_t none = 0;
        if (!atomic_load_explicit(&entries[i & mask], memory_order_relaxed) &&
            atomic_compare_exchange_strong(&entries[i & mask], &none, entry))
            return;
    }
}

/* Memory for a level, once. A forked child finds it zeroed. */
static bool level_make(unsigned level)
{
    uint64_t *none = NULL, *entries;
    size_t size = (size_t)level_slots(level) * sizeof *entries;
    if (atomic_load(&tree.levels[level]))
        return true;
    if (!may_take(size) || !(entries = sys_map(size)))
        return false;
    if (size >= INDEX_HUGE)
        sys_call(SYS_madvise, entries, size, (long)MADV_HUGEPAGE);
    bool wiped = sys_call(SYS_madvise, entries, size, (long)MADV_WIPEONFORK) >= 0;
    if (!refusal_note(&tree.refusal, tick(), wiped) ||
        !atomic_compare_exchange_strong(&tree.levels[level], &none, entries))
        sys_call(SYS_munmap, entries, size);
    else
        recorder_own(entries, size);
    return atomic_load(&tree.levels[level]) != NULL;
}

/* Is the table before this level still needed? */
static inline bool is_moving(unsigned level)
{
    return level &&
           atomic_load_explicit(&tree.moved, memory_order_acquire) < level_slots(level - 1);
}

/* Moves some entries of the smaller table to this level. The thread that moves the last ones frees
 * the smaller table. Entries that another thread is still moving are lost then; their nodes are
 * made again when they are seen. */
static void index_move(unsigned level)
{
    uint32_t old = level_slots(level - 1);
    uint32_t at = atomic_fetch_add(&tree.moved, INDEX_MOVED);
    if (at >= old) {
        atomic_store(&tree.moved, old);
        return;
    }
    _Atomic uint64_t *entries = level_entries(level - 1);
    for (uint32_t i = at; i < at + INDEX_MOVED; i++) {
        uint64_t entry = atomic_load_explicit(&entries[i], memory_order_acquire);
        if (entry)
            level_enter(level, entry);
    }
    if (at + INDEX_MOVED == old)
        sys_call(SYS_madvise, entries, (size_t)old * sizeof *entries, (long)MADV_DONTNEED);
}

/* Five eighths full: from here on, entries go to a table of twice the size. */
static __attribute__((noinline)) void index_grow(unsigned level)
{
    uint32_t now = tick(), since = atomic_load(&tree.growing);
    if (level + 1 == INDEX_LEVELS || is_moving(level) ||
        /* Otherwise that thread left its hook without finishing. */
        (since && now - since < ABANDONED) ||
        !atomic_compare_exchange_strong(&tree.growing, &since, now))
        return;
    if (atomic_load(&tree.level) == level && level_make(level + 1)) {
        atomic_store(&tree.moved, 0);
        atomic_store_explicit(&tree.level, level + 1, memory_order_release);
    }
    atomic_store(&tree.growing, 0);
}

static void index_enter(uint32_t caller, uint64_t frame, uint32_t number)
{
    unsigned level = atomic_load_explicit(&tree.level, memory_order_acquire);
    level_enter(level, entry_of(number, hash_of(caller, frame)));
    if (is_moving(level))
        index_move(level);
    uint32_t entries = atomic_fetch_add_explicit(&tree.entries, 1, memory_order_relaxed);
    if (entries > level_slots(level) / 8 * 5)
        index_grow(level);
}

/* The node of a frame that `caller` called; 0: there is none yet. */
static inline uint32_t node_find(uint32_t caller, uint64_t frame)
{
    if (caller && slot_get(caller + 1) == frame) /* it is mapped: see claim() */
        return caller + 1;
    unsigned level = atomic_load_explicit(&tree.level, memory_order_acquire);
    uint32_t hash = hash_of(caller, frame);
    uint32_t number = level_find(level, hash, caller, frame);
    if (!number && UNLIKELY(is_moving(level)))
        number = level_find(level - 1, hash, caller, frame);
    return number;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The offset of a window in an array of all slots. */
static inline size_t bytes_before(unsigned window)
{
    return (size_t)wire_window_start(window) * 8;
}

/* Maps a window; the one before it is mapped. */
static __attribute__((noinline)) bool window_map(unsigned window)
{
    uintptr_t none = 0;
    size_t size = bytes_before(window + 1) - bytes_before(window);
    if (window >= WIRE_WINDOWS - 1)
        return false;
    if (atomic_load(&tree.windows[window]))
        return true;
    if (!may_take(size))
        return false;
    uintptr_t last_page = atomic_load(&tree.windows[window - 1]) + bytes_before(window) - WIRE_PAGE;
    uintptr_t start = shared_window_map(last_page, size);
    if (!start)
        return false;
    if (!atomic_compare_exchange_strong(&tree.windows[window], &none, start - bytes_before(window)))
        sys_call(SYS_munmap, start, size);
    return true;
}

/* Are all windows up to that of a slot mapped? */
static inline bool mapped_up_to(uint32_t slot)
{
    unsigned last = wire_window(slot), window = last;
    while (!atomic_load_explicit(&tree.windows[window], memory_order_acquire))
        window--; /* the first always is */
    while (window < last)
        if (!window_map(++window))
            return false;
    return true;
}

/* Where slots are claimed: in the tree of complete stacks, or in that of cut stacks. */
struct room {
    _Atomic uint32_t *end; /* claimed so far */
    uint32_t limit;
};

/* Claims a branch slot and `count` slots after it; 0: no memory. The next slot is mapped too, so
 * that node_find may read it. */
static uint32_t claim(struct room r, uint32_t count)
{
    uint32_t first = atomic_load_explicit(r.end, memory_order_relaxed);
    do {
        if (first >= r.limit || count + 2 > r.limit - first || !mapped_up_to(first + count + 1))
            return 0;
    } while (!atomic_compare_exchange_weak(r.end, &first, first + count + 1));
    return first;
}

static inline uint32_t extend(struct room r, uint32_t caller, const uint64_t *frames,
                              uint32_t count, uint32_t *ids)
{
    uint32_t known = 0, at = caller;
    for (uint32_t found; known < count && (found = node_find(at, frames[known])); known++)
        ids[known] = at = found;
    if (known == count)
        return at;
    uint32_t branch = claim(r, count - known);
    if (UNLIKELY(!branch))
        return 0;
    slot_set(branch, WIRE_SLOT_BRANCH | at);
    for (uint32_t i = known; i < count; i++) {
        ids[i] = branch + 1 + i - known;
        slot_set(ids[i], frames[i]);
    }
    index_enter(at, frames[known], branch + 1);
    return ids[count - 1];
}

uint32_t stack_tree_extend(uint32_t caller, const uint64_t *frames, uint32_t count, uint32_t *ids)
{
    return extend((struct room){&tree.header->slots_end, tree.limit}, caller, frames, count, ids);
}

uint32_t stack_tree_cut(const uint64_t *frames, uint32_t count)
{
    struct room r = {&tree.header->cut_end, WIRE_CUT_FIRST + WIRE_CUT_SLOTS};
    uint32_t ids[STACK_TREE_CUT], number = 0;
    uint32_t kept = count < STACK_TREE_CUT ? count : STACK_TREE_CUT;
    for (; kept && !number; kept = kept > 1)
        number = extend(r, WIRE_CUT_ROOT, frames + count - kept, kept, ids);
    return number ? number : WIRE_CUT_ROOT;
}

uint32_t stack_tree_cut_of(uint32_t number)
{
    uint64_t frames[STACK_TREE_CUT];
    uint32_t kept = 0;
    while (number && kept < STACK_TREE_CUT) {
        uint64_t frame = slot_get(number), before = slot_get(number - 1);
        if (frame < WIRE_NODE_POOL)
            break; /* the stack ends here, whatever it was */
        frames[STACK_TREE_CUT - ++kept] = frame;
        number = before >> 32 == WIRE_SLOT_BRANCH >> 32 ? (uint32_t)before : number - 1;
    }
    return stack_tree_cut(frames + STACK_TREE_CUT - kept, kept);
}

/* --- start ------------------------------------------------------------------------------------ */

void stack_tree_drop(void)
{
    for (unsigned i = 1; i < WIRE_WINDOWS - 1; i++) {
        uintptr_t window = atomic_exchange(&tree.windows[i], 0);
        if (window)
            sys_call(SYS_munmap, window + bytes_before(i), bytes_before(i + 1) - bytes_before(i));
    }
    tree.header = NULL;
}

bool stack_tree_reset(struct wire_header *h)
{
    uintptr_t base = (uintptr_t)h;
    stack_tree_drop();
    for (unsigned i = 0; i < INDEX_LEVELS; i++)
        if (atomic_load(&tree.levels[i])) /* zeroes it */
            sys_call(SYS_madvise, atomic_load(&tree.levels[i]),
                     (size_t)level_slots(i) * sizeof *tree.levels[i], (long)MADV_DONTNEED);
    tree.header = h;
    tree.limit = h->slots_limit < WIRE_SLOTS_MAX ? h->slots_limit : WIRE_SLOTS_MAX;
    atomic_store(&tree.windows[WIRE_WINDOWS - 1],
                 base + h->cut_offset - (uintptr_t)WIRE_CUT_FIRST * 8);
    atomic_store(&tree.windows[0], base + h->slots_offset);
    atomic_store(&tree.level, 0);
    atomic_store(&tree.entries, 0);
    atomic_store(&tree.moved, 0);
    atomic_store(&tree.growing, 0);
    refusal_clear(&tree.refusal);
    return level_make(0);
}

void stack_tree_prepare(void)
{
    if (tree.header)
        mapped_up_to(PREPARED_SLOTS < tree.limit ? PREPARED_SLOTS : tree.limit - 1);
    for (unsigned i = 1; tree.header && i < PREPARED_LEVELS && level_make(i); i++)
        ;
}
