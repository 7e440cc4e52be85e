#include "collect/counting/ledger.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "store/buckets.h"
#include "wire/layout.h"

#define ACCOUNTS_FIRST 64
#define NODES_FIRST    1024

void ledger_init(struct ledger *l)
{
    *l = (struct ledger){.peak_epoch = 1};
    for (int view = 0; view < GPU_VIEWS; view++)
        l->gpu[view].peak_epoch = 1;
    histogram_init(&l->histogram);
}

void ledger_close(struct ledger *l)
{
    deltas_release(&l->deltas);
    map_release(&l->others);
    if (l->at_node.items)
        munmap(l->at_node.items, l->at_node.count * sizeof *l->at_node.items);
    l->at_node.items = NULL;
    l->at_node.count = 0;
}

void ledger_release(struct ledger *l)
{
    ledger_close(l);
    if (l->accounts.items)
        munmap(l->accounts.items, l->accounts.capacity * sizeof *l->accounts.items);
    l->accounts.items = NULL;
    l->accounts.count = l->accounts.capacity = 0;
    vec_release(&l->amounts);
    histogram_release(&l->histogram);
    vec_release(&l->counted_sizes);
    vec_release(&l->counted_lives);
}

/* A table in pages of its own: it grows without being copied, and new entries are 0. */
static void *grow_table(void *items, size_t had, size_t size)
{
    void *larger =
        had ? mremap(items, had, size, MREMAP_MAYMOVE)
            : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must_alloc(larger == MAP_FAILED ? NULL : larger);
    if (size >= HUGE_PAGE)
        /* Otherwise each access would need a TLB entry of its own. */
        madvise(larger, size, MADV_HUGEPAGE);
    return larger;
}

static void grow_accounts(struct ledger *l)
{
    const size_t had = l->accounts.capacity * sizeof *l->accounts.items;
    const size_t size = had ? had * 2 : ACCOUNTS_FIRST * sizeof *l->accounts.items;
    l->accounts.items = grow_table(l->accounts.items, had, size);
    l->accounts.capacity = size / sizeof *l->accounts.items;
}

static void grow_nodes(struct ledger *l, uint32_t node)
{
    const size_t had = l->at_node.count;
    size_t count = had ? had : NODES_FIRST;
    while (count <= node)
        count *= 2;
    l->at_node.items = grow_table(l->at_node.items, had * sizeof *l->at_node.items,
                                  count * sizeof *l->at_node.items);
    l->at_node.count = count;
}

static inline uint64_t key_of(uint32_t node, uint32_t thread, enum domain domain)
{
    static_assert(DOMAIN_COUNT <= 16, "four bits of the key");
    return (uint64_t)domain << 60 | (uint64_t)thread << 32 | node;
}

static inline bool is_of(const struct ledger *l, uint32_t account, uint32_t thread,
                         enum domain domain)
{
    const struct account *a = &l->accounts.items[account];
    return a->thread == thread && a->domain == domain;
}

uint32_t ledger_find(const struct ledger *l, uint32_t node, uint32_t thread, enum domain domain)
{
    uint32_t first = node < l->at_node.count ? l->at_node.items[node] : 0;
    if (first && is_of(l, first - 1, thread, domain))
        return first - 1;
    return map_get(&l->others, key_of(node, thread, domain));
}

/* Where the number of a site's account is, or will be; *base: what to subtract from it. */
static uint32_t *number_of(struct ledger *l, uint32_t node, uint32_t thread, enum domain domain,
                           uint32_t *base)
{
    *base = 1;
    if (node >= l->at_node.count && node < WIRE_CUT_FIRST)
        grow_nodes(l, node);
    uint32_t *first = node < l->at_node.count ? &l->at_node.items[node] : NULL;
    if (first && (!*first || is_of(l, *first - 1, thread, domain)))
        return first;
    *base = 0;
    return map_at(&l->others, key_of(node, thread, domain));
}

uint32_t ledger_account(struct ledger *l, uint32_t node, uint32_t thread, enum domain domain,
                        enum stack_state state)
{
    uint32_t base, *number = number_of(l, node, thread, domain, &base);
    if (*number != (base ? 0 : MAP_NONE))
        return *number - base;
    *number = (uint32_t)l->accounts.count + base;
    if (l->accounts.count == l->accounts.capacity)
        grow_accounts(l);
    struct account *a = vec_push(&l->accounts);
    *a = (struct account){
        .node = node, .thread = thread, .domain = (uint8_t)domain, .stack_state = (uint8_t)state};
    if (domain != DOMAIN_HEAP || !l->peak_is_reported)
        site_amounts_widen(&l->amounts, a); /* they are reported block by block */
    return (uint32_t)(l->accounts.count - 1);
}

static inline struct site_amounts *amounts_of(struct ledger *l, struct account *a)
{
    return __builtin_expect(a->wide != 0, 1) ? &l->amounts.items[a->wide - 1]
                                             : site_amounts_widen(&l->amounts, a);
}

/* The total of graphics processors to which an account belongs; NULL: to none. */
static inline struct gpu_total *gpu_total_of(struct ledger *l, const struct account *a)
{
    return !domain_is_gpu(a->domain) ? NULL
                                     : &l->gpu[a->domain == DOMAIN_GPU ? GPU_DRIVER : GPU_TENSORS];
}

static inline uint64_t epoch_of(const struct ledger *l, const struct account *a)
{
    return !domain_is_gpu(a->domain) ? l->peak_epoch
           : a->domain == DOMAIN_GPU ? l->gpu[GPU_DRIVER].peak_epoch
                                     : l->gpu[GPU_TENSORS].peak_epoch;
}

static inline void before_change(struct ledger *l, const struct account *a, struct site_amounts *m)
{
    uint64_t epoch = epoch_of(l, a);
    if (m->saved_epoch != epoch) {
        m->at_peak = m->live;
        m->saved_epoch = epoch;
    }
}

/* A block of a graphics processor was allocated or freed. */
static void gpu_change(struct gpu_total *g, uint64_t bytes, uint64_t blocks, uint64_t usable)
{
    g->live.bytes += bytes;
    g->live.blocks += blocks;
    g->live.usable += usable;
    if (blocks == 1 && g->live.bytes > g->peak.bytes) {
        g->peak = g->live;
        g->peak_epoch++;
        g->peak_ns = 0;
    }
}

/* The columns of the open interval. */
static inline uint64_t *delta_of(struct ledger *l, struct account *a)
{
    return deltas_widen(&l->deltas, a, (uint32_t)(a - l->accounts.items));
}

struct delta ledger_delta(const struct ledger *l, uint32_t account)
{
    return deltas_get(&l->deltas, &l->accounts.items[account]);
}

/* More is live at a site: is the site's value, or the heap's, a new maximum? */
static inline void after_growth(struct ledger *l, struct site_amounts *m)
{
    if (m->live.bytes > m->own_peak_bytes) {
        m->own_peak_bytes = m->live.bytes;
        m->own_peak_blocks = m->live.blocks;
    }
    struct amount live = ledger_now(l);
    if (live.bytes > l->interval_peak_bytes && !l->peak_is_reported) {
        l->interval_peak_bytes = live.bytes;
        if (live.bytes > l->peak_bytes) {
            l->peak_bytes = live.bytes;
            l->peak_blocks = live.blocks;
            l->peak_epoch++;
        }
    }
}

/* A block more is live. */
static inline void add_block(struct ledger *l, const struct account *a, struct site_amounts *m,
                             uint64_t size, uint64_t usable)
{
    struct gpu_total *gpu = gpu_total_of(l, a);
    m->live.bytes += size;
    m->live.blocks++;
    m->live.usable += usable;
    if (domain_is_live(a->domain)) {
        l->live.bytes += size;
        l->live.blocks++;
        l->live.usable += usable;
    }
    after_growth(l, m);
    if (gpu)
        gpu_change(gpu, size, 1, usable);
}

/* A site with several sizes counts all of them from then on: the next bucket cannot be predicted,
 * and a wrong prediction would cost more than counting. */
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
    struct site_amounts *m = amounts_of(l, a);
    uint64_t *delta = delta_of(l, a);
    if (!a->has_unit) {
        a->has_unit = true;
        a->unit = (struct unit){size, usable};
        a->only_bucket = (uint8_t)size_bucket(size);
    }
    delta[COL_ALLOCS]++;
    delta[COL_BYTES] += size;
    delta[COL_USABLE] += usable;
    delta[COL_REALLOCS] += by_realloc;
    bool heap = domain_is_live(a->domain);
    if (!heap || l->peak_is_reported ||
        l->live.bytes + size <= l->peak_bytes) /* otherwise the peak is after this */
        before_change(l, a, m);
    if (size > m->largest_bytes)
        m->largest_bytes = size;
    if (heap) {
        count_size(l, account, a, size);
        l->allocations++;
        l->allocated_bytes += size;
        l->truncated_stacks += a->stack_state == STACK_TRUNCATED;
        l->incomplete_stacks += a->stack_state == STACK_INCOMPLETE;
    }
    add_block(l, a, m, size, usable);
}

void ledger_row(struct ledger *l, uint32_t account, const uint64_t columns[COLUMNS])
{
    struct account *a = &l->accounts.items[account];
    const struct amount more = {.bytes = columns[COL_BYTES] - columns[COL_FREED],
                                .blocks = columns[COL_ALLOCS] - columns[COL_FREES],
                                .usable = columns[COL_USABLE] - columns[COL_USABLE_FREED]};
    bool fit = site_amounts_fit(a, columns);
    deltas_add(&l->deltas, a, account, columns, fit);
    if (fit && !a->wide && a->live_blocks <= INT32_MAX / 2 && a->live_blocks >= INT32_MIN / 2) {
        a->live_blocks += (int32_t)more.blocks;
    } else {
        struct site_amounts *m = amounts_of(l, a);
        m->live.bytes += more.bytes;
        m->live.blocks += more.blocks;
        m->live.usable += more.usable;
    }
    l->live.bytes += more.bytes;
    l->live.blocks += more.blocks;
    l->live.usable += more.usable;
    l->allocations += columns[COL_ALLOCS];
    l->allocated_bytes += columns[COL_BYTES];
    if (a->stack_state == STACK_TRUNCATED)
        l->truncated_stacks += columns[COL_ALLOCS];
    if (a->stack_state == STACK_INCOMPLETE)
        l->incomplete_stacks += columns[COL_ALLOCS];
}

void ledger_free(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable, bool temporary)
{
    struct account *a = &l->accounts.items[account];
    struct site_amounts *m = amounts_of(l, a);
    uint64_t *delta = delta_of(l, a);
    delta[COL_FREES]++;
    delta[COL_FREED] += size;
    delta[COL_USABLE_FREED] += usable;
    if (temporary) {
        delta[COL_TEMPS]++;
        delta[COL_TEMP_BYTES] += size;
    }
    before_change(l, a, m);
    m->live.bytes -= size;
    m->live.blocks--;
    m->live.usable -= usable;
    struct gpu_total *gpu = gpu_total_of(l, a);
    if (gpu)
        gpu_change(gpu, -size, -UINT64_C(1), -usable);
    if (!domain_is_live(a->domain))
        return;
    l->live.bytes -= size;
    l->live.blocks--;
    l->live.usable -= usable;
}

void ledger_unfree(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable)
{
    struct account *a = &l->accounts.items[account];
    struct site_amounts *m = amounts_of(l, a);
    uint64_t *delta = delta_of(l, a);
    /* The free may have been in an earlier interval: differences add up all the same. */
    delta[COL_FREES]--;
    delta[COL_FREED] -= size;
    delta[COL_USABLE_FREED] -= usable;
    before_change(l, a, m);
    add_block(l, a, m, size, usable);
}

void ledger_shrink(struct ledger *l, uint32_t account, uint64_t size)
{
    struct account *a = &l->accounts.items[account];
    struct site_amounts *m = amounts_of(l, a);
    uint64_t *delta = delta_of(l, a);
    delta[COL_FREED] += size;
    delta[COL_USABLE_FREED] += size;
    before_change(l, a, m);
    m->live.bytes -= size;
    m->live.usable -= size;
    if (domain_is_live(a->domain)) {
        l->live.bytes -= size;
        l->live.usable -= size;
    }
}

void ledger_unshrink(struct ledger *l, uint32_t account, uint64_t size)
{
    struct account *a = &l->accounts.items[account];
    struct site_amounts *m = amounts_of(l, a);
    uint64_t *delta = delta_of(l, a);
    delta[COL_FREED] -= size;
    delta[COL_USABLE_FREED] -= size;
    before_change(l, a, m);
    m->live.bytes += size;
    m->live.usable += size;
    if (domain_is_live(a->domain)) {
        l->live.bytes += size;
        l->live.usable += size;
    }
    after_growth(l, m);
}

void ledger_sample_late(struct ledger *l, uint32_t account, uint64_t count, uint64_t amount)
{
    struct account *a = &l->accounts.items[account];
    struct site_amounts *m = amounts_of(l, a);
    if (!a->has_unit) {
        a->has_unit = true;
        a->unit.bytes = a->unit.usable = m->largest_bytes = amount / (count ? count : 1);
    }
    m->live.bytes += amount;
    m->live.blocks += count;
}

void ledger_sample(struct ledger *l, uint32_t account, uint64_t count, uint64_t amount,
                   enum column kind)
{
    uint64_t *delta = delta_of(l, &l->accounts.items[account]);
    delta[COL_ALLOCS] += count;
    delta[COL_BYTES] += amount;
    delta[COL_USABLE] += amount;
    ledger_sample_late(l, account, count, amount);
    if (kind != COLUMNS)
        delta[kind] += count;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void ledger_end_gpu_interval(struct ledger *l, uint64_t end_ns)
{
    for (int view = 0; view < GPU_VIEWS; view++)
        if (l->gpu[view].peak.bytes && !l->gpu[view].peak_ns)
            l->gpu[view].peak_ns = end_ns ? end_ns : 1;
}

uint64_t ledger_end_interval(struct ledger *l)
{
    uint64_t peak = higher(l->unwatched_peak_bytes, l->interval_peak_bytes);
    l->watched_peak_bytes = ledger_watched_peak(l);
    l->unwatched_peak_bytes = 0;
    l->interval_peak_bytes = ledger_now(l).bytes;
    return peak;
}

uint64_t ledger_watched_peak(const struct ledger *l)
{
    return higher(l->watched_peak_bytes, l->interval_peak_bytes);
}

void ledger_watch(struct ledger *l)
{
    l->unwatched_peak_bytes = higher(l->unwatched_peak_bytes, l->interval_peak_bytes);
    l->interval_peak_bytes = ledger_now(l).bytes;
    l->watched_peak_bytes = 0;
}

void ledger_note_own_peak(struct ledger *l, struct account *a)
{
    if (a->domain != DOMAIN_HEAP || !l->peak_is_reported)
        return;
    struct amount live = ledger_live(l, a);
    if (!a->wide) {
        a->own_peak_blocks =
            a->live_blocks > a->own_peak_blocks ? a->live_blocks : a->own_peak_blocks;
        return;
    }
    struct site_amounts *m = &l->amounts.items[a->wide - 1];
    if ((int64_t)live.bytes > (int64_t)m->own_peak_bytes) {
        m->own_peak_bytes = live.bytes;
        m->own_peak_blocks = live.blocks;
    }
}

void ledger_set_unit(struct ledger *l, uint32_t account, uint64_t bytes)
{
    struct account *a = &l->accounts.items[account];
    struct site_amounts *m = amounts_of(l, a);
    a->unit.bytes = a->unit.usable = m->largest_bytes = bytes;
    m->live.bytes = m->live.blocks * bytes;
}

struct amount ledger_at_peak(const struct ledger *l, const struct account *a)
{
    if (!a->wide)
        return site_amounts_blocks(a, a->at_peak_blocks);
    const struct site_amounts *m = &l->amounts.items[a->wide - 1];
    return m->saved_epoch == epoch_of(l, a) ? m->at_peak : m->live;
}

struct site ledger_site(const struct ledger *l, uint32_t account)
{
    const struct account *a = &l->accounts.items[account];
    struct site_amounts m = site_amounts_get(&l->amounts, a);
    return (struct site){.at_peak_bytes = m.at_peak.bytes,
                         .at_peak_blocks = m.at_peak.blocks,
                         .at_peak_usable = m.at_peak.usable,
                         .unit = a->unit,
                         .own_peak_blocks = m.own_peak_blocks,
                         .node = a->node,
                         .thread = a->thread,
                         .domain = a->domain,
                         .own_peak_bytes = m.own_peak_bytes,
                         .largest_bytes = m.largest_bytes};
}

static struct site site_of(const struct ledger *l, uint32_t account, uint32_t joined)
{
    struct site s = ledger_site(l, account);
    bool sampled = domain_is_sampled(s.domain);
    bool counted = sampled || s.domain == DOMAIN_TOUCHED || s.domain == DOMAIN_FOREIGN;
    struct amount peak =
        counted ? (struct amount){0} : ledger_at_peak(l, &l->accounts.items[account]);
    if (ledger_stack_is_sampled(l, s.domain) && s.node)
        s.node += joined;
    s.at_peak_bytes = peak.bytes;
    s.at_peak_blocks = peak.blocks;
    s.at_peak_usable = peak.usable;
    return s;
}

/* Bytes of accounts freed at a time: whole accounts and whole pages. */
#define GIVEN_BACK ((size_t)3 << 20)

struct site ledger_site_at(void *ledger_sites, size_t account)
{
    const struct ledger_sites *of = ledger_sites;
    struct account *accounts = of->ledger->accounts.items;
    const size_t at_once = GIVEN_BACK / sizeof *accounts;
    struct site s = site_of(of->ledger, (uint32_t)account, of->joined);
    if ((account + 1) % at_once == 0)
        madvise(&accounts[account + 1 - at_once], GIVEN_BACK, MADV_DONTNEED);
    return s;
}

void ledger_become_sites(struct ledger *l, struct profile *p, uint32_t joined)
{
    struct ledger_sites sites = {l, joined};
    const size_t count = l->accounts.count;
    vec_reserve(&p->sites, count);
    for (size_t i = 0; i < count; i++)
        *vec_push(&p->sites) = ledger_site_at(&sites, i);
    ledger_release(l);
}

/* Adds a row to those from `first` on, which are of the same site and in order of bucket. */
static void insert_row(struct bucket_rows *rows, size_t first, struct bucket_row row)
{
    size_t at = rows->count;
    while (at > first && rows->items[at - 1].bucket > row.bucket)
        at--;
    if (at > first && rows->items[at - 1].bucket == row.bucket) {
        rows->items[at - 1].count += row.count;
        rows->items[at - 1].bytes += row.bytes;
        return;
    }
    vec_push(rows);
    memmove(rows->items + at + 1, rows->items + at, (rows->count - 1 - at) * sizeof row);
    rows->items[at] = row;
}

/* Puts rows in order of site and bucket, and adds up those that have both in common. A site has few
 * rows, so they are first put in order of site by counting. */
static void settle(struct bucket_rows *rows, size_t sites)
{
    struct bucket_rows unordered = *rows;
    if (!unordered.count)
        return;
    uint32_t *ends = xcalloc(sites + 1, sizeof *ends); /* where the rows of a site end */
    uint32_t *order = xmalloc(unordered.count * sizeof *order);
    for (size_t i = 0; i < unordered.count; i++)
        ends[unordered.items[i].site + 1]++;
    for (size_t i = 0; i < sites; i++)
        ends[i + 1] += ends[i];
    for (size_t i = 0; i < unordered.count; i++)
        order[ends[unordered.items[i].site]++] = (uint32_t)i;
    *rows = (struct bucket_rows){0};
    vec_reserve(rows, unordered.count);
    for (size_t site = 0, i = 0; site < sites; site++)
        for (size_t first = rows->count; i < ends[site]; i++)
            insert_row(rows, first, unordered.items[order[i]]);
    free(ends);
    free(order);
    vec_release(&unordered);
}

void ledger_histograms(struct ledger *l, struct profile *p)
{
    vec_release(&p->sizes);
    vec_release(&p->lifetimes);
    p->sizes = l->counted_sizes;
    p->lifetimes = l->counted_lives;
    l->counted_sizes = l->counted_lives = (struct bucket_rows){0};
    histogram_rows(&l->histogram, HISTOGRAM_SIZES, &p->sizes);
    histogram_rows(&l->histogram, HISTOGRAM_LIVES, &p->lifetimes);
    settle(&p->sizes, l->accounts.count);
    settle(&p->lifetimes, l->accounts.count);
    p->has_histograms = true;
}
