#include "collect/counting/block_index.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/counting/block_reading.h"
#include "collect/counting/target.h"
#include "collect/proc/pagemap.h"

#define WINDOW_BITS 17 /* so many addresses are sorted at a time */
#define WINDOW      (UINT64_C(1) << WINDOW_BITS)
#define PLACES      (WINDOW / 8)
#define KEPT_MOST   (1u << 17) /* blocks: 5 MiB */
/* Blocks are smaller whose slots are not of the largest granule. */
#define REACH (UINT64_C(1) << 15)
static_assert(WIRE_STORED_WIDE < REACH && 1u << WIRE_GRANULE_MOST <= REACH, "REACH");

/* --- all blocks, in order --------------------------------------------------------------------- */

/* A part of a region, and which of its pages have contents. */
struct part {
    struct wire_index_part of;
    struct page_runs runs;
    size_t run;        /* the first run that does not end before the window */
    uint64_t from, to; /* its slots of the window */
};

/* Which blocks are wanted of all, and what is done with each. */
struct question {
    block_visit *visit; /* or: */
    block_skim *skim;
    void *context;
    const uint64_t *addresses; /* in order: only blocks that may hold one of them; NULL: all */
    size_t count;
    bool own; /* blocks on pages that are still shared with the parent are not wanted */
};

/* The blocks that begin in a window, by place. */
struct window {
    struct block_reading *reading;
    const struct question *question;
    int pagemap;
    uint32_t first_era;
    uint64_t wanted;    /* from this address on */
    VEC(uint64_t) near; /* the question's addresses, and where wide blocks begin that hold them */
    size_t next_near;   /* the first that is not before the window */
    uint64_t start;
    uint32_t now;           /* the era */
    uint32_t account, site; /* of the last block */
    bool in_order;  /* blocks are read in the order of their addresses: each is visited at once */
    uint64_t count; /* else: */
    uint64_t taken[PLACES / 64];
    struct block blocks[PLACES]; /* of each, `site` is the account */
};

/* Neighbours are often of one account: the site of the last is remembered. */
static bool window_site(struct window *w, struct block *b)
{
    uint32_t account = b->site;
    if (account == w->account) {
        b->site = w->site;
        return true;
    }
    if (!accounts_site(w->reading->target, account, &b->site))
        return false;
    w->account = account;
    w->site = b->site;
    return true;
}

static void window_visit(struct window *w, struct block *b)
{
    const struct question *q = w->question;
    bool inherited = b->birth < w->first_era;
    /* The program runs, and may be ahead of us. */
    b->birth = b->birth < w->now ? b->birth : w->now;
    if (q->skim && b->address >= w->wanted)
        w->wanted = q->skim(q->context, b);
    else if (!q->skim && (inherited || window_site(w, b)))
        q->visit(q->context, b, inherited);
}

static void window_put(void *context, struct block *b)
{
    struct window *w = context;
    uint64_t place = (b->address - w->start) / 8;
    if (place >= PLACES)
        return;
    if (w->in_order) {
        window_visit(w, b);
        return;
    }
    uint64_t bit = UINT64_C(1) << place % 64;
    if (w->taken[place / 64] & bit && w->blocks[place].birth > b->birth)
        return; /* a free was missed, and this is the older block */
    w->count++;
    w->taken[place / 64] |= bit;
    w->blocks[place] = *b;
}

static void window_visit_all(struct window *w)
{
    if (!w->count)
        return;
    for (size_t i = 0; i < PLACES / 64; i++)
        for (; w->taken[i]; w->taken[i] &= w->taken[i] - 1)
            window_visit(w, &w->blocks[i * 64 + (unsigned)__builtin_ctzll(w->taken[i])]);
    w->count = 0;
}

/* Has the part contents in the window? */
static bool part_begin(struct part *p, uint64_t window)
{
    uint32_t bytes = wire_slot_bytes(p->of.granule_bits);
    uint64_t in = window - (p->of.region << WIRE_REGION_BITS);
    p->from = p->of.slots + (in >> p->of.granule_bits) * bytes;
    p->to = p->from + (WINDOW >> p->of.granule_bits) * bytes;
    while (p->run < p->runs.items.count && p->runs.items.items[p->run].end <= p->from)
        p->run++;
    return p->run < p->runs.items.count && p->runs.items.items[p->run].start < p->to;
}

static void part_read(struct window *w, const struct part *p)
{
    for (size_t i = p->run; i < p->runs.items.count && p->runs.items.items[i].start < p->to; i++) {
        const struct page_run *run = &p->runs.items.items[i];
        block_reading_run(w->reading, &p->of, run->start > p->from ? run->start : p->from,
                          run->end < p->to ? run->end : p->to);
    }
}

/* Slots of one part that have no address in them are in order, and no two are for one address. */
static void window_read(struct window *w, struct part *const *parts, size_t count)
{
    w->now = eras_now(&w->reading->target->eras);
    w->in_order = count == 1 && parts[0]->of.granule_bits <= WIRE_SMALL_BITS;
    for (size_t i = 0; i < count; i++)
        part_read(w, parts[i]);
    window_visit_all(w);
}

/* May a block that begins in the window, and is not a large one, hold one of the addresses? */
static bool window_is_near(struct window *w)
{
    if (!w->question->addresses)
        return true;
    while (w->next_near < w->near.count && w->near.items[w->next_near] < w->start)
        w->next_near++;
    return w->next_near < w->near.count && w->near.items[w->next_near] < w->start + WINDOW + REACH;
}

static int by_region(const void *a, const void *b)
{
    const struct wire_index_part *x = a, *y = b;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return x->size_stored != y->size_stored ? x->size_stored - y->size_stored
                                            : (int)x->granule_bits - (int)y->granule_bits;
}

/* Finds the pages of a part that have contents; if only its own blocks are wanted, those that the
 * process has to itself. */
static bool part_find_pages(const struct window *w, struct part *p, uint64_t end)
{
    struct page_runs there = {0}, *all = w->question->own ? &there : &p->runs;
    bool known = w->pagemap >= 0 &&
                 pagemap_runs(w->pagemap, p->of.slots, end, PAGE_PRESENT | PAGE_SWAPPED, 0, all);
    for (size_t i = 0; i < there.items.count && known; i++)
        known =
            pagemap_own(w->pagemap, there.items.items[i].start, there.items.items[i].end, &p->runs);
    vec_release(&there.items);
    return known;
}

static void read_region(struct window *w, const struct wire_index_part *parts, size_t count)
{
    struct part all[WIRE_CLASSES] = {0};
    uint64_t region = parts[0].region << WIRE_REGION_BITS;
    size_t used = 0;
    if (region + (UINT64_C(1) << WIRE_REGION_BITS) <= w->wanted)
        return;
    for (size_t i = 0; i < count && used < WIRE_CLASSES; i++) {
        struct part *p = &all[used];
        uint64_t end = parts[i].slots + wire_part_bytes(parts[i].granule_bits);
        p->of = parts[i];
        if (!part_find_pages(w, p, end)) {
            p->runs.items.count = 0;
            *vec_push(&p->runs.items) = (struct page_run){.start = p->of.slots, .end = end};
        }
        used += p->runs.items.count != 0;
    }
    for (uint64_t at = 0; at < UINT64_C(1) << WIRE_REGION_BITS && used; at += WINDOW) {
        w->start = region + at;
        if (w->start + WINDOW <= w->wanted)
            continue;
        struct part *with_contents[WIRE_CLASSES];
        bool is_near = window_is_near(w);
        size_t contents = 0;
        for (size_t i = 0; i < used; i++)
            if ((is_near || all[i].of.granule_bits == WIRE_GRANULE_MOST) &&
                part_begin(&all[i], w->start))
                with_contents[contents++] = &all[i];
        window_read(w, with_contents, contents);
    }
    for (size_t i = 0; i < WIRE_CLASSES; i++)
        vec_release(&all[i].runs.items);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A block whose size is not in its slot may begin far before an address that it holds. */
static void gather_near(struct window *w)
{
    const struct question *q = w->question;
    const struct block_reading *k = w->reading;
    vec_reserve(&w->near, q->count);
    for (size_t i = 0; i < q->count; i++)
        *vec_push(&w->near) = q->addresses[i];
    for (size_t i = 0, at = 0; i < k->wide.count; i++) {
        const struct wire_wide *wide = &k->wide.items[i];
        BISECT(at, q->count, q->addresses[at] < wide->address);
        if (at < q->count && q->addresses[at] - wide->address < wide->usable)
            *vec_push(&w->near) = wide->address;
    }
    if (w->near.count)
        qsort(w->near.items, w->near.count, sizeof *w->near.items, by_value);
}

static bool read_all(struct target *t, const struct question *q)
{
    struct block_reading k;
    struct window *w = xcalloc(1, sizeof *w);
    VEC(struct wire_index_part) parts = {0};
    block_reading_open(&k, t, window_put, w);
    w->pagemap = pagemap_open(t->pid);
    bool known = block_reading_find_parts(&k);
    if (!known)
        goto out;
    w->reading = &k;
    w->question = q;
    w->account = WIRE_ACCOUNT_ARENA; /* no block has this one */
    w->first_era = t->header->first_era;
    block_reading_find_wide(&k, true);
    if (q->addresses)
        gather_near(w);
    for (size_t i = 0; i < t->index_parts.count; i++)
        if (block_reading_is_part(&t->index_parts.items[i]))
            *vec_push(&parts) = t->index_parts.items[i];
    if (parts.count)
        qsort(parts.items, parts.count, sizeof *parts.items, by_region);
    for (size_t i = 0, end; i < parts.count; i = end) {
        for (end = i + 1; end < parts.count && parts.items[end].region == parts.items[i].region;)
            end++;
        read_region(w, &parts.items[i], end - i);
    }
out:
    vec_release(&parts);
    if (w->pagemap >= 0)
        close(w->pagemap);
    block_reading_close(&k);
    vec_release(&w->near);
    free(w);
    return known;
}

/* --- run --sample ----------------------------------------------------------------------------- */

#define SAMPLE_BITS_MOST 24 /* limit of the table's size */

struct listing {
    VEC(struct block) blocks; /* of each, `site` is the account */
};

static void list(void *context, struct block *b)
{
    struct listing *l = context;
    *vec_push(&l->blocks) = *b;
}

/* Reads the table of recorded blocks; false: it cannot be read. */
static bool read_table(struct block_reading *k)
{
    struct wire_block piece[BLOCK_READING_PIECE / sizeof(struct wire_block)];
    uint64_t where =
        atomic_load_explicit(&k->target->header->totals.sample_table, memory_order_acquire);
    uint64_t start = where & ~UINT64_C(4095), bits = where & 4095;
    if (!where)
        return true;
    if (bits > SAMPLE_BITS_MOST)
        return false;
    uint64_t end = start + (sizeof *piece << bits);
    for (uint64_t at = start; at < end; at += BLOCK_READING_PIECE) {
        size_t size = end - at < BLOCK_READING_PIECE ? end - at : BLOCK_READING_PIECE;
        ssize_t n = remote_memory_read(&k->memory, at, piece, size);
        if (n <= 0)
            return false;
        for (size_t i = 0; i < (size_t)n / sizeof *piece; i++)
            if (piece[i].address)
                block_reading_add(k, piece[i].address, piece[i].account, piece[i].era,
                                  piece[i].size, piece[i].usable);
    }
    return true;
}

static int by_address(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static bool each_sampled(struct target *t, block_visit *visit, void *context)
{
    struct listing l = {0};
    struct block_reading k;
    uint32_t now = eras_now(&t->eras);
    block_reading_open(&k, t, list, &l);
    bool known = t->header && !t->ended && read_table(&k);
    if (known && l.blocks.count)
        qsort(l.blocks.items, l.blocks.count, sizeof *l.blocks.items, by_address);
    for (size_t i = 0; known && i < l.blocks.count; i++) {
        struct block b = l.blocks.items[i];
        bool inherited = b.birth < t->header->first_era;
        if (i && b.address == l.blocks.items[i - 1].address)
            continue; /* it was moved in the table meanwhile */
        b.birth = b.birth < now ? b.birth : now;
        if (inherited || accounts_site(t, b.site, &b.site))
            visit(context, &b, inherited);
    }
    vec_release(&l.blocks);
    block_reading_close(&k);
    return known;
}

/* --- a copy of what was read ------------------------------------------------------------------ */

static uint64_t count_all(const struct target *t)
{
    return block_index_count(t) + block_index_count_inherited(t);
}

static void copy_forget(struct block_copy *c)
{
    vec_release(&c->blocks);
    c->is_whole = false;
}

void block_index_hold(struct target *t)
{
    t->block_copy.holders++;
}

void block_index_release(struct target *t)
{
    if (--t->block_copy.holders > 0)
        return;
    copy_forget(&t->block_copy);
    t->block_copy.lend = NULL;
}

void block_index_lend(struct target *t, block_lend *lend, const void *lender)
{
    t->block_copy.lend = lend;
    t->block_copy.lender = lender;
}

static void copy_block(void *context, const struct block *b, bool inherited)
{
    struct block_copy *c = context;
    if (c->blocks.count < KEPT_MOST)
        *vec_push(&c->blocks) = (struct copied_block){*b, inherited};
    else
        c->is_whole = false;
}

/* Is there a copy to answer from? Makes it if it is wanted and not there yet. */
static bool copy_is_there(struct target *t)
{
    struct block_copy *c = &t->block_copy;
    if (c->is_whole || !c->holders || count_all(t) > KEPT_MOST)
        return c->is_whole;
    c->is_whole = true;
    if (!read_all(t, &(struct question){.visit = copy_block, .context = c}))
        c->is_whole = false;
    if (!c->is_whole)
        copy_forget(c);
    return c->is_whole;
}

bool block_index_each(struct target *t, block_visit *visit, void *context)
{
    if (t->profile.sample_bytes)
        return each_sampled(t, visit, context);
    if (!count_all(t))
        return true;
    if (t->block_copy.lend) {
        t->block_copy.lend(t->block_copy.lender, visit, context);
        return true;
    }
    if (!copy_is_there(t))
        return read_all(t, &(struct question){.visit = visit, .context = context});
    for (size_t i = 0; i < t->block_copy.blocks.count; i++)
        visit(context, &t->block_copy.blocks.items[i].block,
              t->block_copy.blocks.items[i].is_inherited);
    return true;
}

static void copy_own(void *context, const struct block *b, bool inherited)
{
    if (!inherited)
        copy_block(context, b, false);
}

/* A page that the process shares with a child of its own looks as if it had never written to it.
 * Then fewer blocks are found than there are, and all pages are read. */
bool block_index_own(struct target *t, block_visit *visit, void *context)
{
    uint64_t expected = block_index_count(t);
    struct block_copy own = {.is_whole = true};
    if (!t->forked || t->has_forked || t->profile.sample_bytes || t->block_copy.is_whole ||
        expected > KEPT_MOST)
        return block_index_each(t, visit, context);
    struct question q = {.visit = copy_own, .context = &own, .own = true};
    bool known = read_all(t, &q) && own.is_whole && own.blocks.count >= expected;
    for (size_t i = 0; i < own.blocks.count && known; i++)
        visit(context, &own.blocks.items[i].block, false);
    copy_forget(&own);
    return known || block_index_each(t, visit, context);
}

struct skimming {
    block_skim *visit;
    void *context;
    uint64_t wanted;
};

static void skim_over(void *context, const struct block *b, bool inherited)
{
    struct skimming *k = context;
    (void)inherited;
    if (b->address >= k->wanted)
        k->wanted = k->visit(k->context, b);
}

bool block_index_skim(struct target *t, block_skim *visit, void *context)
{
    struct skimming k = {.visit = visit, .context = context};
    if (t->profile.sample_bytes || !count_all(t) || copy_is_there(t))
        return block_index_each(t, skim_over, &k);
    return read_all(t, &(struct question){.skim = visit, .context = context});
}

bool block_index_near(struct target *t, const uint64_t *addresses, size_t count, block_visit *visit,
                      void *context)
{
    struct question q = {
        .visit = visit, .context = context, .addresses = addresses, .count = count};
    if (!count || t->profile.sample_bytes || !count_all(t) || copy_is_there(t))
        return !count || block_index_each(t, visit, context);
    return read_all(t, &q);
}

/* --- one block -------------------------------------------------------------------------------- */

/* The last block that begins at or before an address. */
struct nearest {
    uint64_t address;
    struct block block; /* `site` is the account */
    bool any;
};

static void keep_nearest(void *context, struct block *b)
{
    struct nearest *n = context;
    if (b->address > n->address || n->address - b->address >= (b->usable ? b->usable : 1) ||
        (n->any && b->address < n->block.address))
        return;
    n->block = *b;
    n->any = true;
}

#define SLOTS_BACK 128 /* slots of large blocks, read at a time */

/* Reads the slots of one part in which the block may begin. */
static void look_in_part(struct block_reading *k, const struct wire_index_part *p, uint64_t address,
                         uint64_t lowest)
{
    const struct nearest *n = k->context;
    uint64_t start = p->region << WIRE_REGION_BITS, end = start + (UINT64_C(1) << WIRE_REGION_BITS);
    uint32_t bytes = wire_slot_bytes(p->granule_bits);
    bool open_ended = p->granule_bits == WIRE_GRANULE_MOST;
    uint64_t reach = p->size_stored                       ? WIRE_STORED_WIDE
                     : p->granule_bits <= WIRE_SMALL_BITS ? UINT64_C(2) << WIRE_SMALL_BITS
                                                          : UINT64_C(1) << WIRE_GRANULE_MOST;
    if (!open_ended && address - lowest > reach)
        lowest = address - reach;
    if (lowest >= end || address < start || !block_reading_is_part(p))
        return;
    uint64_t first = lowest > start ? (lowest - start) >> p->granule_bits : 0;
    uint64_t last = ((address < end ? address : end - 1) - start) >> p->granule_bits;
    for (uint64_t to = last + 1; to > first && !n->any;) {
        uint64_t from = to - first > SLOTS_BACK ? to - SLOTS_BACK : first;
        block_reading_run(k, p, p->slots + from * bytes, p->slots + to * bytes);
        to = from;
    }
}

/* A block with a stored size whose size does not fit into its slot may begin far before the
 * address. */
static void look_for_wide(struct block_reading *k, uint64_t address)
{
    const struct target *t = k->target;
    block_reading_find_wide(k, false);
    for (size_t i = 0; i < k->wide.count; i++) {
        const struct wire_wide *w = &k->wide.items[i];
        if (address - w->address >= w->usable)
            continue;
        block_reading_know(k, i);
        for (size_t p = 0; p < t->index_parts.count; p++)
            if (t->index_parts.items[p].size_stored)
                look_in_part(k, &t->index_parts.items[p], w->address, w->address);
    }
}

static bool find_holding(struct target *t, uint64_t address, uint64_t lowest, bool freed,
                         struct nearest *n)
{
    struct block_reading k;
    block_reading_open(&k, t, keep_nearest, n);
    k.freed_too = freed;
    *n = (struct nearest){.address = address};
    if (block_reading_find_parts(&k)) {
        look_for_wide(&k, address);
        for (size_t i = 0; i < t->index_parts.count && !n->any; i++)
            look_in_part(&k, &t->index_parts.items[i], address, lowest);
    }
    block_reading_close(&k);
    return n->any;
}

bool block_index_holding(struct target *t, uint64_t address, uint64_t lowest, struct block *out)
{
    struct nearest n;
    for (int freed = 0; freed < 2; freed++)
        if (find_holding(t, address, lowest, freed, &n) && n.block.birth >= t->header->first_era &&
            accounts_site(t, n.block.site, &n.block.site)) {
            *out = n.block;
            return true;
        }
    return false;
}

uint64_t block_index_count(const struct target *t)
{
    return ledger_now(&t->ledger).blocks;
}

uint64_t block_index_count_inherited(const struct target *t)
{
    const struct inherited *i = &t->profile.inherited;
    return i->blocks > i->freed_blocks ? i->blocks - i->freed_blocks : 0;
}
