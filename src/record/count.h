/*
 * count: what each allocation and free changes: the account of its stack, the total of the process
 * (heap_peak.h), and the block index (block_index.h). event.c inlines these functions; fast_path.h
 * has the most frequent case, count.c the rare cases, count_realloc.c reallocs, count_weighed.c
 * what run --sample does instead. [malloc-free], no lock. Call these between thread_enter() and
 * thread_leave().
 *
 * A freed block counts as temporary if it is the latest block that the freeing thread has counted
 * as allocated, and if its account belongs to this thread: another thread may have freed that block
 * and got the same address. The old block of a realloc is never temporary. count_gone and
 * account_shrinks decide this, fast_free in the same way, and count_weighed.c for run --sample.
 */
#ifndef TIDE_RECORD_COUNT_H
#define TIDE_RECORD_COUNT_H

#include "record/accounts_memory.h"
#include "record/heap_peak.h"
#include "wire/weights.h"

#define COUNT_ROW_LIMIT  (UINT32_C(1) << 31) /* counters of a row have 32 bits */
#define COUNT_ROW_BLOCKS (UINT32_C(1) << 23) /* times WIRE_SLACK_ALIKE: less than that */
#define COUNT_SLACK_MOST (UINT64_C(1) << 30)

/* --- count.c ---------------------------------------------------------------------------------- */

void count_size(struct thread *t, struct wire_account *a, unsigned bucket, uint64_t blocks,
                uint64_t bytes);
/* Keeps the counts of its cells from passing 32 bits. Call it once for many blocks. */
void count_carry(struct thread *t, struct wire_account *a);
/* Counts `blocks` freed blocks whose lifetime is in this bucket. */
void count_life_in(struct thread *t, struct wire_account *a, unsigned bucket, uint64_t blocks);
void count_inherited_free(const struct indexed *b);
void count_missed_free(struct thread *t, const struct indexed *old, uint32_t now);
void count_unknown_free(void);
/* Puts a block into the index in the rare case that its slot is not empty, or does not exist. */
void count_put(struct thread *t, void *p, const struct indexed *b, bool size_stored);
/* The part of count_free for blocks that are not small chunks of glibc. */
bool count_free_other(struct thread *t, void *p, usable_of *usable, bool sure);
/* array_growth.c: notes that a block is freed right after another one was allocated: an array may
 * be growing. */
void count_replaced(struct thread *t, uintptr_t address, const struct indexed *old);
/* The account of a stack that is not cached, or whose blocks are no longer alike; 0: there is
 * none. `size` may be WIRE_NO_SIZE. */
uint32_t count_find_account(struct thread *t, uint64_t size, uint64_t slack, unsigned bucket,
                            uint32_t stack, uint32_t *remembered);
/* The account that counts frees of another thread's blocks like `b`; 0: there is none. */
uint32_t count_others(struct thread *t, const struct indexed *b);
/* The amounts of an account that needs them now; NULL: there is no memory, and the event is lost.
 */
struct wire_amounts *count_amounts(struct thread *t, struct wire_account *a);

/* --- count_realloc.c (count_realloc is in accounts.h) ----------------------------------------- */

/* After a realloc: counts the old block of count_realloc as freed, unless that was done. */
void count_moving_goes(struct thread *t, uint32_t now);
/* Counts reallocs in an account. Their counter has 16 bits: those are lost for which there is no
 * room because the ring is full. */
void count_reallocs(struct thread *t, uint32_t number, uint64_t count);
/* Ends the realloc; its result is in the index. */
void count_moved(struct thread *t, uintptr_t to, uint64_t size, uint32_t account, uint32_t now);

/* --- accounts --------------------------------------------------------------------------------- */

static inline unsigned size_bucket(uint64_t size)
{
    return 63 - (unsigned)__builtin_clzll(size | 1);
}

static inline bool is_inherited(const struct indexed *b)
{
    return b->era < accounts.first_era;
}

static inline void account_touch(struct thread *t, uint32_t number, struct wire_account *a)
{
    a->next_dirty = atomic_load_explicit(&t->ring->dirty, memory_order_relaxed);
    atomic_store_explicit(&t->ring->dirty, number, memory_order_release);
}

/* Reads `cells` only once, because the program may overwrite it between the check and the use. */
static inline uint32_t count_first_cell(const struct wire_account *a)
{
    return *(const volatile uint32_t *)&a->cells;
}

/* 1 + the bucket of the lifetime of a block that was allocated in the era `birth`; 0: it lived for
 * less than a millisecond (store/buckets.h, without bucket 0). */
static inline unsigned count_life_of(struct counting *c, uint32_t birth, uint32_t now)
{
    if (LIKELY(c->lived.birth == birth) && LIKELY(c->lived.now == now))
        return c->lived.life;
    uint32_t from = LIKELY(now - birth < WIRE_ERAS) ? birth : now - WIRE_ERAS + 1;
    uint32_t began = atomic_load_explicit(&accounts.era_ms[from % WIRE_ERAS], memory_order_relaxed);
    uint32_t ends = atomic_load_explicit(&accounts.era_ms[now % WIRE_ERAS], memory_order_relaxed);
    c->lived.birth = birth;
    c->lived.now = now;
    c->lived.life = ends <= began ? 0 : 32u - (unsigned)__builtin_clz(ends - began);
    return c->lived.life;
}

/* Counts an allocation in an account of this thread. `w` is its weight (run --sample). */
static inline __attribute__((always_inline)) void account_grows(struct thread *t, uint32_t number,
                                                                struct wire_account *a,
                                                                uint64_t size, struct wire_weight w)
{
    struct wire_amounts *m = NULL;
    if (!account_is_alike(a, size, w.usable - w.bytes) && !(m = count_amounts(t, a)))
        return;
    if (UNLIKELY(!a->next_dirty))
        account_touch(t, number, a);
    total_grows(t, a, w.bytes);
    uint32_t allocs = a->allocs + (uint32_t)w.blocks;
    a->allocs = allocs;
    if (!m) {
        if (UNLIKELY(allocs >= COUNT_ROW_BLOCKS))
            accounts_rows(t);
        return;
    }
    m->bytes += w.bytes;
    m->slack += (uint32_t)(w.usable - w.bytes);
    if (UNLIKELY(size > m->largest_bytes))
        m->largest_bytes = size;
    unsigned bucket = size_bucket(size);
    if (UNLIKELY((a->owner & (WIRE_ACCOUNT_BUCKET | WIRE_ACCOUNT_SEVERAL)) != bucket))
        count_size(t, a, bucket, w.blocks, w.bytes);
    if (UNLIKELY(allocs >= COUNT_ROW_BLOCKS) || UNLIKELY(m->slack >= COUNT_ROW_LIMIT))
        accounts_rows(t);
}

/* Counts a free of a block of any account, or of `blocks` blocks that have the size of `b`
 * together. */
static inline __attribute__((always_inline)) void account_shrinks(struct thread *t,
                                                                  const struct indexed *b,
                                                                  uint64_t blocks, bool temporary,
                                                                  uint32_t now)
{
    uint32_t number = b->account;
    struct wire_account *a = account_at(number);
    if (UNLIKELY((a->owner ^ t->counting.owner) >= WIRE_ACCOUNT_OWNER)) {
        temporary = false;
        if (!(number = count_others(t, b)))
            return;
        a = account_at(number);
    }
    struct wire_amounts *m = NULL;
    if (!account_is_alike(a, b->size, b->usable - b->size) && !(m = count_amounts(t, a)))
        return;
    if (UNLIKELY(!a->next_dirty))
        account_touch(t, number, a);
    total_shrinks(t, a, b->size);
    if (LIKELY(!(a->owner & WIRE_ACCOUNT_OTHERS)))
        account_note_peak(a, m);
    uint32_t frees = a->frees + (uint32_t)blocks;
    a->frees = frees;
    if (temporary)
        a->temps += (uint32_t)blocks;
    if (m) {
        m->freed += b->size;
        m->slack_freed += (uint32_t)(b->usable - b->size);
        if (temporary)
            m->temp_bytes += b->size;
    }
    unsigned life = b->era != now ? count_life_of(&t->counting, b->era, now) : 0;
    if (life)
        count_life_in(t, a, life - 1, blocks);
    if (UNLIKELY(frees >= COUNT_ROW_BLOCKS) || UNLIKELY(m && m->slack_freed >= COUNT_ROW_LIMIT))
        accounts_rows(t);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static inline bool count_any_stored(void)
{
    return atomic_load_explicit(&recorder.any_stored, memory_order_relaxed);
}

/* Counts a block that was just put into the index. `number` is the account of its stack. */
static inline __attribute__((always_inline)) void
count_added(struct thread *t, void *p, size_t size, size_t usable, uint32_t number, uint32_t now)
{
    struct counting *c = &t->counting;
    c->last_alloc = (uintptr_t)p;
    c->fresh.address = (uintptr_t)p;
    c->fresh.size = size;
    c->fresh.account = number;
    c->fresh.era = now;
    if (UNLIKELY(c->moving_from != 0)) {
        count_moving_goes(t, now);
        count_moved(t, (uintptr_t)p, size, number, now);
    }
    account_grows(t, number, account_at(number), size, (struct wire_weight){1, size, usable});
}

/* The account of a stack; 0: there is none. `account` is where the number is cached, or NULL. */
static inline __attribute__((always_inline)) uint32_t
count_account(struct thread *t, size_t size, size_t slack, uint32_t stack, uint32_t *account)
{
    uint32_t number = LIKELY(account != NULL) ? *account : 0;
    if (LIKELY(number)) {
        const struct wire_account *a = account_at(number);
        if (account_is_alike(a, size, slack) || account_amounts(a))
            return number;
    }
    return count_find_account(t, size, slack, size_bucket(size), stack, account);
}

/* Counts an allocation. `word` is the block's slot, from index_word_of. Returns false if the block
 * is not counted. */
static inline __attribute__((always_inline)) bool
count_alloc(struct thread *t, void *p, size_t size, size_t usable, bool size_stored,
            _Atomic uint64_t *word, uint32_t stack, uint32_t *account)
{
    if (UNLIKELY(usable - size > COUNT_SLACK_MOST)) {
        usable = size;
        word = NULL;
    }
    uint32_t number = count_account(t, size, usable - size, stack, account), now = era_now();
    if (UNLIKELY(!number))
        return false;
    struct indexed b = {number, now, size, usable};
    if (UNLIKELY(!index_put_quickly(word, (uintptr_t)p, &b, size_stored)))
        count_put(t, p, &b, size_stored);
    count_added(t, p, size, usable, number, now);
    return true;
}

/* count_alloc for a small chunk of glibc, with the slot from index_chunk_word. */
static inline __attribute__((always_inline)) bool
count_alloc_chunk(struct thread *t, void *p, size_t size, uint64_t chunk, _Atomic uint64_t *word,
                  uint32_t now, uint32_t stack, uint32_t *account)
{
    uint64_t usable = chunk - 8;
    uint32_t number = count_account(t, size, usable - size, stack, account);
    if (UNLIKELY(!number))
        return false;
    if (UNLIKELY(
            !index_put_chunk(word, (uintptr_t)p, chunk, (uint32_t)(usable - size), number, now))) {
        struct indexed b = {number, now, size, usable};
        count_put(t, p, &b, false);
    }
    count_added(t, p, size, usable, number, now);
    return true;
}

/* Removes a block from the index; false: it is not there. */
static inline __attribute__((always_inline)) bool count_take(void *p, usable_of *usable,
                                                             struct indexed *out)
{
    if (UNLIKELY(!usable || count_any_stored()) && index_take_stored((uintptr_t)p, out))
        return true;
    return usable && index_take_quickly((uintptr_t)p, chunk_freed(p, usable), out);
}

/* count_take for a small chunk of glibc, if there are no blocks with a stored size. */
static inline __attribute__((always_inline)) bool count_take_chunk(void *p, usable_of *usable,
                                                                   struct indexed *out)
{
    return chunk_is_trusted(usable) && !UNLIKELY(count_any_stored()) &&
           index_take_chunk(index_chunk_word((uintptr_t)p), (uintptr_t)p, chunk_bytes(p), out);
}

/* Counts the free of a block that was removed from the index. */
static inline __attribute__((always_inline)) void count_gone(struct thread *t, void *p,
                                                             const struct indexed *b)
{
    struct counting *c = &t->counting;
    bool temporary = c->last_alloc == (uintptr_t)p;
    uintptr_t fresh = c->fresh.address;
    c->fresh.address = 0;
    if (temporary)
        c->last_alloc = 0;
    if (UNLIKELY(is_inherited(b))) {
        const struct indexed inherited = *b;
        count_inherited_free(&inherited);
        return;
    }
    if (fresh && c->fresh.size != b->size && fresh != (uintptr_t)p) {
        const struct indexed old = *b;
        c->fresh.address = fresh;
        count_replaced(t, (uintptr_t)p, &old);
        c->fresh.address = 0;
    }
    account_shrinks(t, b, 1, temporary, era_now());
}

/* Counts a free. `usable` asks the allocator for the size; NULL: the block has a stored size.
 * Returns false if the block is not known. */
static inline __attribute__((always_inline)) bool count_free(struct thread *t, void *p,
                                                             usable_of *usable, bool sure)
{
    struct indexed b;
    if (UNLIKELY(!count_take_chunk(p, usable, &b)))
        return count_free_other(t, p, usable, sure);
    count_gone(t, p, &b);
    return true;
}

#endif
