/*
 * Counting: what an allocation or a free changes, in the account of its stack, in the total of the
 * process and in the block index.
 */
#include "record/accounts_memory.h"

#define CELLS_CLAIMED  8         /* accounts, for twice as many cells */
#define CELLS_MOST     64        /* of one account: more than there are groups */
#define PENDING_MOST   (4 << 10) /* bytes that a thread adds to the heap before others know */
#define ROW_LIMIT      (UINT32_C(1) << 31)
#define SLACK_MOST     (UINT64_C(1) << 30)
#define GROWTHS_LOOKED 64 /* replacements that are no growth, and more than those that are */

/* --- the total and its peak ------------------------------------------------------------------- */

static inline uint64_t load(_Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static __attribute__((noinline)) void save(struct wire_account *a, uint32_t epoch)
{
    a->saved_bytes = a->base_bytes + a->bytes - a->freed;
    a->saved_slack = a->base_slack + a->slack - a->slack_freed;
    a->saved_blocks = a->base_blocks + a->allocs - a->frees;
    a->saved_epoch = epoch;
}

/* The heap has been so large; true: as never before. */
static bool note_peak(uint64_t live)
{
    struct wire_totals *s = accounts.totals;
    uint64_t peak = load(&s->interval_peak_bytes);
    if ((int64_t)live < 0)
        return false; /* blocks went whose thread has not told of them yet */
    while (live > peak && !atomic_compare_exchange_weak(&s->interval_peak_bytes, &peak, live))
        ;
    peak = load(&s->peak_bytes);
    while (live > peak) {
        if (atomic_compare_exchange_weak(&s->peak_bytes, &peak, live)) {
            atomic_fetch_add(&s->peak_epoch, 1);
            return true;
        }
    }
    return false;
}

uint64_t accounts_interval_peak(uint32_t tick)
{
    struct wire_totals *s = accounts.totals;
    uint32_t seen = atomic_load_explicit(&s->peak_tick, memory_order_relaxed);
    if (seen == tick || !atomic_compare_exchange_strong(&s->peak_tick, &seen, tick))
        return 0;
    uint64_t live = load(&s->live_bytes), peak = atomic_exchange(&s->interval_peak_bytes, 0);
    return (int64_t)live < 0 || peak > live ? peak : live;
}

/* true: that was a new peak. */
static bool settle(struct thread *t)
{
    int64_t pending = t->counting.pending;
    if (!pending)
        return false;
    t->counting.pending = 0;
    uint64_t before = atomic_fetch_add(&accounts.totals->live_bytes, (uint64_t)pending);
    return note_peak(pending > 0 ? before + (uint64_t)pending : before);
}

void accounts_settle(struct thread *t)
{
    settle(t);
}

/* Threads tell each other what they added when it is enough, so the total is right to that. */
static __attribute__((noinline)) void total_shared(struct thread *t, struct wire_account *a,
                                                   int64_t change)
{
    struct wire_totals *s = accounts.totals;
    uint32_t before = atomic_load_explicit(&s->peak_epoch, memory_order_relaxed), epoch;
    bool raised = false;
    if (change > 0 && a->saved_epoch != before)
        save(a, before);
    t->counting.pending += change;
    /* At once, while no other thread does: then the total is exact. */
    bool last = atomic_load_explicit(&s->total_owner, memory_order_relaxed) == t->counting.owner;
    if (last || t->counting.pending > PENDING_MOST || t->counting.pending < -PENDING_MOST) {
        raised = settle(t);
        if (!last)
            atomic_store_explicit(&s->total_owner, t->counting.owner, memory_order_relaxed);
    }
    epoch = atomic_load_explicit(&s->peak_epoch, memory_order_relaxed);
    if (change <= 0 && a->saved_epoch != epoch)
        save(a, epoch);
    /* A peak that this block made has it. Of one that another thread has noted meanwhile, nobody
     * knows. */
    if (change > PENDING_MOST && epoch != before && !raised) {
        atomic_store_explicit(&s->unsure_bytes, (uint64_t)change, memory_order_relaxed);
        atomic_store_explicit(&s->unsure_epoch, epoch, memory_order_relaxed);
    }
}

/* Before an account grows by `size`. */
static inline void total_grows(struct thread *t, struct wire_account *a, uint64_t size)
{
    struct wire_totals *s = accounts.totals;
    if (UNLIKELY(atomic_load_explicit(&recorder.several, memory_order_relaxed))) {
        total_shared(t, a, (int64_t)size);
        return;
    }
    uint64_t live = load(&s->live_bytes) + size;
    uint32_t epoch = atomic_load_explicit(&s->peak_epoch, memory_order_relaxed);
    if (UNLIKELY(a->saved_epoch != epoch) && live <= load(&s->peak_bytes))
        save(a, epoch); /* else the peak is after this */
    store(&s->live_bytes, live);
}

/* Before it shrinks. */
static inline void total_shrinks(struct thread *t, struct wire_account *a, uint64_t size)
{
    struct wire_totals *s = accounts.totals;
    if (UNLIKELY(atomic_load_explicit(&recorder.several, memory_order_relaxed))) {
        total_shared(t, a, -(int64_t)size);
        return;
    }
    uint64_t live = load(&s->live_bytes);
    if (UNLIKELY((int64_t)live > (int64_t)load(&s->interval_peak_bytes))) {
        store(&s->interval_peak_bytes, live);
        if (live > load(&s->peak_bytes)) {
            store(&s->peak_bytes, live);
            atomic_store_explicit(&s->peak_epoch,
                                  atomic_load_explicit(&s->peak_epoch, memory_order_relaxed) + 1,
                                  memory_order_relaxed);
        }
    }
    uint32_t epoch = atomic_load_explicit(&s->peak_epoch, memory_order_relaxed);
    if (a->saved_epoch != epoch)
        save(a, epoch);
    store(&s->live_bytes, live - size);
}

/* --- sizes and lifetimes ---------------------------------------------------------------------- */

/* Read once: what is checked is what is used. */
static inline uint32_t first_cell(const struct wire_account *a)
{
    return *(const volatile uint32_t *)&a->cells;
}

static __attribute__((noinline)) struct wire_cell *cell_of(struct thread *t, struct wire_account *a,
                                                           unsigned group, unsigned lives)
{
    struct counting *c = &t->counting;
    const uint32_t head = first_cell(a);
    uint32_t n = head;
    for (unsigned i = 0; n; i++) {
        if (i == CELLS_MOST || !account_is_sound(n / 2))
            return NULL;
        struct wire_cell *cell = cell_at(n);
        if (cell->group == group && cell->lives == lives)
            return cell;
        n = cell->next;
    }
    if (c->cells == c->cells_end) {
        uint32_t first = accounts_claim(CELLS_CLAIMED);
        if (!first)
            return NULL;
        c->cells = first * 2;
        c->cells_end = (first + CELLS_CLAIMED) * 2;
    }
    uint32_t number = c->cells++;
    struct wire_cell *cell = cell_at(number);
    struct wire_cell *first = head ? cell_at(head) : NULL;
    cell->group = (uint16_t)group;
    cell->lives = (uint16_t)lives;
    if (first && first->lives && !lives) { /* lifetimes are counted most often, and stay first */
        cell->next = first->next;
        first->next = number;
    } else {
        cell->next = head;
        a->cells = number;
    }
    return cell;
}

static inline unsigned size_bucket(uint64_t size)
{
    return 63 - (unsigned)__builtin_clzll(size | 1);
}

static __attribute__((noinline)) void count_size(struct thread *t, struct wire_account *a,
                                                 unsigned bucket, uint64_t blocks, uint64_t bytes)
{
    struct wire_cell *cell = cell_of(t, a, bucket / WIRE_CELL_SIZES, 0);
    if (!cell)
        return;
    cell->sizes.count[bucket % WIRE_CELL_SIZES] += (uint32_t)blocks;
    cell->sizes.bytes[bucket % WIRE_CELL_SIZES] += bytes;
}

/* A block of an earlier era ends. */
static __attribute__((noinline)) void count_life(struct thread *t, struct wire_account *a,
                                                 uint32_t birth, uint32_t now, uint64_t blocks)
{
    uint32_t from = now - birth < WIRE_ERAS ? birth : now - WIRE_ERAS + 1;
    uint32_t began = atomic_load_explicit(&accounts.era_ms[from % WIRE_ERAS], memory_order_relaxed);
    uint32_t ends = atomic_load_explicit(&accounts.era_ms[now % WIRE_ERAS], memory_order_relaxed);
    if (ends <= began)
        return;
    unsigned bucket = 32 - (unsigned)__builtin_clz(ends - began); /* store/buckets.h */
    unsigned group = (bucket - 1) / WIRE_CELL_LIVES;
    uint32_t head = first_cell(a);
    struct wire_cell *cell = account_is_sound(head / 2) ? cell_at(head) : NULL;
    if (UNLIKELY(!cell || !cell->lives || cell->group != group))
        cell = cell_of(t, a, group, 1);
    if (cell)
        cell->lives_count[(bucket - 1) % WIRE_CELL_LIVES] += (uint32_t)blocks;
}

/* --- events ----------------------------------------------------------------------------------- */

static inline void account_touch(struct thread *t, uint32_t number, struct wire_account *a)
{
    a->next_dirty = atomic_load_explicit(&t->ring->dirty, memory_order_relaxed);
    atomic_store_explicit(&t->ring->dirty, number, memory_order_release);
}

/* Counters of a row have 32 bits. */
static inline void row_check(struct thread *t, const struct wire_account *a)
{
    if (UNLIKELY((a->allocs | a->frees | a->slack | a->slack_freed) >= ROW_LIMIT))
        accounts_rows(t);
}

/* An allocation, of an account that is this thread's own. `w`: what it counts for. */
static inline __attribute__((always_inline)) void account_grows(struct thread *t, uint32_t number,
                                                                struct wire_account *a,
                                                                uint64_t size, struct wire_weight w)
{
    unsigned bucket = size_bucket(size);
    if (UNLIKELY(!a->next_dirty))
        account_touch(t, number, a);
    total_grows(t, a, w.bytes);
    a->allocs += (uint32_t)w.blocks;
    a->bytes += w.bytes;
    a->slack += (uint32_t)(w.usable - w.bytes);
    if (UNLIKELY(size > a->largest_bytes))
        a->largest_bytes = size;
    if (UNLIKELY((a->owner & (WIRE_ACCOUNT_BUCKET | WIRE_ACCOUNT_SEVERAL)) != bucket)) {
        a->owner |= WIRE_ACCOUNT_SEVERAL;
        count_size(t, a, bucket, w.blocks, w.bytes);
    }
}

/* A free of a block of any account, or of `blocks` that are of so many bytes together. The account
 * that it was counted in. */
static inline __attribute__((always_inline)) struct wire_account *
account_shrinks(struct thread *t, const struct indexed *b, uint64_t blocks, bool temporary,
                uint32_t now)
{
    uint32_t number = b->account;
    struct wire_account *a = account_at(number);
    if (UNLIKELY((a->owner ^ t->counting.owner) >= WIRE_ACCOUNT_OWNER)) {
        temporary = false;
        number = account_of(t, &t->counting.others, number, WIRE_ACCOUNT_OTHERS);
        if (UNLIKELY(!number)) {
            atomic_fetch_add_explicit(&t->ring->dropped, 1, memory_order_relaxed);
            return NULL;
        }
        a = account_at(number);
    }
    if (UNLIKELY(!a->next_dirty))
        account_touch(t, number, a);
    total_shrinks(t, a, b->size);
    uint64_t live = a->base_bytes + a->bytes - a->freed;
    if (live > a->own_peak_bytes && !(a->owner & WIRE_ACCOUNT_OTHERS)) {
        a->own_peak_bytes = live;
        a->own_peak_blocks = a->base_blocks + a->allocs - a->frees;
    }
    a->frees += (uint32_t)blocks;
    a->freed += b->size;
    a->slack_freed += (uint32_t)(b->usable - b->size);
    if (temporary) {
        a->temps += (uint32_t)blocks;
        a->temp_bytes += b->size;
    }
    if (b->era != now)
        count_life(t, a, b->era, now, blocks);
    row_check(t, a);
    return a;
}

static __attribute__((noinline)) void inherited_free(const struct indexed *b)
{
    atomic_fetch_add(&accounts.totals->inherited_blocks, 1);
    atomic_fetch_add(&accounts.totals->inherited_bytes, b->size);
}

static __attribute__((noinline, cold)) void missed_free(struct thread *t, const struct indexed *old,
                                                        uint32_t now)
{
    atomic_fetch_add(&accounts.totals->missed_frees, 1);
    if (is_inherited(old))
        inherited_free(old);
    else
        account_shrinks(t, old, 1, false, now);
}

/* A block went, or moved, for which the thread had just allocated another. */
static __attribute__((noinline)) void tell_growth(struct thread *t, uintptr_t from, uintptr_t to,
                                                  const struct indexed *old, uint64_t size,
                                                  uint32_t account, uint32_t era, bool by_realloc)
{
    if (UNLIKELY(t->end - t->at < 7) && !thread_spare_room(t)) {
        atomic_fetch_add_explicit(&t->ring->untold, 1, memory_order_relaxed);
        return;
    }
    event_sequence(t);
    event_word(t, WIRE_WORD(WIRE_GROWTH, by_realloc, (uint64_t)from & WIRE_LOW48));
    event_word(t, to);
    event_word(t, old->size);
    event_word(t, size);
    event_word(t, (uint64_t)old->account << 32 | account);
    event_word(t, (uint64_t)old->era << 32 | era);
    event_publish(t);
}

static inline uint8_t one_more(uint8_t n)
{
    return n < UINT8_MAX ? (uint8_t)(n + 1) : n;
}

/* The block is freed right after another was allocated: is it the array that the other becomes?
 * The collector decides (collect/counting/realloc_chains.h); this only spares it most others. */
static __attribute__((noinline)) void look_at_growth(struct thread *t, uintptr_t address,
                                                     const struct indexed *old)
{
    uint64_t size = t->counting.fresh.size;
    bool grows = size * 10 >= old->size * 11 && size * 2 <= old->size * 9;
    if (t->counting.fresh.account == old->account) {
        struct wire_account *a = account_at(old->account);
        if (a->otherwise > GROWTHS_LOOKED && a->otherwise > a->growths)
            return;
        if (grows)
            a->growths = one_more(a->growths);
        else if (size < old->size || size > old->size * 4)
            a->otherwise = one_more(a->otherwise);
        else
            return;
    } else if (!grows) {
        return;
    }
    tell_growth(t, address, t->counting.fresh.address, old, size, t->counting.fresh.account,
                t->counting.fresh.era, false);
}

/* As realloc_chains_may_replace. */
static inline bool may_replace(const struct thread *t, const struct indexed *old)
{
    uint64_t size = t->counting.fresh.size;
    if (t->counting.fresh.account == old->account)
        return size != old->size;
    return size - old->size - 1 < old->size * 4;
}

__attribute__((noinline)) uint32_t account_find(struct thread *t, uint64_t size, uint32_t stack,
                                                uint32_t *remembered)
{
    uint32_t number = account_of(t, &t->counting.own, stack, size_bucket(size));
    if (UNLIKELY(!number))
        return account_cut(t, stack, size_bucket(size));
    if (remembered)
        *remembered = number;
    return number;
}

bool count_alloc(struct thread *t, void *p, size_t size, size_t usable, bool told, uint32_t stack,
                 uint32_t *account)
{
    struct counting *c = &t->counting;
    if (UNLIKELY(usable - size > SLACK_MOST))
        usable = size;
    uint32_t number = LIKELY(account != NULL) ? *account : 0;
    if (UNLIKELY(!number) && !(number = account_find(t, size, stack, account)))
        return false;
    struct wire_account *a = account_at(number);
    uint32_t now = era_now();
    struct indexed old, b = {number, now, size, usable};
    if (UNLIKELY(!index_put_quickly((uintptr_t)p, &b, told)) &&
        index_put((uintptr_t)p, &b, told, &old))
        missed_free(t, &old, now);
    bool moved = c->moving_from != 0;
    if (UNLIKELY(moved && c->moving_known)) {
        if (is_inherited(&c->moving))
            inherited_free(&c->moving);
        else {
            account_shrinks(t, &c->moving, 1, false, now);
            if (size > c->moving.size)
                tell_growth(t, c->moving_from, (uintptr_t)p, &c->moving, size, number, now, true);
        }
    }
    account_grows(t, number, a, size, (struct wire_weight){1, size, usable});
    c->last_alloc = (uintptr_t)p;
    c->fresh.address = moved ? 0 : (uintptr_t)p;
    c->fresh.size = size;
    c->fresh.account = number;
    c->fresh.era = now;
    if (UNLIKELY(moved)) {
        a->reallocs++;
        c->moving_from = 0;
        atomic_store_explicit(&t->ring->reallocating, 0, memory_order_relaxed);
        if (a->reallocs == UINT16_MAX)
            accounts_rows(t);
    }
    row_check(t, a);
    return true;
}

static __attribute__((noinline)) void unknown_free(void)
{
    atomic_fetch_add_explicit(&accounts.totals->unknown_frees, 1, memory_order_relaxed);
}

static inline bool take(void *p, usable_of *usable, struct indexed *out)
{
    if (UNLIKELY(!usable || index_has_told()) && index_take_told((uintptr_t)p, out))
        return true;
    return usable && index_take_quickly((uintptr_t)p, chunk_usable(p, usable), out);
}

uint32_t count_owner(void *p, usable_of *usable)
{
    struct indexed b, none;
    bool told = !usable;
    if (recorder.sample_bytes ? !sample_find(p, &b, false) : !take(p, usable, &b))
        return 0;
    if (!recorder.sample_bytes)
        index_put((uintptr_t)p, &b, told, &none);
    return is_inherited(&b) ? 0 : b.account;
}

bool count_free(struct thread *t, void *p, usable_of *usable, bool sure)
{
    struct counting *c = &t->counting;
    struct indexed b;
    /* While the size comes from memory, of which the class follows: it is often one of these. */
    index_prefetch((uintptr_t)p, c->freed[0]);
    index_prefetch((uintptr_t)p, c->freed[1]);
    bool temporary = c->last_alloc == (uintptr_t)p;
    if (temporary)
        c->last_alloc = 0;
    uintptr_t fresh = c->fresh.address;
    c->fresh.address = 0;
    if (UNLIKELY(!take(p, usable, &b))) {
        if (sure)
            unknown_free();
        return false;
    }
    c->freed[1] = c->freed[0];
    c->freed[0] = (uint8_t)(usable ? index_class(b.usable) : index_told_class((uintptr_t)p));
    if (UNLIKELY(is_inherited(&b))) {
        inherited_free(&b);
        return true;
    }
    uint32_t now = era_now();
    if (fresh && UNLIKELY(may_replace(t, &b)) && fresh != (uintptr_t)p) {
        c->fresh.address = fresh;
        look_at_growth(t, (uintptr_t)p, &b);
        c->fresh.address = 0;
    }
    account_shrinks(t, &b, 1, temporary, now);
    return true;
}

bool count_realloc(struct thread *t, void *old, usable_of *usable, bool sure)
{
    struct counting *c = &t->counting;
    /* First: who stops the thread from here on knows that the block is neither here nor there. */
    atomic_store_explicit(&t->ring->reallocating, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    c->moving_known = take(old, usable, &c->moving);
    c->moving_told = !usable;
    c->moving_sure = sure;
    c->moving_from = (uintptr_t)old;
    c->fresh.address = 0;
    if (!c->moving_known && sure)
        unknown_free();
    return c->moving_known;
}

void count_realloc_failed(struct thread *t)
{
    struct counting *c = &t->counting;
    struct indexed none;
    if (!c->moving_from)
        return;
    if (c->moving_known)
        index_put(c->moving_from, &c->moving, c->moving_told, &none);
    else if (c->moving_sure)
        atomic_fetch_sub_explicit(&accounts.totals->unknown_frees, 1, memory_order_relaxed);
    c->moving_from = 0;
    atomic_store_explicit(&t->ring->reallocating, 0, memory_order_relaxed);
}

/* What came of the realloc is not recorded. */
void count_unrecorded(struct thread *t)
{
    struct counting *c = &t->counting;
    if (c->moving_from && c->moving_known) {
        if (is_inherited(&c->moving))
            inherited_free(&c->moving);
        else
            account_shrinks(t, &c->moving, 1, false, era_now());
    }
    c->moving_from = 0;
    atomic_store_explicit(&t->ring->reallocating, 0, memory_order_relaxed);
}

/* --- what sampled blocks stand for ------------------------------------------------------------ */

void account_adds(struct thread *t, uint32_t number, uint64_t size, struct wire_weight w)
{
    struct wire_account *a = account_at(number);
    account_grows(t, number, a, size, w);
    row_check(t, a);
}

void account_adds_reallocs(struct thread *t, uint32_t number, uint64_t count)
{
    struct wire_account *a = account_at(number);
    while (count) {
        uint64_t room = (uint64_t)UINT16_MAX - a->reallocs, now = count < room ? count : room;
        if (!a->next_dirty)
            account_touch(t, number, a);
        a->reallocs = (uint16_t)(a->reallocs + now);
        count -= now;
        if (a->reallocs == UINT16_MAX)
            accounts_rows(t);
    }
}

void account_removes(struct thread *t, const struct indexed *b, uint64_t blocks, bool temporary)
{
    account_shrinks(t, b, blocks, temporary, era_now());
}

/* --- arenas of CPython -------------------------------------------------------------------------*/

/* They are part of the heap's total; everything else of them is the collector's to count. */
uint32_t count_arena(struct thread *t, void *p, size_t size)
{
    struct wire_account none = {0};
    struct indexed old, b = {WIRE_ACCOUNT_ARENA, era_now(), size, size};
    total_grows(t, &none, size);
    index_put((uintptr_t)p, &b, true, &old);
    return atomic_load_explicit(&accounts.totals->peak_epoch, memory_order_relaxed);
}

uint32_t accounts_epoch(void)
{
    return atomic_load_explicit(&accounts.totals->peak_epoch, memory_order_relaxed);
}

uint32_t count_unmap(struct thread *t, void *p, size_t size)
{
    struct wire_account none = {0};
    struct indexed b;
    if (index_has_told() && index_take((uintptr_t)p, INDEX_TOLD, &b)) {
        if (b.account == WIRE_ACCOUNT_ARENA && b.size == size) {
            if (!is_inherited(&b))
                total_shrinks(t, &none, size);
        } else
            index_put((uintptr_t)p, &b, true, &b);
    }
    return atomic_load_explicit(&accounts.totals->peak_epoch, memory_order_relaxed);
}
