#include "collect/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "store/buckets.h"
#include "wire/layout.h"

void ledger_init(struct ledger *l)
{
    *l = (struct ledger){.peak_epoch = 1};
    histogram_init(&l->histogram);
}

void ledger_release(struct ledger *l)
{
    vec_release(&l->accounts);
    vec_release(&l->dirty);
    histogram_release(&l->histogram);
    map_release(&l->index);
}

/* Accounts begin at a cache line, which realloc would not see to. */
static void grow_accounts(struct ledger *l)
{
    size_t capacity = l->accounts.capacity ? l->accounts.capacity * 2 : 16;
    struct account *larger = xtable(capacity * sizeof *larger);
    if (l->accounts.count)
        memcpy(larger, l->accounts.items, l->accounts.count * sizeof *larger);
    free(l->accounts.items);
    l->accounts.items = larger;
    l->accounts.capacity = capacity;
}

static inline uint64_t key_of(uint32_t node, uint32_t thread, enum domain domain)
{
    static_assert(DOMAIN_COUNT <= 16, "four bits of the key");
    return (uint64_t)domain << 60 | (uint64_t)thread << 32 | node;
}

void ledger_prefetch(const struct ledger *l, uint32_t node, uint32_t thread, enum domain domain)
{
    map_prefetch(&l->index, key_of(node, thread, domain));
}

uint32_t ledger_find(const struct ledger *l, uint32_t node, uint32_t thread, enum domain domain)
{
    return map_get(&l->index, key_of(node, thread, domain));
}

uint32_t ledger_account(struct ledger *l, uint32_t node, uint32_t thread, enum domain domain,
                        enum stack_state state)
{
    uint32_t *number = map_at(&l->index, key_of(node, thread, domain));
    if (*number != MAP_NONE)
        return *number;
    *number = (uint32_t)l->accounts.count;
    if (l->accounts.count == l->accounts.capacity)
        grow_accounts(l);
    *vec_push(&l->accounts) = (struct account){
        .site = {.node = node, .thread = thread, .domain = domain},
        .thread = (uint16_t)thread,
        .domain = (uint8_t)domain,
        .stack_state = (uint8_t)state};
    return (uint32_t)(l->accounts.count - 1);
}

static inline void before_change(struct ledger *l, struct account *a)
{
    if (a->saved_epoch != l->peak_epoch) {
        a->saved = a->live;
        a->saved_epoch = l->peak_epoch;
    }
}

static inline void mark_dirty(struct ledger *l, struct account *a)
{
    if (!a->dirty) {
        a->dirty = true;
        *vec_push(&l->dirty) = (uint32_t)(a - l->accounts.items);
    }
}

/* More is live at a site: is it, and is the heap, higher than ever? */
static inline void after_growth(struct ledger *l, struct account *a)
{
    if (a->live.bytes > a->site.own_peak_bytes) {
        a->site.own_peak_bytes = a->live.bytes;
        a->site.own_peak_blocks = a->live.blocks;
    }
    if (l->live.bytes > l->interval_peak_bytes) {
        l->interval_peak_bytes = l->live.bytes;
        if (l->live.bytes > l->peak_bytes) {
            l->peak_bytes = l->live.bytes;
            l->peak_blocks = l->live.blocks;
            l->peak_epoch++;
        }
    }
}

/* A site with several sizes counts all from then on: which bucket comes next cannot be guessed,
 * and a wrong guess would cost more than counting. */
static inline void count_size(struct ledger *l, uint32_t account, struct account *a, uint64_t size)
{
    unsigned bucket = size_bucket(size);
    if (bucket != a->only_bucket) {
        a->only_bucket = SIZE_BUCKETS;
        histogram_add(&l->histogram, HISTOGRAM_SIZES, account, bucket, 1, size);
    }
}

void ledger_alloc(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable,
                  bool by_realloc)
{
    struct account *a = &l->accounts.items[account];
    mark_dirty(l, a);
    if (!a->has_unit) {
        a->has_unit = true;
        a->site.unit_bytes = size;
        a->site.unit_usable = usable;
        a->only_bucket = (uint8_t)size_bucket(size);
    }
    a->delta[COL_ALLOCS]++;
    a->delta[COL_BYTES] += size;
    a->delta[COL_USABLE] += usable;
    a->delta[COL_REALLOCS] += by_realloc;
    bool heap = a->domain == DOMAIN_HEAP;
    if (!heap || l->live.bytes + size <= l->peak_bytes) /* else the peak is after this */
        before_change(l, a);
    a->live.bytes += size;
    a->live.blocks++;
    a->live.usable += usable;
    if (size > a->site.largest_bytes)
        a->site.largest_bytes = size;
    if (heap) {
        count_size(l, account, a, size);
        l->allocations++;
        l->allocated_bytes += size;
        l->truncated_stacks += a->stack_state == STACK_TRUNCATED;
        l->incomplete_stacks += a->stack_state == STACK_INCOMPLETE;
        l->live.bytes += size;
        l->live.blocks++;
        l->live.usable += usable;
    }
    after_growth(l, a);
}

static inline void give_back(struct ledger *l, struct account *a, uint64_t size, uint64_t usable,
                             bool temporary)
{
    mark_dirty(l, a);
    a->delta[COL_FREES]++;
    a->delta[COL_FREED] += size;
    a->delta[COL_USABLE_FREED] += usable;
    if (temporary) {
        a->delta[COL_TEMPS]++;
        a->delta[COL_TEMP_BYTES] += size;
    }
    before_change(l, a);
    a->live.bytes -= size;
    a->live.blocks--;
    a->live.usable -= usable;
    if (a->domain != DOMAIN_HEAP)
        return;
    l->live.bytes -= size;
    l->live.blocks--;
    l->live.usable -= usable;
}

void ledger_free(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable, bool temporary)
{
    give_back(l, &l->accounts.items[account], size, usable, temporary);
}

bool ledger_free_by(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable,
                    bool temporary, uint32_t thread)
{
    struct account *a = &l->accounts.items[account];
    bool foreign = a->thread != thread;
    give_back(l, a, size, usable, temporary && !foreign);
    return foreign;
}

void ledger_temporary(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable)
{
    struct account *a = &l->accounts.items[account];
    if (!a->dirty || size > a->site.largest_bytes ||
        a->live.bytes + size > a->site.own_peak_bytes ||
        l->live.bytes + size > l->interval_peak_bytes || a->stack_state != STACK_WHOLE) {
        ledger_alloc(l, account, size, usable, false);
        ledger_free(l, account, size, usable, true);
        return;
    }
    /* No height is reached, so all that is left of it is that it happened. */
    a->delta[COL_ALLOCS]++;
    a->delta[COL_BYTES] += size;
    a->delta[COL_USABLE] += usable;
    a->delta[COL_FREES]++;
    a->delta[COL_FREED] += size;
    a->delta[COL_USABLE_FREED] += usable;
    a->delta[COL_TEMPS]++;
    a->delta[COL_TEMP_BYTES] += size;
    count_size(l, account, a, size);
    l->allocations++;
    l->allocated_bytes += size;
}

void ledger_unfree(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable)
{
    struct account *a = &l->accounts.items[account];
    mark_dirty(l, a);
    a->delta[COL_FREES]--; /* may have been an earlier interval's: differences add up all the same
                            */
    a->delta[COL_FREED] -= size;
    a->delta[COL_USABLE_FREED] -= usable;
    before_change(l, a);
    a->live.bytes += size;
    a->live.blocks++;
    a->live.usable += usable;
    if (a->site.domain == DOMAIN_HEAP) {
        l->live.bytes += size;
        l->live.blocks++;
        l->live.usable += usable;
    }
    after_growth(l, a);
}

void ledger_unlived(struct ledger *l, uint32_t account, unsigned bucket)
{
    struct account *a = &l->accounts.items[account];
    if (bucket <= LEDGER_LIVES && a->lives[bucket - 1])
        a->lives[bucket - 1]--;
    else
        histogram_remove(&l->histogram, HISTOGRAM_LIVES, account, bucket, 1, 0);
}

void ledger_shrink(struct ledger *l, uint32_t account, uint64_t size)
{
    struct account *a = &l->accounts.items[account];
    mark_dirty(l, a);
    a->delta[COL_FREED] += size;
    a->delta[COL_USABLE_FREED] += size;
    before_change(l, a);
    a->live.bytes -= size;
    a->live.usable -= size;
}

void ledger_unshrink(struct ledger *l, uint32_t account, uint64_t size)
{
    struct account *a = &l->accounts.items[account];
    mark_dirty(l, a);
    a->delta[COL_FREED] -= size;
    a->delta[COL_USABLE_FREED] -= size;
    before_change(l, a);
    a->live.bytes += size;
    a->live.usable += size;
    after_growth(l, a);
}

void ledger_sample(struct ledger *l, uint32_t account, uint64_t count, uint64_t amount,
                   enum column kind)
{
    struct account *a = &l->accounts.items[account];
    mark_dirty(l, a);
    if (!a->has_unit) {
        a->has_unit = true;
        a->site.unit_bytes = a->site.unit_usable = a->site.largest_bytes =
            amount / (count ? count : 1);
    }
    a->delta[COL_ALLOCS] += count;
    a->delta[COL_BYTES] += amount;
    a->delta[COL_USABLE] += amount;
    a->live.bytes += amount;
    a->live.blocks += count;
    if (kind != COLUMNS)
        a->delta[kind] += count;
}

void ledger_unsample(struct ledger *l, uint32_t account, uint64_t amount)
{
    struct account *a = &l->accounts.items[account];
    mark_dirty(l, a);
    a->delta[COL_ALLOCS]--;
    a->delta[COL_BYTES] -= amount;
    a->delta[COL_USABLE] -= amount;
    a->live.bytes -= amount;
    a->live.blocks--;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t ledger_end_interval(struct ledger *l)
{
    uint64_t peak = higher(l->unwatched_peak_bytes, l->interval_peak_bytes);
    l->watched_peak_bytes = ledger_watched_peak(l);
    l->unwatched_peak_bytes = 0;
    l->interval_peak_bytes = l->live.bytes;
    return peak;
}

uint64_t ledger_watched_peak(const struct ledger *l)
{
    return higher(l->watched_peak_bytes, l->interval_peak_bytes);
}

void ledger_watch(struct ledger *l)
{
    l->unwatched_peak_bytes = higher(l->unwatched_peak_bytes, l->interval_peak_bytes);
    l->interval_peak_bytes = l->live.bytes;
    l->watched_peak_bytes = 0;
}

struct amount ledger_at_peak(const struct ledger *l, const struct account *a)
{
    return a->saved_epoch == l->peak_epoch ? a->saved : a->live;
}

static int in_order(const void *a, const void *b)
{
    const struct bucket_row *x = a, *y = b;
    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

/* Sorted; rows of the same site and bucket added up. */
static void settle(struct bucket_rows *rows)
{
    size_t kept = 0;
    if (rows->count)
        qsort(rows->items, rows->count, sizeof *rows->items, in_order);
    for (size_t i = 0; i < rows->count; i++) {
        if (kept && in_order(&rows->items[kept - 1], &rows->items[i]) == 0) {
            rows->items[kept - 1].count += rows->items[i].count;
            rows->items[kept - 1].bytes += rows->items[i].bytes;
        } else {
            rows->items[kept++] = rows->items[i];
        }
    }
    rows->count = kept;
}

void ledger_histograms(const struct ledger *l, struct profile *p)
{
    histogram_rows(&l->histogram, HISTOGRAM_SIZES, &p->sizes);
    histogram_rows(&l->histogram, HISTOGRAM_LIVES, &p->lifetimes);
    for (size_t i = 0; i < l->accounts.count; i++)
        for (unsigned k = 0; k < LEDGER_LIVES; k++)
            if (l->accounts.items[i].lives[k])
                *vec_push(&p->lifetimes) = (struct bucket_row){
                    .site = (uint32_t)i, .bucket = k + 1, .count = l->accounts.items[i].lives[k]};
    settle(&p->sizes);
    settle(&p->lifetimes);
    p->has_histograms = true;
}
