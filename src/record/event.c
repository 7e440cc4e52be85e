/*
 * From a hook's call to what is counted or reported: the stack (unwind/walk.h), its number
 * (stack_tree.h), the account (count.h) or the record in the ring (ring.c). Which allocations run
 * --sample records is decided by alloc_sample.c.
 */
#include <sys/syscall.h>

#include "record/stack_tree.h"
#include "record/python.h"
#include "record/fast_path.h"

/* Only the walk's innermost frames, if there is no memory for all of them. */
static __attribute__((noinline, cold)) uint32_t cut_number(const struct walk *w)
{
    uint64_t frames[STACK_TREE_CUT];
    uint32_t kept = w->count < STACK_TREE_CUT ? w->count : STACK_TREE_CUT;
    for (uint32_t i = 0; i < kept; i++)
        frames[i] = w->frames[w->count - kept + i].address;
    return stack_tree_cut(frames, kept);
}

/* The number of the frames that the walk has found; those from `first` on have none yet. */
static uint32_t walk_number(struct thread *t, uint32_t first)
{
    struct walk *w = &t->walk;
    uint32_t count = w->count - first, caller = 0, n = 0;
    if (LIKELY(first > 0))
        caller = (uint32_t)w->frames[first - 1].id;
    else if (w->root != WALK_WHOLE)
        t->path[n++] = w->root == WALK_TRUNCATED ? WIRE_NODE_TRUNCATED : WIRE_NODE_INCOMPLETE;
    for (uint32_t i = 0; i < count; i++)
        t->path[n + i] = w->frames[first + i].address;
    uint32_t number = stack_tree_extend(caller, t->path, n + count, t->path_ids);
    if (UNLIKELY(!number || t->hashed))
        return number ? number : cut_number(w);
    for (uint32_t i = 0; i < count; i++)
        w->frames[first + i].id = t->path_ids[n + i];
    return number;
}

/* In a thread of Python, native frames have no nodes of their own: they are identified by a
 * hash. */
static uint64_t walk_hash(struct walk *w)
{
    uint64_t name = w->fresh ? w->frames[w->fresh - 1].id : (uint64_t)w->root;
    for (uint32_t i = w->fresh; i < w->count; i++) {
        name = (name ^ w->frames[i].address) * UINT64_C(0x9e3779b97f4a7c15);
        w->frames[i].id = name = (name ^ name >> 29) | UINT64_C(1) << 63;
    }
    return name;
}

/* Sets the bounds of the stack that the caller is on. */
static inline void set_bounds(struct thread *t, const uint64_t *caller)
{
    uint64_t sp = CALLER_SP(caller);
    t->walk.stack_sure = sp >= t->stack_sure && sp < t->stack_high;
    t->walk.stack_end = sp >= t->stack_low && sp < t->stack_high ? t->stack_high : WALK_NO_END;
}

/* Identifies the caller's native stack by walking it: its number, or its hash. *leaf: the cache
 * entry, or NULL. */
static uint64_t walked_name(struct thread *t, const uint64_t *caller, struct walk_leaf **leaf)
{
    struct walk *w = &t->walk;
    set_bounds(t, caller);
    bool loader = CALLER_PC(caller) - recorder.loader < recorder.loader_size;
    if (UNLIKELY(loader))
        modules_check(t);
    walk_stack(w, recorder.rules, &own_space, CALLER_PC(caller), CALLER_SP(caller),
               CALLER_FP(caller));
    uint64_t name = t->hashed ? walk_hash(w) : walk_number(t, w->fresh);
    *leaf = NULL;
    if (UNLIKELY(name >= WIRE_CUT_FIRST && !t->hashed))
        w->trusted = 0;       /* frames without a number cannot be built upon */
    else if (LIKELY(!loader)) /* a cached leaf would hide that the loader is at work again */
        *leaf = walk_keep_leaf(w);
    return name;
}

/* Frames through which a signal came need the slow path; such stacks are not trusted. */
bool event_stack_is_plain(struct thread *t, const uint64_t *caller)
{
    struct walk_leaf *leaf;
    walked_name(t, caller, &leaf);
    return t->walk.root == WALK_WHOLE && t->walk.trusted == t->walk.count;
}

/* A stack, and where this thread caches its account; NULL: nowhere. */
struct stack {
    uint32_t number;
    uint32_t *account;
};

/* The stack of native and Python frames. `walked`: the walk has just found the native ones, which
 * `native` identifies. */
static __attribute__((noinline)) struct stack
python_number(struct thread *t, const uint64_t *caller, uint64_t native, bool walked)
{
    uint64_t key;
    struct walk_leaf *leaf;
    struct stack found = {0};
    if (!python_enter(t)) {
        found.number = (uint32_t)native;
        if (!t->hashed)
            return found;
        if (!walked)
            walked_name(t, caller, &leaf);
        found.number = walk_number(t, 0);
        return found;
    }
    if (UNLIKELY(atomic_load_explicit(&recorder.objects_unsettled, memory_order_relaxed)))
        python_settle(CALLER_PC(caller));
    if (UNLIKELY(!t->hashed)) {
        if (!python_runs(t)) {
            python_leave(t);
            found.number = (uint32_t)native;
            return found;
        }
        t->hashed = true;
        walk_forget(&t->walk);
        native = walked_name(t, caller, &leaf);
        walked = true;
    }
    struct python_pair *pair = python_known(t, native, &key);
    if (LIKELY(pair != NULL)) {
        found.number = pair->stack;
        found.account = &pair->account;
    } else {
        if (!walked)
            walked_name(t, caller, &leaf);
        found.number = python_merge(t, key);
    }
    python_leave(t);
    return found;
}

static inline __attribute__((always_inline)) struct walk_leaf *leaf_of(const struct thread *t,
                                                                       const uint64_t *caller)
{
    return walk_leaf_find(&t->walk, CALLER_PC(caller), CALLER_SP(caller), CALLER_FP(caller));
}

/* The caller's stack. `leaf`: from leaf_of. */
static inline struct stack stack_of(struct thread *t, const uint64_t *caller,
                                    struct walk_leaf *leaf)
{
    bool walked = UNLIKELY(!leaf);
    uint64_t known = walked ? walked_name(t, caller, &leaf) : leaf->id;
    if (UNLIKELY(atomic_load_explicit(&recorder.python, memory_order_acquire) || t->hashed))
        return python_number(t, caller, known, walked);
    return (struct stack){(uint32_t)known, leaf ? &leaf->note : NULL};
}

uint32_t event_stack(struct thread *t, const uint64_t *caller)
{
    return stack_of(t, caller, leaf_of(t, caller)).number;
}

/*
 * Identifies the native frames that a signal interrupted. The walk begins at the instructions that
 * end the handler, which are not part of the program's stack. Such a stack occurs once, so it is
 * not cached as a leaf.
 */
static uint64_t interrupted_name(struct thread *t, const uint64_t *caller)
{
    struct walk *w = &t->walk;
    set_bounds(t, caller);
    walk_stack(w, recorder.rules, &own_space, CALLER_PC(caller), CALLER_SP(caller),
               CALLER_FP(caller));
    if (w->count > 1)
        w->count--;
    if (w->trusted > w->count)
        w->trusted = w->count;
    if (w->fresh > w->count)
        w->fresh = w->count;
    if (t->hashed)
        return walk_hash(w);
    uint64_t name = w->fresh < w->count ? walk_number(t, w->fresh) : w->frames[w->count - 1].id;
    if (UNLIKELY(name >= WIRE_CUT_FIRST))
        w->trusted = 0;
    return name;
}

/* Like python_number, but nothing of the interpreter is changed, and nothing is trusted that an
 * interpreter may be writing. */
uint32_t event_interrupted(struct thread *t, const uint64_t *caller)
{
    uint64_t key, native = interrupted_name(t, caller);
    uint32_t number = 0;
    if (!atomic_load_explicit(&recorder.python, memory_order_acquire) && !t->hashed)
        return (uint32_t)native;
    if (!python_enter(t))
        return t->hashed ? walk_number(t, 0) : (uint32_t)native;
    bool runs = python_stands_still() && (t->hashed || python_runs(t));
    if (runs && !t->hashed) {
        t->hashed = true;
        walk_forget(&t->walk);
        native = interrupted_name(t, caller);
    }
    if (runs) {
        const struct python_pair *pair = python_known(t, native, &key);
        number = pair ? pair->stack : python_merge(t, key);
    }
    python_leave(t);
    return number ? number : t->hashed ? walk_number(t, 0) : (uint32_t)native;
}

/* A stack with one more frame, which no code has. */
static uint32_t below(uint32_t stack, uint64_t frame)
{
    uint32_t id;
    if (LIKELY(stack < WIRE_CUT_FIRST))
        stack = stack_tree_extend(stack, &frame, 1, &id);
    return LIKELY(stack && stack < WIRE_CUT_FIRST) ? stack : stack_tree_cut(&frame, 1);
}

/*
 * The address may have been freed by another thread since our hook began, after it had seen a new
 * tick. That free is read after the tick, so this must be too.
 */
static inline void event_tick(struct thread *t)
{
    if (UNLIKELY(t->tick != atomic_load_explicit(&recorder.header->tick, memory_order_relaxed)))
        thread_tick(t);
}

/* Is recording paused? Files that are loaded meanwhile are checked all the same. */
static inline bool is_paused(const uint64_t *caller)
{
    if (LIKELY(!recorder_paused()))
        return false;
    if (CALLER_PC(caller) - recorder.loader < recorder.loader_size)
        modules_check_loaded();
    return true;
}

#define ASK SIZE_MAX /* ask the allocator for the usable size */

static __attribute__((noinline)) bool alloc(struct thread *t, void *p, size_t size,
                                            const uint64_t *caller, size_t usable, bool size_stored)
{
    bool sampled = UNLIKELY(recorder.sample_bytes != 0);
    if (sampled && LIKELY(sample_skips(t, size)))
        return false;
    if (UNLIKELY(is_paused(caller)))
        return false;
    event_tick(t);
    if (usable == ASK) {
        size_stored = !next.malloc_usable_size;
        usable = size_stored ? size : chunk_usable(p, next.malloc_usable_size);
    }
    usable = usable < size ? size : usable;
    size_stored |= index_is_uneven((uintptr_t)p, index_apart(usable));
    _Atomic uint64_t *word = NULL;
    if (!sampled) {
        word = index_word_of((uintptr_t)p, index_apart(usable), size_stored);
        __builtin_prefetch(word, 1);
    }
    struct stack found = stack_of(t, caller, leaf_of(t, caller));
    if (!sampled)
        return count_alloc(t, p, size, usable, size_stored, word, found.number, found.account);
    return weighed_alloc(t, p, size, usable, found.number, found.account);
}

/* Remembers where the slots are for small blocks near an address. */
static void note_region(struct counting *c, uintptr_t address)
{
    uintptr_t region = address >> WIRE_REGION_BITS;
    char *slots = index_slots(address, WIRE_SMALL_MOST);
    if (slots)
        c->near_regions[region % NEAR_REGIONS] = (struct near_region){region, slots};
}

/* alloc for a small block of glibc. `leaf`: from leaf_of, after event_tick. */
static inline bool alloc_chunk(struct thread *t, void *p, size_t size, const uint64_t *caller,
                               struct walk_leaf *leaf)
{
    _Atomic uint64_t *word = index_chunk_word((uintptr_t)p);
    __builtin_prefetch(word, 1);
    struct stack found = stack_of(t, caller, leaf);
    uint64_t chunk = chunk_bytes(p);
    uint32_t number = found.account ? *found.account : 0;
    if (LIKELY(number) && LIKELY(word != NULL) &&
        LIKELY(!atomic_load_explicit(&recorder.several, memory_order_relaxed))) {
        bool moved = t->counting.moving_from != 0;
        if (moved)
            count_moving_goes(t, era_now());
        if (LIKELY(fast_alloc(t, p, size, chunk, word, number, false))) {
            if (moved)
                count_moved(t, (uintptr_t)p, size, number, era_now());
            return true;
        }
    }
    bool counted =
        count_alloc_chunk(t, p, size, chunk, word, era_now(), found.number, found.account);
    note_region(&t->counting, (uintptr_t)p);
    return counted;
}

static inline bool is_small_chunk(const void *p, size_t size)
{
    uint64_t chunk = chunk_bytes(p);
    return LIKELY(index_is_small_chunk(chunk)) && LIKELY(chunk - 8 >= size);
}

/* A call that cannot take the fast path. */
static __attribute__((noinline)) bool alloc_specially(struct thread *t, void *p, size_t size,
                                                      const uint64_t *caller)
{
    bool trusted = chunk_is_trusted(next.malloc_usable_size);
    if (trusted && atomic_load_explicit(&recorder.sizes_unverified, memory_order_relaxed))
        atomic_store_explicit(&recorder.sizes_unverified, false, memory_order_relaxed);
    if (!trusted || recorder.sample_bytes || !is_small_chunk(p, size))
        return alloc(t, p, size, caller, ASK, false);
    if (UNLIKELY(is_paused(caller)))
        return false;
    event_tick(t); /* first, because a new tick may make the walk forget its leaves */
    return alloc_chunk(t, p, size, caller, leaf_of(t, caller));
}

/* The stack of this small block is not a leaf of the walk. */
static __attribute__((noinline)) bool alloc_walked(struct thread *t, void *p, size_t size,
                                                   const uint64_t *caller)
{
    event_tick(t);
    return alloc_chunk(t, p, size, caller, NULL);
}

/* event_alloc on the fast path, if that is possible. */
static inline __attribute__((always_inline)) bool
alloc_quickly(struct thread *t, void *p, size_t size, const uint64_t *caller, bool several)
{
    if (UNLIKELY(!is_small_chunk(p, size)) || UNLIKELY(t->counting.moving_from) ||
        UNLIKELY(atomic_load_explicit(&recorder.header->paused, memory_order_relaxed)))
        return alloc_specially(t, p, size, caller);
    _Atomic uint64_t *word = fast_slot(&t->counting, (uintptr_t)p);
    __builtin_prefetch(word, 1);
    const struct walk_leaf *leaf = leaf_of(t, caller);
    if (UNLIKELY(!leaf))
        return alloc_walked(t, p, size, caller);
    if (LIKELY(word != NULL) && LIKELY(leaf->note) &&
        LIKELY(fast_alloc(t, p, size, chunk_bytes(p), word, leaf->note, several)))
        return true;
    return alloc_specially(t, p, size, caller);
}

/* event_alloc if anything is special: several threads alone do not rule out the fast path. */
static __attribute__((noinline)) bool alloc_among_threads(struct thread *t, void *p, size_t size,
                                                          const uint64_t *caller)
{
    if (UNLIKELY(atomic_load_explicit(&recorder.special_free, memory_order_relaxed)) ||
        UNLIKELY(atomic_load_explicit(&recorder.python, memory_order_relaxed)))
        return alloc_specially(t, p, size, caller);
    event_tick(t);
    return alloc_quickly(t, p, size, caller, true);
}

bool event_alloc(struct thread *t, void *p, size_t size, const uint64_t *caller)
{
    if (UNLIKELY(atomic_load_explicit(&recorder.special, memory_order_relaxed)))
        return alloc_among_threads(t, p, size, caller);
    return alloc_quickly(t, p, size, caller, false);
}

/* A block whose size its allocator must not be asked for: it belongs to another one. */
bool event_alloc_foreign(struct thread *t, void *p, size_t size, const uint64_t *caller)
{
    return alloc(t, p, size, caller, size, true);
}

bool event_alloc_sized(struct thread *t, void *p, size_t size, size_t usable,
                       const uint64_t *caller)
{
    return alloc(t, p, size, caller, usable, false);
}

bool event_alloc_stored(struct thread *t, void *p, size_t size, size_t usable,
                        const uint64_t *caller)
{
    return alloc(t, p, size, caller, usable, true);
}

static __attribute__((noinline)) bool free_among_threads(struct thread *t, void *p)
{
    return fast_free(t, p, true);
}

bool event_free_small(struct thread *t, void *p)
{
    if (UNLIKELY(atomic_load_explicit(&recorder.special_free, memory_order_relaxed)))
        return false;
    if (UNLIKELY(atomic_load_explicit(&recorder.several, memory_order_relaxed)))
        return free_among_threads(t, p);
    return fast_free(t, p, false);
}

bool event_free(struct thread *t, void *p, usable_of *usable, enum free_how how)
{
    if (LIKELY(!recorder.sample_bytes)) {
        if (atomic_load_explicit(&recorder.frees_watched, memory_order_relaxed) &&
            chunk_is_trusted(usable) &&
            !atomic_load_explicit(&recorder.several, memory_order_relaxed) &&
            fast_free(t, p, false))
            return true; /* every free of this Python comes here */
        return count_free(t, p, usable, how == FREE_SURE);
    }
    if (UNLIKELY(sample_may_be(p)))
        weighed_free(t, p);
    return true;
}

bool event_realloc(struct thread *t, void *old, usable_of *usable, enum free_how how)
{
    if (LIKELY(!recorder.sample_bytes))
        return count_realloc(t, old, usable, how == FREE_SURE);
    weighed_realloc(t, old);
    return true;
}

void event_realloc_failed(struct thread *t)
{
    (recorder.sample_bytes ? weighed_realloc_failed : count_realloc_failed)(t);
}

/* As for mappings: what other threads do meanwhile is not distinguished. */
void event_fork(struct thread *t)
{
    tls.fork = atomic_fetch_add(&recorder.forks, 1) + 1;
    accounts_rows(t); /* what is live now is what the child inherits */
    if (event_room(t, 4)) {
        event_sequence(t);
        event_word(t, WIRE_WORD(WIRE_FORK, 0, tls.fork));
        event_word(t, atomic_load(&recorder.header->totals.inherited_blocks));
        event_word(t, atomic_load(&recorder.header->totals.inherited_bytes));
        event_publish(t);
    }
}

void event_map(struct thread *t, void *p, size_t size, bool plain, const uint64_t *caller)
{
    if (UNLIKELY(recorder_paused()))
        return;
    event_tick(t);
    uint32_t stack = event_stack(t, caller);
    bool arena = plain && python_maps_arena(CALLER_PC(caller), size);
    if (arena)
        stack = below(stack, WIRE_NODE_POOL + WIRE_POOL_ARENAS);
    if (arena)
        python_arena_mapped(p);
    uint64_t epoch = arena ? count_arena(t, p, size) : accounts_epoch();
    if (event_room(t, 4)) {
        event_sequence(t);
        event_word(t, WIRE_WORD(WIRE_MAP, 0, (uint64_t)(uintptr_t)p & WIRE_LOW48));
        event_word(t, stack | (arena ? WIRE_MAP_ARENA : 0) | epoch << WIRE_MAP_EPOCH);
        event_word(t, size);
        event_publish(t);
    }
}

bool event_unmap(struct thread *t, void *p, size_t size)
{
    uint64_t epoch = count_unmap(t, p, size);
    python_arena_unmapped(p);
    if (!event_room(t, 4))
        return false;
    event_sequence(t);
    event_word(t, WIRE_WORD(WIRE_UNMAP, WIRE_UNMAP_DONE, (uint64_t)(uintptr_t)p & WIRE_LOW48));
    event_word(t, size);
    event_word(t, epoch);
    event_publish(t);
    return true;
}

void event_unmap_failed(struct thread *t)
{
    if (event_room(t, 3)) {
        event_word(t, WIRE_WORD(WIRE_UNMAP, WIRE_UNMAP_FAILED, 0));
        event_word(t, 0);
        event_word(t, 0);
        event_publish(t);
    }
}

static void pool_alloc(struct thread *t, unsigned pool, uint64_t block, size_t size, uint32_t stack)
{
    if (event_room(t, 4)) {
        event_sequence(t);
        uint64_t epoch = accounts_epoch();
        event_word(t, WIRE_WORD(WIRE_MAP, pool, block & WIRE_LOW48));
        event_word(t, stack | epoch << WIRE_MAP_EPOCH);
        event_word(t, size);
        event_publish(t);
    }
}

void event_pool_alloc(struct thread *t, unsigned pool, const void *p, size_t size,
                      const uint64_t *caller)
{
    event_tick(t);
    uint32_t stack = below(event_stack(t, caller), WIRE_NODE_POOL + pool);
    pool_alloc(t, pool, (uintptr_t)p, size, stack);
}

void event_gpu_alloc(struct thread *t, unsigned pool, uint64_t block, size_t size,
                     const uint64_t *caller)
{
    event_tick(t);
    pool_alloc(t, pool, block, size, event_stack(t, caller));
}

void event_pool_free(struct thread *t, unsigned pool, const void *p)
{
    uint64_t address = (uint64_t)(uintptr_t)p & WIRE_LOW48;
    if (event_room(t, 4)) {
        event_sequence(t);
        event_word(t, WIRE_WORD(WIRE_UNMAP, WIRE_UNMAP_POOL, address));
        event_word(t, pool);
        event_word(t, accounts_epoch());
        event_publish(t);
    }
}

void event_gpu_reference(struct thread *t, enum wire_unmap what, uint64_t address, uint64_t first,
                         uint64_t second)
{
    event_tick(t);
    if (event_room(t, 4)) {
        event_sequence(t);
        event_word(t, WIRE_WORD(WIRE_UNMAP, what, address & WIRE_LOW48));
        event_word(t, first);
        event_word(t, second);
        event_publish(t);
    }
}
