#include "collect/growths.h"

#include <stdlib.h>

#include "collect/target.h"

#define SETS 4096u
#define WAYS 4u

#define CALLERS 4 /* of a function that grows an array, that may have made it */

#define FACTOR_ONE  1024u
#define FACTOR_EVEN 16 /* two factors are about the same: they differ by less than this part */
#define HOPELESS    64 /* replacements that are no growth, and more than those that are */

/* The last block of a chain. Its address may be another block's by now: that one has another size,
 * or was born at another time. */
struct chain_link {
    uint64_t address, size;
    uint64_t left;    /* sizes of all blocks that it freed */
    uint32_t birth;   /* of the block */
    uint32_t row;     /* in growth_table.rows */
    uint32_t growths; /* so far */
    uint32_t factor;  /* of the last one */
};

static struct chain_link *set_of(struct growth_table *c, uint64_t address)
{
    if (!c->links)
        c->links = xcalloc(SETS * WAYS, sizeof *c->links);
    return &c->links[((address >> 4) * UINT32_C(0x9e3779b1) >> 16 & (SETS - 1)) * WAYS];
}

static struct chain_link *find_link(struct growth_table *c, const struct block *b)
{
    struct chain_link *set = set_of(c, b->address);
    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].address == b->address && set[i].size == b->size && set[i].birth == b->birth)
            return &set[i];
    return NULL;
}

/* A place for the chain that now ends at an address: one that has it, an empty one, or the one that
 * grew least recently. */
static struct chain_link *make_link(struct growth_table *c, uint64_t address)
{
    struct chain_link *set = set_of(c, address), *best = set;
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].address == address)
            return &set[i];
        if (!set[i].address || (best->address && set[i].birth < best->birth))
            best = &set[i];
    }
    return best;
}

static uint32_t row_of(struct growth_table *c, uint32_t account)
{
    while (c->row_of.count <= account)
        *vec_push(&c->row_of) = 0;
    if (!c->row_of.items[account]) {
        *vec_push(&c->rows) = (struct chain_row){.site = account};
        c->row_of.items[account] = (uint32_t)c->rows.count;
    }
    return c->row_of.items[account] - 1;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void raise_to(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

/* Of a growth; FACTOR_ONE is none. */
static uint32_t factor_of(uint64_t size, uint64_t old)
{
    uint64_t factor = old ? size * FACTOR_ONE / old : UINT32_MAX; /* sizes have 48 bits */
    return factor < UINT32_MAX ? (uint32_t)factor : UINT32_MAX;
}

static bool is_even(uint32_t a, uint32_t b)
{
    uint32_t apart = a > b ? a - b : b - a;
    return apart <= a / FACTOR_EVEN;
}

static void step(struct growth_table *c, const struct fresh *f, const struct block *old,
                 bool by_realloc)
{
    struct chain_link *before = find_link(c, old), next;
    bool in_place = f->address == old->address;
    uint32_t factor = factor_of(f->size, old->size);
    next = before ? *before : (struct chain_link){.row = row_of(c, f->account)};
    struct chain_figures *of = &c->rows.items[next.row].of;
    of->growths++;
    of->by_realloc += by_realloc;
    of->in_place += in_place;
    of->old_bytes += old->size;
    of->new_bytes += f->size;
    of->copied_bytes += in_place ? 0 : old->size;
    if (before) {
        of->even += is_even(factor, before->factor);
        before->address = 0;
        of->unit_bytes = common_divisor(f->size, of->unit_bytes);
    } else {
        of->first_bytes = of->chains && of->first_bytes < old->size ? of->first_bytes : old->size;
        of->chains++;
        of->unit_bytes = common_divisor(f->size, common_divisor(old->size, of->unit_bytes));
    }
    next.address = f->address;
    next.size = f->size;
    next.birth = f->birth;
    next.left += in_place ? 0 : old->size;
    next.growths += next.growths < UINT32_MAX;
    next.factor = factor;
    raise_to(&of->longest, next.growths);
    raise_to(&of->largest_bytes, f->size);
    raise_to(&of->transient_bytes, f->size + (in_place ? 0 : old->size));
    raise_to(&of->left_bytes, next.left);
    *make_link(c, f->address) = next;
}

static struct node node_at(const struct target *t, uint32_t number)
{
    return number < t->profile.nodes.count ? t->profile.nodes.items[number] : (struct node){0};
}

/* Is it the same place, reached in another way? See growths.h. */
static bool is_near(const struct target *t, const struct fresh *f, const struct block *b)
{
    const struct account *accounts = t->ledger.accounts.items;
    uint32_t new_number = accounts[f->account].site.node, old_number = accounts[b->site].site.node;
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

void growths_replaced(struct target *t, const struct fresh *f, const struct block *old)
{
    bool grows = f->size * 10 >= old->size * 11 && f->size * 2 <= old->size * 9;
    if (f->account != old->site) {
        if (grows && is_near(t, f, old))
            step(&t->growths, f, old, false);
        return;
    }
    if (grows) {
        step(&t->growths, f, old, false);
    } else if (f->size < old->size || f->size > old->size * 4) {
        uint32_t row = row_of(&t->growths, f->account);
        struct chain_figures *of = &t->growths.rows.items[row].of;
        of->otherwise++;
        if (of->otherwise > HOPELESS && of->otherwise > of->growths)
            t->ledger.accounts.items[f->account].any_size = true;
    }
}

void growths_realloced(struct target *t, const struct fresh *f, const struct block *old)
{
    if (f->size > old->size)
        step(&t->growths, f, old, true);
}

static int by_site(const void *a, const void *b)
{
    const struct chain_row *x = a, *y = b;
    return (x->site > y->site) - (x->site < y->site);
}

void growths_finish(struct target *t)
{
    for (size_t i = 0; i < t->growths.rows.count; i++)
        if (t->growths.rows.items[i].of.growths)
            *vec_push(&t->profile.chains) = t->growths.rows.items[i];
    if (t->profile.chains.count)
        qsort(t->profile.chains.items, t->profile.chains.count, sizeof *t->profile.chains.items,
              by_site);
}

void growths_let_go(struct target *t)
{
    free(t->growths.links);
    t->growths.links = NULL;
}

void growths_release(struct target *t)
{
    growths_let_go(t);
    vec_release(&t->growths.row_of);
    vec_release(&t->growths.rows);
}
