/* From a hook's call to words in the ring: the stack, its number, the record. */
#include "record/recorder.h"

static uint64_t node_hash(uint32_t parent, uint64_t address)
{
    uint64_t h = (address ^ ((uint64_t)parent << 32 | parent)) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* The node's place in one level of the index, or the empty slot where it would go; NULL: too crowded. */
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

/* The smallest level that is at most half full with this many nodes. */
static inline unsigned index_level(uint32_t nodes)
{
    unsigned bits = 33 - (unsigned)__builtin_clz(nodes | 1); /* nodes * 2 fits in 2^bits */
    unsigned level = bits > WIRE_INDEX_FIRST_BITS ? bits - WIRE_INDEX_FIRST_BITS : 0;
    return level < recorder.header->index_levels ? level : recorder.header->index_levels - 1;
}

/* A node that the current level does not have: in a smaller level, or new. */
static __attribute__((noinline)) uint32_t node_missing(uint64_t hash, uint32_t parent,
                                                       uint64_t address, unsigned level,
                                                       _Atomic uint32_t *slot)
{
    struct wire_header *h = recorder.header;
    uint32_t id = 0;
    for (unsigned lower = level; lower-- > 0 && !id;)
        index_slot(lower, hash, parent, address, &id);
    if (!id || recorder.nodes[id].parent != parent || recorder.nodes[id].address != address) {
        id = atomic_load_explicit(&h->node_count, memory_order_relaxed);
        do {
            if (id >= h->node_capacity) {
                atomic_fetch_add_explicit(&h->nodes_full, 1, memory_order_relaxed);
                return parent; /* the stack as far as there was room */
            }
        } while (!atomic_compare_exchange_weak(&h->node_count, &id, id + 1));
        recorder.nodes[id].address = address;
        recorder.nodes[id].parent = parent;
    }
    while (slot) {
        /* Pairs with the acquire in index_slot: who finds the number finds the node. */
        uint32_t there = 0;
        if (atomic_compare_exchange_strong(slot, &there, id))
            return id;
        slot = index_slot(level, hash, parent, address, &there);
        if (there && slot)
            return there; /* another thread was first; our node stays unused */
    }
    return id;
}

static __attribute__((noinline)) uint32_t node_lookup(uint32_t parent, uint64_t address)
{
    uint32_t id, nodes = atomic_load_explicit(&recorder.header->node_count, memory_order_relaxed);
    uint64_t hash = node_hash(parent, address);
    unsigned level = index_level(nodes);
    _Atomic uint32_t *slot = index_slot(level, hash, parent, address, &id);
    if (UNLIKELY(!slot || !id))
        id = node_missing(hash, parent, address, level, slot);
    atomic_store_explicit(&recorder.nodes[parent].child, id, memory_order_relaxed);
    return id;
}

/* Nodes made together are neighbours in memory, so the hint is mostly in the cache when the index is not. */
static inline uint32_t node_intern(uint32_t parent, uint64_t address)
{
    uint32_t hint = atomic_load_explicit(&recorder.nodes[parent].child, memory_order_relaxed);
    const struct wire_node *child = &recorder.nodes[hint];
    return LIKELY(hint && child->address == address && child->parent == parent)
               ? hint
               : node_lookup(parent, address);
}

/* The number of the caller's stack. */
static inline uint32_t stack_number(struct thread *t, struct caller caller)
{
    struct walk *w = &t->walk;
    uint32_t known = walk_leaf_id(w, caller.pc, caller.sp, caller.fp);
    if (LIKELY(known))
        return known;
    w->stack_end = caller.sp >= t->stack_low && caller.sp < t->stack_high ? t->stack_high
                                                                          : UINT64_C(1) << 47;
    walk_stack(w, recorder.rules, &own_space, caller.pc, caller.sp, caller.fp);
    uint32_t i = w->fresh, id;
    if (LIKELY(i > 0))
        id = w->frames[i - 1].id;
    else if (w->root == WALK_WHOLE)
        id = 0;
    else
        id = node_intern(0, w->root == WALK_TRUNCATED ? WIRE_NODE_TRUNCATED : WIRE_NODE_INCOMPLETE);
    for (; i < w->count; i++)
        w->frames[i].id = id = node_intern(id, w->frames[i].address);
    walk_keep_leaf(w);
    return id;
}

void event_alloc(struct thread *t, void *p, size_t size, struct caller caller)
{
    uint32_t stack = stack_number(t, caller);
    if (UNLIKELY(!event_room(t, 5)))
        return;
    size_t usable = next.malloc_usable_size ? next.malloc_usable_size(p) : size;
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
}

void event_realloc(struct thread *t, void *old)
{
    uint64_t address = (uint64_t)(uintptr_t)old & WIRE_LOW48;
    if (event_room(t, 2)) {
        event_clock(t, address);
        event_word(t, WIRE_WORD(WIRE_REALLOC, 0, address));
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

/* Mappings are rare, and overlap in ways that blocks do not: all share one clock, that of address 0. */
void event_map(struct thread *t, void *p, size_t size, struct caller caller)
{
    uint32_t stack = stack_number(t, caller);
    if (event_room(t, 4)) {
        event_clock(t, 0);
        event_word(t, WIRE_WORD(WIRE_MAP, 0, (uint64_t)(uintptr_t)p & WIRE_LOW48));
        event_word(t, stack);
        event_word(t, size);
        event_publish(t);
    }
}

void event_unmap(struct thread *t, void *p, size_t size)
{
    if (event_room(t, 3)) {
        event_clock(t, 0);
        event_word(t, WIRE_WORD(WIRE_UNMAP, 0, (uint64_t)(uintptr_t)p & WIRE_LOW48));
        event_word(t, size);
        event_publish(t);
    }
}
