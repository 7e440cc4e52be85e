#include "collect/counting/blocks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define PAGE_BITS 12
#define PLACES    (1u << (PAGE_BITS - 3)) /* blocks are aligned to 8 at least */
#define LARGE     UINT16_MAX              /* in `over`: `size` is a place in blocks.large */

struct entry {
    uint16_t key;  /* place in the page, in units of 8 bytes, + 1; 0: there is no block here */
    uint16_t over; /* usable - size */
    uint32_t size, site, birth;
};

/* The blocks of a page that has several: a hash table by place, probed from each one's home on. */
struct room {
    uint32_t users;     /* tables that share it: to change it, one must be its only user */
    uint32_t unused[3]; /* so that no entry is in two cache lines */
    struct entry entries[];
};

/* 24 bytes, because a page may hold no more than one block. key 0: an empty place in the table. */
struct block_page {
    uint64_t key : 48;   /* page number + 1 */
    uint64_t count : 16; /* of its blocks */
    union {
        struct entry one; /* count is 1 */
        struct {
            struct room *room;
            uint16_t size;   /* of the room: see room_capacity */
            bool was_shared; /* so that users must be looked at before a change */
        };
    };
};
static_assert(sizeof(struct block_page) == 24, "at most 64 bytes a block");

/*
 * Rooms have few sizes and are used again by their size: pages fill and empty all the time, and a
 * general allocator would merge and split their memory each time. All tables share the free ones.
 */
#define ROOM_SIZES  10
#define SLAB_BYTES  (256u << 10)
#define SLABS_SMALL 8 /* those that come after are huge pages */
/* Of 16 bytes, for each block: while there are fewer, rooms that have become too large are kept.
 * Pages fill and empty all the time. */
#define SLOTS_MOST 3

static struct {
    struct room *free[ROOM_SIZES]; /* the first 8 bytes lead to the next */
    VEC(char *) slabs;
    size_t slab_left;
} rooms;

static inline uint32_t room_capacity(uint32_t size)
{
    return 2u << size;
}

/* With more, taking a block out of it means to look through all of it. */
static inline uint32_t room_easy(uint32_t size)
{
    return room_capacity(size) - room_capacity(size) / 64 * 4;
}

static size_t room_bytes(uint32_t size)
{
    return sizeof(struct room) + room_capacity(size) * sizeof(struct entry);
}

static struct room *room_take(uint32_t size)
{
    struct room *r = rooms.free[size];
    if (r) {
        memcpy(&rooms.free[size], r, sizeof(void *));
    } else {
        if (rooms.slab_left < room_bytes(size)) {
            rooms.slab_left = rooms.slabs.count < SLABS_SMALL ? SLAB_BYTES : HUGE_PAGE;
            *vec_push(&rooms.slabs) = xtable(rooms.slab_left);
        }
        rooms.slab_left -= room_bytes(size);
        r = (void *)(rooms.slabs.items[rooms.slabs.count - 1] + rooms.slab_left);
    }
    r->users = 1;
    memset(r->entries, 0, room_capacity(size) * sizeof *r->entries);
    return r;
}

static void room_leave(uint32_t size, struct room *r)
{
    if (--r->users)
        return;
    memcpy(r, &rooms.free[size], sizeof(void *));
    rooms.free[size] = r;
}

static bool is_many(const struct block_page *p)
{
    return p->count > 1;
}

static inline uint16_t place_of(uint64_t address)
{
    return (uint16_t)(address >> 3 & (PLACES - 1));
}

/*
 * Where in a room the block of a place is looked for first. Neighbours in memory are neighbours
 * there; blocks of one size, whatever it is, have homes of their own.
 */
static inline uint32_t entry_home(uint32_t place, uint32_t size)
{
    uint32_t unit = room_capacity(size) < PLACES ? place >> 1 : place;
    return (unit + (unit >> 3)) & (room_capacity(size) - 1);
}

static size_t page_home(const struct blocks *t, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (t->size - 1);
}

static void table_grow(struct blocks *t)
{
    struct blocks old = *t;
    size_t live = 0;
    for (size_t i = 0; i < old.size; i++)
        live += old.pages[i].key && old.pages[i].count;
    t->size = old.size ? old.size : 256;
    while (live * 2 >
           t->size) /* pages that have become empty are left behind: it may not have to grow */
        t->size *= 2;
    t->pages = xcalloc(t->size, sizeof *t->pages);
    t->used = live;
    t->last = NULL;
    for (size_t i = 0; i < old.size; i++) {
        if (!old.pages[i].key || !old.pages[i].count)
            continue;
        size_t at = page_home(t, old.pages[i].key);
        while (t->pages[at].key)
            at = (at + 1) & (t->size - 1);
        t->pages[at] = old.pages[i];
    }
    free(old.pages);
}

static inline struct block_page *page_find(struct blocks *t, uint64_t address, bool add)
{
    uint64_t key = (address >> PAGE_BITS) + 1;
    if (t->last && t->last->key == key)
        return t->last;
    if (!t->size || (add && t->used * 4 >= t->size * 3)) {
        if (!add)
            return NULL;
        table_grow(t);
    }
    size_t at = page_home(t, key);
    while (t->pages[at].key != key) {
        if (!t->pages[at].key) {
            if (!add)
                return NULL;
            t->pages[at].key = key;
            t->used++;
            break;
        }
        at = (at + 1) & (t->size - 1);
    }
    return t->last = &t->pages[at];
}

/* Where a place's entry is in a room, or the empty one where it would be; NULL: it is full of
 * others. */
static inline struct entry *room_slot(struct room *r, uint32_t size, uint32_t place)
{
    uint32_t mask = room_capacity(size) - 1, home = entry_home(place, size), at = home;
    while (r->entries[at].key && r->entries[at].key != place + 1) {
        at = (at + 1) & mask;
        if (at == home)
            return NULL;
    }
    return &r->entries[at];
}

/* The entry at a place; or NULL, or an empty one. */
static inline struct entry *entry_find(struct block_page *p, uint32_t place)
{
    return is_many(p)                            ? room_slot(p->room, p->size, place)
           : p->count && p->one.key == place + 1 ? &p->one
                                                 : NULL;
}

static inline bool is_taken(const struct entry *e)
{
    return e && e->key;
}

/* The number of an entry is free: those behind it that it kept from their homes move up. */
static inline void room_close_gap(struct room *r, uint32_t size, uint32_t gap)
{
    uint32_t mask = room_capacity(size) - 1;
    for (uint32_t at = (gap + 1) & mask; r->entries[at].key && at != gap; at = (at + 1) & mask) {
        uint32_t home = entry_home(r->entries[at].key - 1u, size);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            r->entries[gap] = r->entries[at];
            gap = at;
        }
    }
    r->entries[gap].key = 0;
}

static void page_move(struct blocks *t, struct block_page *p, uint32_t size)
{
    struct room *old = p->room;
    t->slots += (size_t)room_capacity(size) - room_capacity(p->size);
    p->room = room_take(size);
    for (uint32_t i = 0; i < room_capacity(p->size); i++)
        if (old->entries[i].key)
            *room_slot(p->room, size, old->entries[i].key - 1u) = old->entries[i];
    room_leave(p->size, old);
    p->size = (uint16_t)size;
    p->was_shared = false;
}

/* Before a change: *e, which is in the page, may move. */
static inline void page_own(struct block_page *p, struct entry **e)
{
    if (__builtin_expect(!is_many(p) || !p->was_shared, 1))
        return;
    size_t number = (size_t)(*e - p->room->entries);
    if (p->room->users > 1) {
        struct room *own = room_take(p->size);
        memcpy(own->entries, p->room->entries, room_capacity(p->size) * sizeof *own->entries);
        room_leave(p->size, p->room);
        p->room = own;
    }
    p->was_shared = false;
    *e = &p->room->entries[number];
}

/* A page that grows is likely to grow on: a room four times as large, if all take little. */
static inline bool may_leap(const struct blocks *t, const struct block_page *p)
{
    return p->size <= 2 && t->slots * 2 <= t->count * 3;
}

/* `empty`: what entry_find says of its place. */
static inline void entry_add(struct blocks *t, struct block_page *p, struct entry e,
                             struct entry *empty)
{
    if (p->count == 0) {
        p->one = e;
        p->count = 1;
        return;
    }
    if (__builtin_expect(p->count == 1, 0)) {
        struct entry first = p->one;
        p->room = room_take(0);
        p->size = 0;
        p->was_shared = false;
        t->slots += room_capacity(0);
        *room_slot(p->room, 0, first.key - 1u) = first;
        empty = room_slot(p->room, 0, e.key - 1u);
    } else if (__builtin_expect(p->count == room_capacity(p->size), 0)) {
        page_move(t, p, p->size + (may_leap(t, p) ? 2u : 1u));
        empty = room_slot(p->room, p->size, e.key - 1u);
    } else {
        page_own(p, &empty);
    }
    *empty = e;
    p->count++;
}

static void entry_remove(struct blocks *t, struct block_page *p, struct entry *e)
{
    if (p->count == 1) {
        p->count = 0;
        return;
    }
    if (__builtin_expect(p->count > room_easy(p->size), 0)) {
        /* Blocks that only come fill their room; where they go too, there must be gaps. */
        uint32_t place = e->key - 1u;
        page_move(t, p, p->size + 1u);
        e = room_slot(p->room, p->size, place);
    }
    page_own(p, &e);
    room_close_gap(p->room, p->size, (uint32_t)(e - p->room->entries));
    p->count--;
    if (p->count == 1) {
        struct room *room = p->room;
        uint32_t at = 0;
        while (!room->entries[at].key)
            at++;
        struct entry only = room->entries[at];
        t->slots -= room_capacity(p->size);
        room_leave(p->size, room);
        p->one = only;
    } else if (p->size > 2 && p->count * 4u <= room_capacity(p->size) &&
               t->slots > t->count * SLOTS_MOST) {
        page_move(t, p, p->size - 1u);
    }
}

/* A page's entries one after the other; `at` is 0 at first. NULL: there are no more. */
static inline const struct entry *page_next(const struct block_page *p, uint32_t *at)
{
    if (!is_many(p))
        return (*at)++ < p->count ? &p->one : NULL;
    while (*at < room_capacity(p->size)) {
        const struct entry *e = &p->room->entries[(*at)++];
        if (e->key)
            return e;
    }
    return NULL;
}

static inline void unpack(struct blocks *t, const struct block_page *p, const struct entry *e,
                          struct block *out)
{
    bool large = e->over == LARGE;
    *out = (struct block){.address = (p->key - 1) << PAGE_BITS | (uint64_t)(e->key - 1u) << 3,
                          .size = large ? t->large.items[e->size].size : e->size,
                          .site = e->site,
                          .birth = e->birth};
    out->usable = large ? t->large.items[e->size].usable : out->size + e->over;
}

static inline struct entry pack(struct blocks *t, const struct block *b)
{
    struct entry e = {.key = (uint16_t)(place_of(b->address) + 1),
                      .site = b->site,
                      .birth = b->birth,
                      .size = (uint32_t)b->size,
                      .over = (uint16_t)(b->usable - b->size)};
    if (b->size > UINT32_MAX || b->usable - b->size >= LARGE) {
        e.over = LARGE;
        e.size = t->large_free.count ? t->large_free.items[--t->large_free.count]
                                     : (vec_push(&t->large), (uint32_t)(t->large.count - 1));
        t->large.items[e.size] = (struct block_large){.size = b->size, .usable = b->usable};
    }
    return e;
}

static void forget_large(struct blocks *t, const struct entry *e)
{
    if (e->over == LARGE)
        *vec_push(&t->large_free) = e->size;
}

bool blocks_put(struct blocks *t, const struct block *b, struct block *old)
{
    struct block_page *p = page_find(t, b->address, true);
    struct entry *there = entry_find(p, place_of(b->address));
    if (__builtin_expect(is_taken(there), 0)) {
        unpack(t, p, there, old);
        forget_large(t, there);
        page_own(p, &there);
        *there = pack(t, b);
        return true;
    }
    if (!p->count)
        t->fresh[t->fresh_count++ % BLOCKS_FRESH] = b->address >> PAGE_BITS;
    entry_add(t, p, pack(t, b), there);
    t->count++;
    return false;
}

bool blocks_take(struct blocks *t, uint64_t address, struct block *out)
{
    struct block_page *p = page_find(t, address, false);
    struct entry *e = p ? entry_find(p, place_of(address)) : NULL;
    if (!is_taken(e) || address & 7)
        return false;
    unpack(t, p, e, out);
    forget_large(t, e);
    entry_remove(t, p, e);
    t->count--;
    return true;
}

/* Are the pages of the gap empty still? */
static bool gap_holds(const struct blocks *t, const struct blocks_gap *gap)
{
    if (!gap->fresh || t->fresh_count + 1 - gap->fresh > BLOCKS_FRESH)
        return false;
    for (uint64_t i = gap->fresh - 1; i < t->fresh_count; i++)
        if (t->fresh[i % BLOCKS_FRESH] - gap->low <= gap->high - gap->low)
            return false;
    return true;
}

/* The last block of a page that does not begin behind an address. */
static bool last_up_to(struct blocks *t, const struct block_page *p, uint64_t address,
                       struct block *out)
{
    bool found = false;
    const struct entry *e;
    for (uint32_t at = 0; p && (e = page_next(p, &at));) {
        struct block b;
        unpack(t, p, e, &b);
        if (b.address > address || (found && b.address < out->address))
            continue;
        found = true;
        *out = b;
    }
    return found;
}

bool blocks_holding(struct blocks *t, uint64_t address, uint64_t lowest, struct blocks_gap *gap,
                    struct block *out)
{
    uint64_t first = address >> PAGE_BITS, page = first;
    bool known = gap && gap_holds(t, gap), found = false;
    for (; page + 1 > lowest >> PAGE_BITS && page; page--) {
        if (known && page - gap->low <= gap->high - gap->low)
            page = gap->low;
        else if ((found = last_up_to(t, page_find(t, page << PAGE_BITS, false), address, out)))
            break;
    }
    if (gap && page + 1 < first) /* whose own page may have a block behind the address */
        *gap = (struct blocks_gap){.low = page + 1, .high = first - 1, .fresh = t->fresh_count + 1};
    return found && address - out->address < out->usable; /* others end before it begins */
}

void blocks_prefetch(const struct blocks *t, uint64_t address)
{
    if (t->size)
        __builtin_prefetch(&t->pages[page_home(t, (address >> PAGE_BITS) + 1)]);
}

void blocks_prefetch_entry(const struct blocks *t, uint64_t address)
{
    uint64_t key = (address >> PAGE_BITS) + 1;
    if (!t->size)
        return;
    size_t at = page_home(t, key);
    while (t->pages[at].key != key) {
        if (!t->pages[at].key)
            return;
        at = (at + 1) & (t->size - 1);
    }
    const struct block_page *p = &t->pages[at];
    if (!is_many(p))
        return;
    const struct entry *e = &p->room->entries[entry_home(place_of(address), p->size)];
    __builtin_prefetch(e);
    __builtin_prefetch(e + 1); /* when it goes, the next one is looked at */
}

#define PAGES_AHEAD 4 /* whose rooms are on their way into the cache */

static inline void room_prefetch(const struct block_page *p)
{
    if (!is_many(p))
        return;
    const char *at = (const char *)p->room, *end = at + room_bytes(p->size);
    for (; at < end; at += 64)
        __builtin_prefetch(at);
}

/* The numbers of the entries that hold a block. A table has gaps nobody can foretell: finding them
 * without a branch is faster. */
static inline uint32_t room_taken(const struct room *r, uint32_t size, uint16_t numbers[PLACES + 1])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < room_capacity(size); i++) {
        numbers[count] = (uint16_t)i;
        count += r->entries[i].key != 0;
    }
    return count;
}

void blocks_each(const struct blocks *t, void (*visit)(void *context, const struct block *b),
                 void *context)
{
    uint16_t numbers[PLACES + 1];
    struct block b;
    for (size_t i = 0; i < t->size; i++) {
        const struct block_page *p = &t->pages[i];
        if (i + PAGES_AHEAD < t->size)
            room_prefetch(p + PAGES_AHEAD);
        if (p->count == 1) {
            unpack((struct blocks *)t, p, &p->one, &b);
            visit(context, &b);
        }
        if (!is_many(p))
            continue;
        uint32_t count = room_taken(p->room, p->size, numbers);
        for (uint32_t k = 0; k < count; k++) {
            unpack((struct blocks *)t, p, &p->room->entries[numbers[k]], &b);
            visit(context, &b);
        }
    }
}

#define DIGIT_BITS 11

/* Sorts by the lowest 48 bits. `room` is as large as `keys`; the result is in one of the two. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *room, size_t count)
{
    uint64_t differ = 0;
    for (size_t i = 0; i < count; i++)
        differ |= keys[i] ^ keys[0];
    for (unsigned shift = 0; shift < 48; shift += DIGIT_BITS) {
        size_t places[1u << DIGIT_BITS] = {0}, sum = 0;
        if (!(differ >> shift & ((1u << DIGIT_BITS) - 1)))
            continue;
        for (size_t i = 0; i < count; i++)
            places[keys[i] >> shift & ((1u << DIGIT_BITS) - 1)]++;
        for (size_t d = 0; d < sizeof places / sizeof *places; d++) {
            size_t n = places[d];
            places[d] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++)
            room[places[keys[i] >> shift & ((1u << DIGIT_BITS) - 1)]++] = keys[i];
        uint64_t *sorted = room;
        room = keys;
        keys = sorted;
    }
    return keys;
}

static void page_in_order(struct blocks *t, const struct block_page *p,
                          void (*visit)(void *context, const struct block *b), void *context)
{
    const struct entry *entries[PLACES], *e;
    uint64_t taken[PLACES / 64] = {0};
    for (uint32_t at = 0; (e = page_next(p, &at));) {
        entries[e->key - 1u] = e;
        taken[(e->key - 1u) / 64] |= UINT64_C(1) << (e->key - 1u) % 64;
    }
    for (uint32_t word = 0; word < PLACES / 64; word++)
        for (; taken[word]; taken[word] &= taken[word] - 1) {
            struct block b;
            unpack(t, p, entries[word * 64 + (unsigned)__builtin_ctzll(taken[word])], &b);
            visit(context, &b);
        }
}

void blocks_in_order(const struct blocks *t, void (*visit)(void *context, const struct block *b),
                     void *context)
{
    uint64_t *keys = xmalloc((t->used + 1) * 2 * sizeof *keys), *sorted;
    size_t count = 0;
    for (size_t i = 0; i < t->size; i++)
        if (t->pages[i].key && t->pages[i].count)
            keys[count++] = t->pages[i].key;
    sorted = sort_keys(keys, keys + t->used + 1, count);
    for (size_t i = 0; i < count; i++)
        page_in_order((struct blocks *)t,
                      page_find((struct blocks *)t, (sorted[i] - 1) << PAGE_BITS, false), visit,
                      context);
    free(keys);
}

void blocks_each_page(const struct blocks *t, void (*visit)(void *context, uint64_t address),
                      void *context)
{
    for (size_t i = 0; i < t->size; i++)
        if (t->pages[i].key && t->pages[i].count)
            visit(context, (t->pages[i].key - 1) << PAGE_BITS);
}

void blocks_clone(struct blocks *to, const struct blocks *from)
{
    *to = (struct blocks){
        .size = from->size, .used = from->used, .count = from->count, .slots = from->slots};
    if (!from->size)
        return;
    to->pages = xmalloc(from->size * sizeof *to->pages);
    memcpy(to->pages, from->pages, from->size * sizeof *to->pages);
    for (size_t i = 0; i < to->size; i++)
        if (is_many(&to->pages[i])) {
            to->pages[i].room->users++;
            to->pages[i].was_shared = from->pages[i].was_shared = true;
        }
    for (size_t i = 0; i < from->large.count; i++)
        *vec_push(&to->large) = from->large.items[i];
    for (size_t i = 0; i < from->large_free.count; i++)
        *vec_push(&to->large_free) = from->large_free.items[i];
}

size_t blocks_bytes(const struct blocks *t)
{
    return t->size * sizeof *t->pages + t->large.count * sizeof *t->large.items;
}

void blocks_release(struct blocks *t)
{
    for (size_t i = 0; i < t->size; i++)
        if (is_many(&t->pages[i]))
            room_leave(t->pages[i].size, t->pages[i].room);
    free(t->pages);
    vec_release(&t->large);
    vec_release(&t->large_free);
    *t = (struct blocks){0};
}
