#include "collect/counting/realloc_chains.h"

#include <stdlib.h>
#include <string.h>

#include "base/divisor.h"
#include "collect/counting/target.h"

#define SETS 8192u /* of two */

#define CALLERS 4 /* callers of a function that grows an array that are checked */

#define FACTOR_ONE  1024u
#define FACTOR_EVEN 16   /* two factors are about equal if they differ by less than this part */
#define BYTES_LEAST 1024 /* what a site's arrays grew from in all: sites with less are not kept */
#define HOPELESS    64   /* replacements that are no growth, and more than those that are */

/* The last block of a chain. Its address may belong to another block by now, which has another size
 * or was allocated at another time. */
struct chain_link {
    uint64_t address, size;
    uint64_t left;    /* sum of the sizes of all blocks that it freed */
    uint32_t birth;   /* the block's era */
    uint32_t row;     /* index into realloc_chains.rows */
    uint32_t growths; /* number of growths so far */
    uint32_t factor;  /* the last growth's new size, in FACTOR_ONE-ths of its old size */
    uint32_t serial;  /* number of the last growth */
};

static inline struct chain_link *set_of(const struct realloc_chains *c, uint64_t address)
{
    return &c->links[((address >> 4) * UINT32_C(0x9e3779b1) >> 16 & (SETS - 1)) * 2];
}

static inline bool is_at(const struct chain_link *link, const struct block *b)
{
    return link->serial && link->address == b->address && link->size == b->size &&
           link->birth == b->birth;
}

static inline struct chain_link *find_link(const struct realloc_chains *c, const struct block *b)
{
    struct chain_link *set = set_of(c, b->address);
    return is_at(&set[0], b) ? &set[0] : is_at(&set[1], b) ? &set[1] : NULL;
}

/* An entry for the chain that now ends at an address: of the two, the one that grew less recently;
 * an empty one first. An entry with the same address may have moved on, which another thread has
 * not reported yet. */
static inline struct chain_link *make_link(const struct realloc_chains *c, uint64_t address)
{
    struct chain_link *set = set_of(c, address);
    return set[1].serial < set[0].serial ? &set[1] : &set[0];
}

static uint32_t row_of(struct realloc_chains *c, uint32_t account)
{
    if (account >= c->row_of.count) {
        size_t count = (size_t)account * 2 + 64;
        vec_reserve(&c->row_of, count);
        memset(c->row_of.items + c->row_of.count, 0,
               (count - c->row_of.count) * sizeof *c->row_of.items);
        c->row_of.count = count;
    }
    if (!c->row_of.items[account]) {
        *vec_push(&c->rows) = (struct chain_row){.site = account};
        c->row_of.items[account] = (uint32_t)c->rows.count;
    }
    return c->row_of.items[account] - 1;
}

static inline void raise_to(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

static inline uint32_t factor_of(uint64_t size, uint64_t old)
{
    uint64_t factor = old ? size * FACTOR_ONE / old : UINT32_MAX; /* sizes have 48 bits */
    return factor < UINT32_MAX ? (uint32_t)factor : UINT32_MAX;
}

static inline bool is_even(uint32_t a, uint32_t b)
{
    uint32_t apart = a > b ? a - b : b - a;
    return apart <= a / FACTOR_EVEN;
}

/* The first growth of an array. */
static void begin(struct realloc_chains *c, struct chain_link *link, const struct fresh *f,
                  const struct block *old)
{
    *link = (struct chain_link){.row = row_of(c, f->account)};
    struct chain_figures *of = &c->rows.items[link->row].of;
    if (!of->chains || old->size < of->first_bytes)
        of->first_bytes = old->size;
    of->chains++;
    of->unit_bytes = common_divisor(old->size, of->unit_bytes);
}

static void step(struct realloc_chains *c, const struct fresh *f, const struct block *old,
                 bool by_realloc)
{
    bool in_place = f->address == old->address;
    uint64_t moved = in_place ? 0 : old->size;
    uint32_t factor = factor_of(f->size, old->size);
    struct chain_link *before = find_link(c, old);
    struct chain_link *link = before && in_place ? before : make_link(c, f->address);
    if (!before) {
        begin(c, link, f, old);
    } else {
        c->rows.items[before->row].of.even += is_even(factor, before->factor);
        if (link != before) {
            *link = *before;
            before->address = before->serial = 0;
        }
    }
    link->address = f->address;
    link->size = f->size;
    link->left += moved;
    link->birth = f->birth;
    link->growths++;
    link->factor = factor;
    link->serial = ++c->serial;
    struct chain_figures *of = &c->rows.items[link->row].of;
    of->growths++;
    of->by_realloc += by_realloc;
    of->in_place += in_place;
    of->old_bytes += old->size;
    of->new_bytes += f->size;
    of->copied_bytes += moved;
    if (of->unit_bytes != 1)
        of->unit_bytes = common_divisor(f->size, of->unit_bytes);
    raise_to(&of->longest, link->growths);
    raise_to(&of->largest_bytes, f->size);
    raise_to(&of->transient_bytes, f->size + moved);
    raise_to(&of->left_bytes, link->left);
}

static inline void prefetch_set(const struct realloc_chains *c, uint64_t address)
{
    const struct chain_link *set = set_of(c, address);
    __builtin_prefetch(set);
    __builtin_prefetch(set + 1);
}

static void count_oldest(struct realloc_chains *c)
{
    const struct growth *g = &c->pending[c->counted++ % REALLOC_CHAINS_PENDING];
    step(c, &g->fresh, &g->old, g->by_realloc);
}

static void count_pending(struct realloc_chains *c)
{
    while (c->counted != c->seen)
        count_oldest(c);
}

/* Handles growths in the order in which they are seen, but a few later. */
static void grow(struct realloc_chains *c, const struct fresh *f, const struct block *old,
                 bool by_realloc)
{
    if (!c->links)
        c->links = xcalloc(SETS * 2, sizeof *c->links);
    prefetch_set(c, f->address);
    prefetch_set(c, old->address);
    if (c->seen - c->counted == REALLOC_CHAINS_PENDING)
        count_oldest(c);
    c->pending[c->seen++ % REALLOC_CHAINS_PENDING] = (struct growth){*f, *old, by_realloc};
}

static struct node node_at(const struct target *t, uint32_t number)
{
    return program_stacks_node(&t->program_stacks, number);
}

/* Is it the same place, reached in another way (realloc_chains.h)? */
static bool is_near(const struct target *t, const struct fresh *f, const struct block *b)
{
    const struct account *accounts = t->ledger.accounts.items;
    uint32_t new_number = accounts[f->account].node, old_number = accounts[b->site].node;
    struct node new = node_at(t, new_number), old = node_at(t, old_number);
    if (!new.parent || !old.parent)
        return false;
    if (new_number == old_number) /* another thread's */
        return true;
    if (new.address == old.address) {
        struct node caller = node_at(t, new.parent), old_caller = node_at(t, old.parent);
        if (caller.parent == old_caller.parent || caller.address == old_caller.address)
            return true;
    }
    uint32_t above = new.parent, maker = node_at(t, old.parent).parent;
    for (unsigned i = 0; i < CALLERS && above; i++) {
        if (above == old.parent || (above == maker && f->size == b->size * 2))
            return true;
        above = node_at(t, above).parent;
    }
    return false;
}

void realloc_chains_replaced(struct target *t, const struct fresh *f, const struct block *old)
{
    bool grows = f->size * 10 >= old->size * 11 && f->size * 2 <= old->size * 9;
    if (f->account != old->site) {
        if (grows && is_near(t, f, old))
            grow(&t->realloc_chains, f, old, false);
        return;
    }
    if (grows) {
        grow(&t->realloc_chains, f, old, false);
    } else if (f->size < old->size || f->size > old->size * 4) {
        count_pending(&t->realloc_chains);
        uint32_t row = row_of(&t->realloc_chains, f->account);
        struct chain_figures *of = &t->realloc_chains.rows.items[row].of;
        of->otherwise++;
        if (of->otherwise > HOPELESS && of->otherwise > of->growths)
            t->ledger.accounts.items[f->account].any_size = true;
    }
}

void realloc_chains_realloced(struct target *t, const struct fresh *f, const struct block *old)
{
    if (f->size > old->size)
        grow(&t->realloc_chains, f, old, true);
}

static int by_site(const void *a, const void *b)
{
    const struct chain_row *x = a, *y = b;
    return (x->site > y->site) - (x->site < y->site);
}

void realloc_chains_settle(struct target *t)
{
    count_pending(&t->realloc_chains);
}

void realloc_chains_finish(struct target *t)
{
    for (size_t i = 0; i < t->realloc_chains.rows.count; i++)
        if (t->realloc_chains.rows.items[i].of.old_bytes >= BYTES_LEAST)
            *vec_push(&t->profile.chains) = t->realloc_chains.rows.items[i];
    if (t->profile.chains.count)
        qsort(t->profile.chains.items, t->profile.chains.count, sizeof *t->profile.chains.items,
              by_site);
}

void realloc_chains_release_links(struct target *t)
{
    free(t->realloc_chains.links);
    t->realloc_chains.links = NULL;
}

void realloc_chains_release(struct target *t)
{
    realloc_chains_release_links(t);
    vec_release(&t->realloc_chains.row_of);
    vec_release(&t->realloc_chains.rows);
}
