#include "collect/ledger.h"

void ledger_init(struct ledger *l)
{
    *l = (struct ledger){.peak_epoch = 1};
}

void ledger_release(struct ledger *l)
{
    vec_release(&l->accounts);
    vec_release(&l->dirty);
    map_release(&l->index);
}

uint32_t ledger_account(struct ledger *l, uint32_t node, uint32_t thread, enum domain domain,
                        enum stack_state state)
{
    static_assert(DOMAIN_COUNT <= 4, "two bits of the key");
    uint32_t *number = map_at(&l->index, (uint64_t)domain << 62 | (uint64_t)thread << 32 | node);
    if (*number != MAP_NONE)
        return *number;
    *number = (uint32_t)l->accounts.count;
    *vec_push(&l->accounts) = (struct account){
        .site = {.node = node, .thread = thread, .domain = domain}, .stack_state = (uint8_t)state};
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

void ledger_alloc(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable,
                  bool by_realloc)
{
    struct account *a = &l->accounts.items[account];
    mark_dirty(l, a);
    if (!a->has_unit) {
        a->has_unit = true;
        a->site.unit_bytes = size;
        a->site.unit_usable = usable;
    }
    a->delta[COL_ALLOCS]++;
    a->delta[COL_BYTES] += size;
    a->delta[COL_USABLE] += usable;
    a->delta[COL_REALLOCS] += by_realloc;
    before_change(l, a);
    a->live.bytes += size;
    a->live.blocks++;
    a->live.usable += usable;
    if (size > a->site.largest_bytes)
        a->site.largest_bytes = size;
    if (a->site.domain == DOMAIN_HEAP) {
        l->allocations++;
        l->truncated_stacks += a->stack_state == STACK_TRUNCATED;
        l->incomplete_stacks += a->stack_state == STACK_INCOMPLETE;
        l->live.bytes += size;
        l->live.blocks++;
        l->live.usable += usable;
    }
    after_growth(l, a);
}

void ledger_free(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable, bool temporary)
{
    struct account *a = &l->accounts.items[account];
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
    if (a->site.domain != DOMAIN_HEAP)
        return;
    l->live.bytes -= size;
    l->live.blocks--;
    l->live.usable -= usable;
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
    l->allocations++;
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

struct amount ledger_at_peak(const struct ledger *l, const struct account *a)
{
    return a->saved_epoch == l->peak_epoch ? a->saved : a->live;
}
