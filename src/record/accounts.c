#include "record/accounts.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/recorder.h"

#define WINDOW_BITS    13 /* WIRE_ACCOUNTS_FIRST */
#define WINDOWS        (26 - WINDOW_BITS)
#define CLAIMED        32        /* accounts at a time: a page */
#define CELLS_CLAIMED  8         /* accounts, for twice as many cells */
#define PENDING_MOST   (4 << 10) /* bytes that a thread adds to the heap before others know */
#define ROW_LIMIT      (UINT32_C(1) << 31)
#define SLACK_MOST     (UINT64_C(1) << 30)
#define GROWTHS_LOOKED 64 /* replacements that are no growth, and more than those that are */

static_assert(WIRE_ACCOUNTS_FIRST == 1u << WINDOW_BITS, "windows");

static struct {
    struct wire_header *header;
    struct wire_totals *totals;
    const _Atomic uint32_t *era_ms;
    _Atomic uintptr_t windows[WINDOWS]; /* where account 0 would be; 0: not mapped */
    _Atomic uint32_t owners;
    uint32_t limit, first_era;
} shared;

/* --- memory ----------------------------------------------------------------------------------- */

static inline unsigned window_of(uint32_t number)
{
    return 31 - WINDOW_BITS - (unsigned)__builtin_clz(number + WIRE_ACCOUNTS_FIRST);
}

static inline size_t window_start(unsigned window)
{
    return (size_t)WIRE_ACCOUNTS_FIRST * ((1u << window) - 1);
}

#define UNIT sizeof(struct wire_account)

static inline struct wire_account *account_at(uint32_t number)
{
    return (struct wire_account *)(atomic_load_explicit(&shared.windows[window_of(number)],
                                                        memory_order_acquire) +
                                   (size_t)number * UNIT);
}

static inline struct wire_cell *cell_at(uint32_t number)
{
    return (struct wire_cell *)((char *)account_at(number / 2) +
                                (size_t)(number % 2) * WIRE_CELL_BYTES);
}

/* As record/nodes.c maps its windows: a longer copy of the last page of the window before. */
static bool window_map(unsigned window)
{
    uintptr_t none = 0;
    size_t size = ((size_t)WIRE_ACCOUNTS_FIRST << window) * UNIT;
    if (window >= WINDOWS || !sys_leaves_room(size))
        return false;
    uintptr_t last_page =
        atomic_load(&shared.windows[window - 1]) + window_start(window) * UNIT - WIRE_PAGE;
    sys_call(SYS_munlock, last_page, (long)WIRE_PAGE);
    long copy = sys_call(SYS_mremap, last_page, 0L, size + WIRE_PAGE, (long)MREMAP_MAYMOVE, 0L);
    if (copy < 0 && copy > -4096)
        return false;
    sys_call(SYS_munmap, copy, (long)WIRE_PAGE);
    sys_call(SYS_madvise, copy + WIRE_PAGE, size, (long)MADV_DONTDUMP);
    if (!atomic_compare_exchange_strong(&shared.windows[window], &none,
                                        (uintptr_t)copy + WIRE_PAGE - window_start(window) * UNIT))
        sys_call(SYS_munmap, copy + WIRE_PAGE, size);
    return true;
}

/* The first of `count` accounts; 0: there is no memory. */
static uint32_t claim(uint32_t count)
{
    uint32_t first = atomic_load_explicit(&shared.totals->accounts_end, memory_order_relaxed);
    do {
        if (first + count > shared.limit)
            return 0;
        for (unsigned w = 1; w <= window_of(first + count - 1); w++)
            if (!atomic_load_explicit(&shared.windows[w], memory_order_acquire) && !window_map(w))
                return 0;
    } while (!atomic_compare_exchange_weak(&shared.totals->accounts_end, &first, first + count));
    return first;
}

bool accounts_reset(struct wire_header *h, char *first)
{
    shared.header = h;
    shared.totals = &h->totals;
    shared.era_ms = (const _Atomic uint32_t *)((char *)h + h->eras_offset);
    shared.limit = h->accounts_limit < WIRE_ACCOUNTS_MAX ? h->accounts_limit : WIRE_ACCOUNTS_MAX;
    shared.first_era = h->first_era;
    atomic_store(&shared.windows[0], (uintptr_t)first);
    index_forked();
    index_prepare();
    index_tell(h);
    return first != NULL;
}

void accounts_drop(void)
{
    for (unsigned i = 0; i < WINDOWS; i++) {
        uintptr_t window = atomic_exchange(&shared.windows[i], 0);
        if (window)
            sys_call(SYS_munmap, window + window_start(i) * UNIT,
                     ((size_t)WIRE_ACCOUNTS_FIRST << i) * UNIT);
    }
    shared.header = NULL;
}

/* --- which account ---------------------------------------------------------------------------- */

static inline uint32_t table_home(const struct account_table *a, uint32_t key)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (a->size - 1);
}

static bool table_grow(struct account_table *a)
{
    struct account_table old = *a;
    uint32_t size = old.size * 2;
    uint64_t *entries = sys_map(size * sizeof *entries);
    if (!entries)
        return false;
    sys_call(SYS_madvise, entries, size * sizeof *entries, (long)MADV_WIPEONFORK);
    a->entries = entries;
    a->size = size;
    for (uint32_t i = 0; i < old.size; i++) {
        if (!old.entries[i])
            continue;
        uint32_t at = table_home(a, (uint32_t)(old.entries[i] >> 32));
        while (entries[at])
            at = (at + 1) & (size - 1);
        entries[at] = old.entries[i];
    }
    if (old.size > ACCOUNT_TABLE_FIRST) /* the first is part of the thread */
        sys_call(SYS_munmap, old.entries, old.size * sizeof *old.entries);
    return true;
}

void accounts_init(struct counting *c, void *memory)
{
    c->own = (struct account_table){.entries = memory, .size = ACCOUNT_TABLE_FIRST};
    c->others = (struct account_table){.entries = (uint64_t *)memory + ACCOUNT_TABLE_FIRST,
                                       .size = ACCOUNT_TABLE_FIRST};
}

static void table_clear(struct account_table *a)
{
    if (a->used)
        memset(a->entries, 0, a->size * sizeof *a->entries);
    a->used = 0;
}

static __attribute__((noinline)) uint32_t account_make(struct thread *t, struct account_table *a,
                                                       uint32_t key, uint32_t flags)
{
    struct counting *c = &t->counting;
    if (a->used * 2 >= a->size && !table_grow(a))
        return 0;
    if (c->accounts == c->accounts_end) {
        uint32_t first = claim(CLAIMED);
        if (!first)
            return 0;
        c->accounts = first;
        c->accounts_end = first + CLAIMED;
    }
    uint32_t number = c->accounts++, at = table_home(a, key);
    struct wire_account *made = account_at(number);
    made->node = key;
    made->owner = c->owner | flags;
    made->saved_epoch =
        atomic_load_explicit(&shared.totals->peak_epoch, memory_order_relaxed); /* it had nothing */
    while (a->entries[at])
        at = (at + 1) & (a->size - 1);
    a->entries[at] = (uint64_t)key << 32 | number;
    a->used++;
    return number;
}

/* 0: there is no memory for another one. */
static inline uint32_t account_of(struct thread *t, struct account_table *a, uint32_t key,
                                  uint32_t flags)
{
    for (uint32_t at = table_home(a, key); a->entries[at]; at = (at + 1) & (a->size - 1))
        if (LIKELY(a->entries[at] >> 32 == key))
            return (uint32_t)a->entries[at];
    return account_make(t, a, key, flags);
}

/* When there is no memory: blocks are counted without their stack, in the first account. */
static __attribute__((noinline, cold)) uint32_t any_account(struct thread *t,
                                                            const struct account_table *a)
{
    for (uint32_t i = 0; i < a->size; i++)
        if (a->entries[i])
            return (uint32_t)a->entries[i];
    atomic_fetch_add_explicit(&t->ring->dropped, 1, memory_order_relaxed);
    return 0;
}

void accounts_begin(struct thread *t)
{
    struct counting *c = &t->counting;
    c->owner = (atomic_fetch_add(&shared.owners, 1) + 1) * WIRE_ACCOUNT_OWNER;
    table_clear(&c->own);
    table_clear(&c->others);
    c->last_alloc = c->fresh.address = 0;
    atomic_store_explicit(&t->ring->owner, c->owner, memory_order_relaxed);
    if (!atomic_load_explicit(&t->ring->dirty, memory_order_relaxed))
        atomic_store_explicit(&t->ring->dirty, WIRE_LAST, memory_order_relaxed);
}

/* --- rows ------------------------------------------------------------------------------------- */

static inline void account_touch(struct thread *t, uint32_t number, struct wire_account *a)
{
    a->next_dirty = atomic_load_explicit(&t->ring->dirty, memory_order_relaxed);
    atomic_store_explicit(&t->ring->dirty, number, memory_order_release);
}

/* The row is in the ring: the account begins anew. */
static void row_taken(struct thread *t, struct wire_account *a)
{
    a->base_bytes += a->bytes - a->freed;
    a->base_slack += (uint64_t)a->slack - a->slack_freed;
    a->base_blocks += a->allocs - a->frees;
    a->allocs = a->frees = a->slack = a->slack_freed = 0;
    a->bytes = a->freed = 0;
    if (a->temps) {
        a->temps = 0;
        a->temp_bytes = 0;
    }
    if (a->reallocs)
        a->reallocs = 0;
    atomic_store_explicit(&t->ring->dirty, a->next_dirty, memory_order_release);
    a->next_dirty = 0;
    atomic_store_explicit(&t->ring->row_of, 0, memory_order_release);
}

static bool row_write(struct thread *t, uint32_t number, struct wire_account *a)
{
    bool small = a->allocs < 256 && a->frees < 256 && a->bytes < 1u << 20 && a->freed < 1u << 20 &&
                 a->slack < 4096 && a->slack_freed < 4096 && !a->temps && !a->reallocs;
    if (!remark_room(t, 7))
        return false;
    if (small) {
        event_word(t, WIRE_WORD(WIRE_ROW_SMALL, 0,
                                (uint64_t)a->allocs << 40 | (uint64_t)a->frees << 32 | number));
        event_word(t, a->bytes << 44 | a->freed << 24 | (uint64_t)a->slack << 12 | a->slack_freed);
    } else {
        event_word(t, WIRE_WORD(WIRE_ROW, 0, number));
        event_word(t, (uint64_t)a->allocs << 32 | a->frees);
        event_word(t, a->bytes);
        event_word(t, a->freed);
        event_word(t, (uint64_t)a->slack << 32 | a->slack_freed);
        event_word(t, (uint64_t)a->temps << 32 | a->reallocs);
        event_word(t, a->temp_bytes);
    }
    atomic_store_explicit(&t->ring->row_end, t->bias + (uintptr_t)t->at / 8, memory_order_relaxed);
    atomic_store_explicit(&t->ring->row_of, number, memory_order_release);
    event_publish(t);
    row_taken(t, a);
    return true;
}

void accounts_rows(struct thread *t)
{
    uint32_t number = atomic_load_explicit(&t->ring->dirty, memory_order_relaxed);
    accounts_settle(t);
    if (number == WIRE_LAST || !number)
        return;
    atomic_fetch_add(&t->ring->rows_written, 1);
    /* On aarch64 the stores after it, which clear accounts, could be seen before it. */
    atomic_thread_fence(memory_order_release);
    while (number != WIRE_LAST) {
        struct wire_account *a = account_at(number);
        uint32_t following = a->next_dirty;
        if (following != WIRE_LAST)
            __builtin_prefetch(account_at(following));
        if (!row_write(t, number, a))
            break;
        number = following;
    }
    atomic_fetch_add(&t->ring->rows_written, 1);
}

/* A hook was left while it wrote rows. */
void accounts_recover(struct thread *t)
{
    struct wire_ring *ring = t->ring;
    uint32_t number = atomic_load(&ring->row_of);
    if (number && atomic_load(&ring->written) >= atomic_load(&ring->row_end))
        row_taken(t, account_at(number));
    atomic_store(&ring->row_of, 0);
    if (atomic_load(&ring->rows_written) % 2)
        atomic_fetch_add(&ring->rows_written, 1);
    atomic_store(&ring->reallocating, 0);
    t->counting.moving_from = 0;
    t->counting.last_alloc = t->counting.fresh.address = 0;
}

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

/* The heap has been so large. */
static void note_peak(uint64_t live)
{
    struct wire_totals *s = shared.totals;
    uint64_t peak = load(&s->interval_peak_bytes);
    if ((int64_t)live < 0)
        return; /* blocks went whose thread has not told of them yet */
    while (live > peak && !atomic_compare_exchange_weak(&s->interval_peak_bytes, &peak, live))
        ;
    peak = load(&s->peak_bytes);
    while (live > peak) {
        if (atomic_compare_exchange_weak(&s->peak_bytes, &peak, live)) {
            atomic_fetch_add(&s->peak_epoch, 1);
            break;
        }
    }
}

uint64_t accounts_interval_peak(uint32_t tick)
{
    struct wire_totals *s = shared.totals;
    uint32_t seen = atomic_load_explicit(&s->peak_tick, memory_order_relaxed);
    if (seen == tick || !atomic_compare_exchange_strong(&s->peak_tick, &seen, tick))
        return 0;
    uint64_t live = load(&s->live_bytes), peak = atomic_exchange(&s->interval_peak_bytes, 0);
    return (int64_t)live < 0 || peak > live ? peak : live;
}

void accounts_settle(struct thread *t)
{
    int64_t pending = t->counting.pending;
    if (pending) {
        t->counting.pending = 0;
        uint64_t before = atomic_fetch_add(&shared.totals->live_bytes, (uint64_t)pending);
        note_peak(pending > 0 ? before + (uint64_t)pending : before);
    }
}

/* Threads tell each other what they added when it is enough, so the total is right to that. */
static __attribute__((noinline)) void total_shared(struct thread *t, struct wire_account *a,
                                                   int64_t change)
{
    struct wire_totals *s = shared.totals;
    uint32_t epoch;
    t->counting.pending += change;
    /* At once, while no other thread does: then the total is exact. */
    bool last = atomic_load_explicit(&s->total_owner, memory_order_relaxed) == t->counting.owner;
    if (last || t->counting.pending > PENDING_MOST || t->counting.pending < -PENDING_MOST) {
        accounts_settle(t);
        if (!last)
            atomic_store_explicit(&s->total_owner, t->counting.owner, memory_order_relaxed);
    }
    epoch = atomic_load_explicit(&s->peak_epoch, memory_order_relaxed);
    if (a->saved_epoch != epoch)
        save(a, epoch);
}

/* Before an account grows by `size`. */
static inline void total_grows(struct thread *t, struct wire_account *a, uint64_t size)
{
    struct wire_totals *s = shared.totals;
    if (UNLIKELY(atomic_load_explicit(&recorder.clocked, memory_order_relaxed))) {
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
    struct wire_totals *s = shared.totals;
    if (UNLIKELY(atomic_load_explicit(&recorder.clocked, memory_order_relaxed))) {
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

static __attribute__((noinline)) struct wire_cell *cell_of(struct thread *t, struct wire_account *a,
                                                           unsigned group, unsigned lives)
{
    struct counting *c = &t->counting;
    for (uint32_t n = a->cells; n;) {
        struct wire_cell *cell = cell_at(n);
        if (cell->group == group && cell->lives == lives)
            return cell;
        n = cell->next;
    }
    if (c->cells == c->cells_end) {
        uint32_t first = claim(CELLS_CLAIMED);
        if (!first)
            return NULL;
        c->cells = first * 2;
        c->cells_end = (first + CELLS_CLAIMED) * 2;
    }
    uint32_t number = c->cells++;
    struct wire_cell *cell = cell_at(number);
    cell->group = (uint16_t)group;
    cell->lives = (uint16_t)lives;
    cell->next = a->cells;
    a->cells = number;
    return cell;
}

static inline unsigned size_bucket(uint64_t size)
{
    return 63 - (unsigned)__builtin_clzll(size | 1);
}

static __attribute__((noinline)) void count_size(struct thread *t, struct wire_account *a,
                                                 unsigned bucket, uint64_t size)
{
    struct wire_cell *cell = cell_of(t, a, bucket / WIRE_CELL_SIZES, 0);
    if (!cell)
        return;
    cell->sizes.count[bucket % WIRE_CELL_SIZES]++;
    cell->sizes.bytes[bucket % WIRE_CELL_SIZES] += size;
}

/* A block of an earlier era ends. */
static __attribute__((noinline)) void count_life(struct thread *t, struct wire_account *a,
                                                 uint32_t birth, uint32_t now)
{
    uint32_t from = now - birth < WIRE_ERAS ? birth : now - WIRE_ERAS + 1;
    uint32_t began = atomic_load_explicit(&shared.era_ms[from % WIRE_ERAS], memory_order_relaxed);
    uint32_t ends = atomic_load_explicit(&shared.era_ms[now % WIRE_ERAS], memory_order_relaxed);
    if (ends <= began)
        return;
    unsigned bucket = 32 - (unsigned)__builtin_clz(ends - began); /* store/buckets.h */
    struct wire_cell *cell = cell_of(t, a, (bucket - 1) / WIRE_CELL_LIVES, 1);
    if (cell)
        cell->lives_count[(bucket - 1) % WIRE_CELL_LIVES]++;
}

/* --- events ----------------------------------------------------------------------------------- */

static inline uint32_t era_now(void)
{
    return (uint32_t)atomic_load_explicit(&shared.header->moment, memory_order_relaxed);
}

/* Counters of a row have 32 bits. */
static inline void row_check(struct thread *t, const struct wire_account *a)
{
    if (UNLIKELY((a->allocs | a->frees | a->slack | a->slack_freed) >= ROW_LIMIT))
        accounts_rows(t);
}

/* An allocation, of an account that is this thread's own. */
static inline void account_grows(struct thread *t, uint32_t number, struct wire_account *a,
                                 uint64_t size, uint64_t slack)
{
    unsigned bucket = size_bucket(size);
    if (UNLIKELY(!a->next_dirty))
        account_touch(t, number, a);
    total_grows(t, a, size);
    a->allocs++;
    a->bytes += size;
    a->slack += (uint32_t)slack;
    if (UNLIKELY(size > a->largest_bytes))
        a->largest_bytes = size;
    if (UNLIKELY((a->owner & (WIRE_ACCOUNT_BUCKET | WIRE_ACCOUNT_SEVERAL)) != bucket)) {
        a->owner |= WIRE_ACCOUNT_SEVERAL;
        count_size(t, a, bucket, size);
    }
}

/* A free of a block of any account. The account that it was counted in. */
static inline struct wire_account *account_shrinks(struct thread *t, const struct indexed *b,
                                                   bool temporary, uint32_t now)
{
    uint32_t number = b->account;
    struct wire_account *a = account_at(number);
    if (UNLIKELY((a->owner ^ t->counting.owner) >= WIRE_ACCOUNT_OWNER)) {
        temporary = false;
        number = account_of(t, &t->counting.others, number, WIRE_ACCOUNT_OTHERS);
        if (!number && !(number = any_account(t, &t->counting.others)))
            return NULL;
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
    a->frees++;
    a->freed += b->size;
    a->slack_freed += (uint32_t)(b->usable - b->size);
    if (temporary) {
        a->temps++;
        a->temp_bytes += b->size;
    }
    if (b->era != now)
        count_life(t, a, b->era, now);
    row_check(t, a);
    return a;
}

static inline bool is_inherited(const struct indexed *b)
{
    return b->era < shared.first_era;
}

static __attribute__((noinline)) void inherited_free(const struct indexed *b)
{
    atomic_fetch_add(&shared.totals->inherited_blocks, 1);
    atomic_fetch_add(&shared.totals->inherited_bytes, b->size);
}

static __attribute__((noinline, cold)) void missed_free(struct thread *t, const struct indexed *old,
                                                        uint32_t now)
{
    atomic_fetch_add(&shared.totals->missed_frees, 1);
    if (is_inherited(old))
        inherited_free(old);
    else
        account_shrinks(t, old, false, now);
}

/* A block went, or moved, for which the thread had just allocated another. */
static __attribute__((noinline)) void tell_growth(struct thread *t, uintptr_t from, uintptr_t to,
                                                  const struct indexed *old, uint64_t size,
                                                  uint32_t account, uint32_t era, bool by_realloc)
{
    if (!remark_room(t, 6))
        return;
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

bool count_alloc(struct thread *t, void *p, size_t size, size_t usable, bool told, uint32_t stack)
{
    struct counting *c = &t->counting;
    if (UNLIKELY(usable - size > SLACK_MOST))
        usable = size;
    uint32_t number = account_of(t, &c->own, stack, size_bucket(size));
    if (UNLIKELY(!number) && !(number = any_account(t, &c->own)))
        return false;
    struct wire_account *a = account_at(number);
    uint32_t now = era_now();
    struct indexed old, b = {number, now, size, usable};
    if (UNLIKELY(index_put((uintptr_t)p, &b, told, &old)))
        missed_free(t, &old, now);
    bool moved = c->moving_from != 0;
    if (UNLIKELY(moved && c->moving_known)) {
        if (is_inherited(&c->moving))
            inherited_free(&c->moving);
        else {
            account_shrinks(t, &c->moving, false, now);
            if (size > c->moving.size)
                tell_growth(t, c->moving_from, (uintptr_t)p, &c->moving, size, number, now, true);
        }
    }
    account_grows(t, number, a, size, usable - size);
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
    atomic_fetch_add_explicit(&shared.totals->unknown_frees, 1, memory_order_relaxed);
}

static inline bool take(void *p, usable_of *usable, struct indexed *out)
{
    if (UNLIKELY(!usable || index_has_told()) && index_take((uintptr_t)p, INDEX_TOLD, out))
        return true;
    return usable && index_take((uintptr_t)p, usable(p), out);
}

uint32_t count_owner(void *p, usable_of *usable)
{
    struct indexed b, none;
    bool told = !usable;
    if (!take(p, usable, &b))
        return 0;
    index_put((uintptr_t)p, &b, told, &none);
    return is_inherited(&b) ? 0 : b.account;
}

bool count_free(struct thread *t, void *p, usable_of *usable, bool sure)
{
    struct counting *c = &t->counting;
    struct indexed b;
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
    account_shrinks(t, &b, temporary, now);
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
        atomic_fetch_sub_explicit(&shared.totals->unknown_frees, 1, memory_order_relaxed);
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
            account_shrinks(t, &c->moving, false, era_now());
    }
    c->moving_from = 0;
    atomic_store_explicit(&t->ring->reallocating, 0, memory_order_relaxed);
}

/* --- arenas of CPython -------------------------------------------------------------------------*/

/* They are part of the heap's total; everything else of them is the collector's to count. */
uint32_t count_arena(struct thread *t, void *p, size_t size)
{
    struct wire_account none = {0};
    struct indexed old, b = {WIRE_ACCOUNT_ARENA, era_now(), size, size};
    total_grows(t, &none, size);
    index_put((uintptr_t)p, &b, true, &old);
    return atomic_load_explicit(&shared.totals->peak_epoch, memory_order_relaxed);
}

uint32_t accounts_epoch(void)
{
    return atomic_load_explicit(&shared.totals->peak_epoch, memory_order_relaxed);
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
    return atomic_load_explicit(&shared.totals->peak_epoch, memory_order_relaxed);
}
