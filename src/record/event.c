/* From a hook's call to words in the ring: the stack, its number, the record. */
#include <sys/syscall.h>

#include "record/python.h"
#include "record/recorder.h"

static uint64_t node_hash(uint32_t parent, uint64_t address)
{
    uint64_t h = (address ^ ((uint64_t)parent << 32 | parent)) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* The node's place in one level of the index, or the empty slot where it would go; NULL: too
 * crowded. */
static inline _Atomic uint32_t *index_slot(unsigned level, uint64_t hash, uint32_t parent,
                                           uint64_t address, uint32_t *found)
{
    uint32_t mask = WIRE_INDEX_SLOTS(level) - 1;
    _Atomic uint32_t *slots = recorder.index + WIRE_INDEX_START(level);
    for (uint32_t i = (uint32_t)(hash >> 20), tries = 0; tries < 64; i++, tries++) {
        _Atomic uint32_t *slot = &slots[i & mask];
        uint32_t id = atomic_load_explicit(slot, memory_order_acquire);
        *found = id;
        if (!id || (recorder.nodes[id].parent == parent && recorder.nodes[id].address == address))
            return slot;
    }
    return NULL;
}

static bool is_child(uint32_t id, uint32_t parent, uint64_t address)
{
    const struct wire_node *n = &recorder.nodes[id];
    return id && n->address == address && n->parent == parent;
}

/* Enters a node that is not in a level yet. */
static void index_enter(unsigned level, uint32_t id)
{
    const struct wire_node *n = &recorder.nodes[id];
    uint64_t hash = node_hash(n->parent, n->address);
    for (;;) {
        uint32_t there;
        _Atomic uint32_t *slot = index_slot(level, hash, n->parent, n->address, &there);
        if (!slot || there || atomic_compare_exchange_strong(slot, &there, id))
            return;
    }
}

/*
 * Half full: one thread fills the next level and then makes it the one that all use. What others
 * add meanwhile goes to the old one; a node that is missed so will be made again, and a stack has
 * two numbers, which does no harm.
 */
static __attribute__((noinline)) void index_grow(unsigned level)
{
    struct wire_header *h = recorder.header;
    if (level + 1 >= h->index_levels || atomic_exchange(&recorder.index_growing, true))
        return;
    for (uint32_t id = 1; id < atomic_load(&h->node_count) && id < h->node_capacity; id++)
        if (__atomic_load_n(&recorder.nodes[id].address, __ATOMIC_ACQUIRE) &&
            atomic_load_explicit(&recorder.nodes[recorder.nodes[id].parent].first,
                                 memory_order_relaxed) != id)
            index_enter(level + 1, id);
    atomic_store_explicit(&recorder.index_level, level + 1, memory_order_release);
    atomic_store(&recorder.index_growing, false);
}

/* 0: no room. */
static uint32_t node_new(uint32_t parent, uint64_t address)
{
    struct wire_header *h = recorder.header;
    uint32_t id = atomic_load_explicit(&h->node_count, memory_order_relaxed);
    do {
        if (id >= h->node_capacity)
            return 0;
    } while (!atomic_compare_exchange_weak(&h->node_count, &id, id + 1));
    recorder.nodes[id].parent = parent;
    /* Pairs with the acquire of the collector: who sees the address sees the parent. */
    __atomic_store_n(&recorder.nodes[id].address, address, __ATOMIC_RELEASE);
    return id;
}

/* A child that is neither its parent's first nor its most recent one: in the index, or new. */
static __attribute__((noinline)) uint32_t node_lookup(uint32_t parent, uint64_t address)
{
    struct wire_node *p = &recorder.nodes[parent];
    unsigned level = atomic_load_explicit(&recorder.index_level, memory_order_acquire);
    uint32_t first = atomic_load_explicit(&p->first, memory_order_acquire), id;
    if (!first) {
        id = node_new(parent, address);
        /* Pairs with the acquire above: who finds the number finds the node. */
        if (!id || atomic_compare_exchange_strong(&p->first, &first, id))
            return id ? id : parent | WIRE_STACK_CUT;
        /* another thread's is the first; ours goes to the index */
    } else {
        index_slot(level, node_hash(parent, address), parent, address, &id);
        if (is_child(id, parent, address)) {
            atomic_store_explicit(&p->recent, id, memory_order_relaxed);
            return id;
        }
        id = node_new(parent, address);
        if (!id)
            return parent | WIRE_STACK_CUT; /* the stack as far as there was room */
    }
    index_enter(level, id);
    atomic_store_explicit(&p->recent, id, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&recorder.index_count, 1, memory_order_relaxed) * 2 >
        WIRE_INDEX_SLOTS(level))
        index_grow(level);
    return id;
}

/* Nodes made together are neighbours in memory: mostly the child is in the cache when the index
 * would not be. */
static inline uint32_t node_intern(uint32_t parent, uint64_t address)
{
    if (UNLIKELY(parent & WIRE_STACK_CUT))
        return parent;
    const struct wire_node *p = &recorder.nodes[parent];
    uint32_t id = atomic_load_explicit(&p->recent, memory_order_relaxed);
    if (is_child(id, parent, address))
        return id;
    id = atomic_load_explicit(&p->first, memory_order_relaxed);
    return is_child(id, parent, address) ? id : node_lookup(parent, address);
}

uint32_t node_of(uint32_t parent, uint64_t address)
{
    return node_intern(parent, address);
}

/* The number of the caller's native stack, by walking it. */
static uint32_t walked_number(struct thread *t, const uint64_t *caller)
{
    struct walk *w = &t->walk;
    w->stack_sure = CALLER_SP(caller) >= t->stack_sure && CALLER_SP(caller) < t->stack_high;
    w->stack_end = CALLER_SP(caller) >= t->stack_low && CALLER_SP(caller) < t->stack_high
                       ? t->stack_high
                       : WALK_NO_END;
    bool loader = CALLER_PC(caller) - recorder.loader < recorder.loader_size;
    if (UNLIKELY(loader))
        modules_check(t);
    walk_stack(w, recorder.rules, &own_space, CALLER_PC(caller), CALLER_SP(caller),
               CALLER_FP(caller));
    uint32_t i = w->fresh, id;
    if (LIKELY(i > 0))
        id = w->frames[i - 1].id;
    else if (w->root == WALK_WHOLE)
        id = 0;
    else
        id = node_intern(0, w->root == WALK_TRUNCATED ? WIRE_NODE_TRUNCATED : WIRE_NODE_INCOMPLETE);
    for (; i < w->count; i++)
        w->frames[i].id = id = node_intern(id, w->frames[i].address);
    if (LIKELY(!loader)) /* a leaf would hide that it is at work again */
        walk_keep_leaf(w);
    return id;
}

/* Frames through which a signal came need the slow path; such stacks are not trusted. */
bool event_stack_is_plain(struct thread *t, const uint64_t *caller)
{
    walked_number(t, caller);
    return t->walk.root == WALK_WHOLE && t->walk.trusted == t->walk.count;
}

/* The stack of native and Python frames. `walked`: the walk has just found the native ones. */
static __attribute__((noinline)) uint32_t python_number(struct thread *t, const uint64_t *caller,
                                                        uint32_t native, bool walked)
{
    if (!python_enter(t))
        return native;
    if (UNLIKELY(atomic_load_explicit(&recorder.objects_unsettled, memory_order_relaxed)))
        python_settle();
    uint64_t key;
    uint32_t number = python_known(t, native, &key);
    if (UNLIKELY(!number)) {
        if (!walked)
            walked_number(t, caller);
        number = python_merge(t, key);
    }
    python_leave(t);
    return number;
}

/* The number of the caller's stack. */
static inline uint32_t stack_number(struct thread *t, const uint64_t *caller)
{
    uint32_t known =
        walk_leaf_id(&t->walk, CALLER_PC(caller), CALLER_SP(caller), CALLER_FP(caller));
    bool walked = UNLIKELY(!known);
    if (walked)
        known = walked_number(t, caller);
    if (UNLIKELY(atomic_load_explicit(&recorder.python, memory_order_acquire)))
        known = python_number(t, caller, known, walked);
    return known;
}

/* An exchange, not a store: others may be here for neighbouring blocks, and no stamp may be lost.
 */
void event_meet(struct thread *t, uint64_t address)
{
    _Atomic uint64_t *place = CLOCK_OF(address);
    uint64_t seen = atomic_load_explicit(place, memory_order_relaxed), before = t->clock;
    do
        if ((seen & 0xffff) != t->number && seen >> 16 >= t->clock) {
            t->clock = (seen >> 16) + 1;
            t->stamp = t->clock << 16 | t->number;
        }
    while (!atomic_compare_exchange_weak_explicit(place, &seen, t->stamp, memory_order_relaxed,
                                                  memory_order_relaxed));
    if (t->clock != before)
        event_word(t, WIRE_WORD(WIRE_CLOCK, 0, t->clock & WIRE_LOW48));
}

/*
 * The address may be one that another thread has freed since our hook began, and it may have seen a
 * new tick before it did. That free is read after the tick, so this must be too.
 */
static inline void event_tick(struct thread *t)
{
    if (UNLIKELY(t->tick != atomic_load_explicit(&recorder.header->tick, memory_order_relaxed)))
        thread_tick(t);
}

#define ASK SIZE_MAX /* its allocator, how much of a block can be used */

static inline __attribute__((always_inline)) bool alloc(struct thread *t, void *p, size_t size,
                                                        const uint64_t *caller, size_t usable)
{
    if (UNLIKELY(atomic_load_explicit(&recorder.header->paused, memory_order_relaxed)))
        return false;
    event_tick(t);
    uint32_t stack = stack_number(t, caller);
    if (UNLIKELY(!event_room(t, 5)))
        return false;
    if (usable == ASK)
        usable = next.malloc_usable_size ? next.malloc_usable_size(p) : size;
    uint64_t address = (uint64_t)(uintptr_t)p & WIRE_LOW48, over = usable - size;
    event_clock(t, address);
    if (LIKELY(over < WIRE_SMALL_MAX && size <= UINT32_MAX)) {
        event_word(t, WIRE_WORD(WIRE_ALLOC, over, address));
        event_word(t, (uint64_t)size << 32 | stack);
    } else {
        event_word(t, WIRE_WORD(WIRE_ALLOC_LARGE, 0, address));
        event_word(t, stack);
        event_word(t, size);
        event_word(t, usable < size ? size : usable);
    }
    event_publish(t);
    if (UNLIKELY(size >= LARGE_BLOCK))
        large_keep(p, size);
    return true;
}

bool event_alloc(struct thread *t, void *p, size_t size, const uint64_t *caller)
{
    return alloc(t, p, size, caller, ASK);
}

/* A block whose size the allocator must not be asked for: it is not its own. */
bool event_alloc_foreign(struct thread *t, void *p, size_t size, const uint64_t *caller)
{
    return alloc(t, p, size, caller, size);
}

bool event_alloc_sized(struct thread *t, void *p, size_t size, size_t usable,
                       const uint64_t *caller)
{
    return alloc(t, p, size, caller, usable);
}

void event_realloc(struct thread *t, void *old, unsigned small)
{
    uint64_t address = (uint64_t)(uintptr_t)old & WIRE_LOW48;
    if (event_room(t, 2)) {
        event_clock(t, address);
        event_word(t, WIRE_WORD(WIRE_REALLOC, small, address));
        event_publish(t);
    }
}

void event_realloc_failed(struct thread *t)
{
    if (event_room(t, 1)) {
        event_word(t, WIRE_WORD(WIRE_REALLOC_FAILED, 0, 0));
        event_publish(t);
    }
}

/* At the time of address 0's clock, as mappings: what other threads do meanwhile is not told apart.
 */
void event_fork(struct thread *t)
{
    tls.fork = atomic_fetch_add(&recorder.forks, 1) + 1;
    if (event_room(t, 2)) {
        event_clock(t, 0);
        event_word(t, WIRE_WORD(WIRE_FORK, 0, tls.fork));
        event_publish(t);
    }
}

/* Mappings are rare, and overlap in ways that blocks do not: all share one clock, that of address
 * 0. */
void event_map(struct thread *t, void *p, size_t size, const uint64_t *caller)
{
    if (UNLIKELY(recorder_paused()))
        return;
    event_tick(t);
    uint32_t stack = stack_number(t, caller);
    if (event_room(t, 4)) {
        event_clock(t, 0);
        event_word(t, WIRE_WORD(WIRE_MAP, 0, (uint64_t)(uintptr_t)p & WIRE_LOW48));
        event_word(t, stack);
        event_word(t, size);
        event_publish(t);
    }
}

bool event_unmap(struct thread *t, void *p, size_t size)
{
    if (!event_room(t, 3))
        return false;
    event_clock(t, 0);
    event_word(t, WIRE_WORD(WIRE_UNMAP, 0, (uint64_t)(uintptr_t)p & WIRE_LOW48));
    event_word(t, size);
    event_publish(t);
    return true;
}

void event_unmap_failed(struct thread *t)
{
    if (event_room(t, 2)) {
        event_word(t, WIRE_WORD(WIRE_UNMAP, 1, 0));
        event_word(t, 0);
        event_publish(t);
    }
}

/* As for blocks of the heap, the logical time is that of the block's own part of memory. */
void event_pool_alloc(struct thread *t, unsigned pool, const void *p, size_t size,
                      const uint64_t *caller)
{
    uint64_t address = (uint64_t)(uintptr_t)p & WIRE_LOW48;
    event_tick(t);
    uint32_t stack = node_intern(stack_number(t, caller), WIRE_NODE_POOL + pool);
    if (event_room(t, 4)) {
        event_clock(t, address);
        event_word(t, WIRE_WORD(WIRE_MAP, pool, address));
        event_word(t, stack);
        event_word(t, size);
        event_publish(t);
    }
}

void event_pool_free(struct thread *t, unsigned pool, const void *p)
{
    uint64_t address = (uint64_t)(uintptr_t)p & WIRE_LOW48;
    if (event_room(t, 3)) {
        event_clock(t, address);
        event_word(t, WIRE_WORD(WIRE_UNMAP, 2, address));
        event_word(t, pool);
        event_publish(t);
    }
}
