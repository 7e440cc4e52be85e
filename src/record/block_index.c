#include "record/block_index.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/recorder.h"

#define TABLE_BITS   12 /* of addresses, at each of two levels above a region */
#define TABLE_SIZE   (1u << TABLE_BITS)
#define PARTS        (1u << 18)
#define SLAB_FIRST   ((size_t)128 << 20)
#define WIDE_FIRST   1024u
#define ADDRESS_MOST (UINT64_C(1) << (WIRE_REGION_BITS + 2 * TABLE_BITS))
#define GRANULES     (WIRE_GRANULE_MOST - WIRE_GRANULE_LEAST + 1)

struct region {
    _Atomic(char *) classes[WIRE_CLASSES]; /* slots of a part; NULL: there was no such block */
};

struct region_table {
    _Atomic(struct region *) regions[TABLE_SIZE];
};

static struct {
    _Atomic(struct region_table *) tables[TABLE_SIZE];
    struct wire_index_part *parts;
    _Atomic uint32_t part_count;
    char *slab, *slab_end;
    size_t slab_size;
    unsigned spacing;
    struct spin lock;              /* of what follows, and of making parts */
    struct wire_wide *wide;        /* an open table by address */
    uint32_t wide_mask, wide_used; /* used: taken once, and empty again perhaps */
} block_index;

_Atomic bool index_told;

/* --- memory ----------------------------------------------------------------------------------- */

/* Under the lock. */
static void *slab_take(size_t size)
{
    size = (size + WIRE_PAGE - 1) & ~(size_t)(WIRE_PAGE - 1);
    if ((size_t)(block_index.slab_end - block_index.slab) < size) {
        size_t larger = block_index.slab_size ? block_index.slab_size * 2 : SLAB_FIRST;
        larger = larger < size ? size : larger;
        if (!sys_leaves_room(larger))
            larger = size;
        char *slab = sys_leaves_room(larger) ? sys_map(larger) : NULL;
        if (!slab)
            return NULL;
        recorder_own(slab, larger);
        block_index.slab = slab;
        block_index.slab_end = slab + larger;
        block_index.slab_size = larger;
    }
    void *p = block_index.slab;
    block_index.slab += size;
    return p;
}

static __attribute__((noinline, cold)) char *part_make(uintptr_t address, unsigned class)
{
    uint64_t number = address >> WIRE_REGION_BITS;
    bool told = class >= GRANULES;
    uint32_t bits = WIRE_GRANULE_LEAST + (told ? class - GRANULES : class);
    char *slots = NULL;
    if (address >= ADDRESS_MOST)
        return NULL;
    spin_lock(&block_index.lock);
    _Atomic(struct region_table *) *table = &block_index.tables[number >> TABLE_BITS];
    if (!atomic_load(table))
        atomic_store(table, slab_take(sizeof(struct region_table)));
    if (!block_index.parts)
        block_index.parts = slab_take(PARTS * sizeof *block_index.parts);
    if (!atomic_load(table) || !block_index.parts)
        goto out;
    _Atomic(struct region *) *region = &atomic_load(table)->regions[number & (TABLE_SIZE - 1)];
    if (!atomic_load(region))
        atomic_store(region, slab_take(sizeof(struct region)));
    if (!atomic_load(region))
        goto out;
    slots = atomic_load(&atomic_load(region)->classes[class]);
    uint32_t count = atomic_load(&block_index.part_count);
    if (slots || count == PARTS)
        goto out;
    slots = slab_take(wire_part_bytes(bits));
    if (slots) {
        if (told)
            atomic_store(&index_told, true);
        block_index.parts[count] =
            (struct wire_index_part){.region = number,
                                     .slots = (uintptr_t)slots,
                                     .granule_bits = bits,
                                     .told = told,
                                     .spacing = (uint16_t)block_index.spacing};
        atomic_store(&block_index.part_count, count + 1);
        if (recorder.header)
            index_tell(recorder.header);
        atomic_store(&atomic_load(region)->classes[class], slots);
    }
out:
    spin_unlock(&block_index.lock);
    return slots;
}

void index_tell(struct wire_header *h)
{
    atomic_store(&h->totals.index_parts, (uintptr_t)block_index.parts);
    atomic_store_explicit(&h->totals.index_part_count, atomic_load(&block_index.part_count),
                          memory_order_release);
    atomic_store(&h->totals.index_wide_count, block_index.wide ? block_index.wide_mask + 1 : 0);
    atomic_store(&h->totals.index_wide, (uintptr_t)block_index.wide);
}

void index_prepare(void)
{
    spin_lock(&block_index.lock);
    if (!block_index.parts)
        block_index.parts = slab_take(PARTS * sizeof *block_index.parts);
    spin_unlock(&block_index.lock);
}

void index_forked(void)
{
    spin_reset(&block_index.lock);
}

void index_clear(void)
{
    for (uint32_t i = 0; i < atomic_load(&block_index.part_count); i++)
        sys_call(SYS_madvise, (long)block_index.parts[i].slots,
                 (long)wire_part_bytes(block_index.parts[i].granule_bits), (long)MADV_DONTNEED);
}

void index_set_spacing(unsigned bytes)
{
    if (!atomic_load(&block_index.part_count)) /* else there are blocks already */
        block_index.spacing = bytes;
}

unsigned index_spacing(void)
{
    return block_index.spacing;
}

/* --- slots ------------------------------------------------------------------------------------ */

static inline unsigned class_of(size_t usable)
{
    size_t apart = (usable + block_index.spacing) | 1;
    unsigned bits = 63 - (unsigned)__builtin_clzll(apart);
    return bits <= WIRE_GRANULE_LEAST  ? 0
           : bits >= WIRE_GRANULE_MOST ? GRANULES - 1
                                       : bits - WIRE_GRANULE_LEAST;
}

static inline unsigned told_class(uintptr_t address)
{
    return GRANULES + (address % 16 == 0);
}

static inline uint32_t bits_of(unsigned class)
{
    return WIRE_GRANULE_LEAST + (class >= GRANULES ? class - GRANULES : class);
}

/* The slot of a block; NULL: there is no memory for it. */
static inline void *slot_of(uintptr_t address, unsigned class, bool make)
{
    uint64_t number = address >> WIRE_REGION_BITS;
    char *slots = NULL;
    if (UNLIKELY(number >= (uint64_t)TABLE_SIZE * TABLE_SIZE))
        return NULL;
    struct region_table *table =
        atomic_load_explicit(&block_index.tables[number >> TABLE_BITS], memory_order_acquire);
    struct region *region =
        LIKELY(table != NULL)
            ? atomic_load_explicit(&table->regions[number & (TABLE_SIZE - 1)], memory_order_acquire)
            : NULL;
    if (LIKELY(region != NULL))
        slots = atomic_load_explicit(&region->classes[class], memory_order_acquire);
    if (UNLIKELY(!slots)) {
        if (!make || !(slots = part_make(address, class)))
            return NULL;
    }
    uint32_t bits = bits_of(class);
    uintptr_t in = (address & ((UINT64_C(1) << WIRE_REGION_BITS) - 1)) >> bits;
    return slots + in * wire_slot_bytes(bits);
}

static inline uint32_t place_of(uintptr_t address, uint32_t bits)
{
    return (uint32_t)(address & ((1u << bits) - 1)) >> 3;
}

/* --- sizes that are told and do not fit --------------------------------------------------------*/

static uint32_t wide_home(uintptr_t address, uint32_t mask)
{
    return (uint32_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 40) & mask;
}

static struct wire_wide *wide_find(uintptr_t address)
{
    uint32_t mask = block_index.wide_mask;
    if (!block_index.wide)
        return NULL;
    for (uint32_t i = wide_home(address, mask);; i = (i + 1) & mask) {
        struct wire_wide *w = &block_index.wide[i];
        if (w->address == address || !w->address)
            return w->address ? w : NULL;
    }
}

/* Leaves an address behind: its place is used again by the same address, or lost until the table
 * grows. */
static bool wide_put(uintptr_t address, uint64_t size, uint64_t usable)
{
    struct wire_wide *w = wide_find(address);
    if (!w) {
        if (!block_index.wide || block_index.wide_used * 2 > block_index.wide_mask) {
            uint32_t live = 0, mask = block_index.wide_mask;
            struct wire_wide *old = block_index.wide;
            for (uint32_t i = 0; old && i <= mask; i++)
                live += old[i].address && old[i].usable;
            uint32_t count = WIDE_FIRST;
            while (count < (live + 1) * 4)
                count *= 2;
            struct wire_wide *made = slab_take(count * sizeof *made);
            if (!made)
                return false;
            block_index.wide = made;
            block_index.wide_mask = count - 1;
            block_index.wide_used = 0;
            for (uint32_t i = 0; old && i <= mask; i++)
                if (old[i].address && old[i].usable) {
                    uint32_t at = wide_home(old[i].address, count - 1);
                    while (made[at].address)
                        at = (at + 1) & (count - 1);
                    made[at] = old[i];
                    block_index.wide_used++;
                }
            if (recorder.header)
                index_tell(recorder.header);
        }
        uint32_t at = wide_home(address, block_index.wide_mask);
        while (block_index.wide[at].address)
            at = (at + 1) & block_index.wide_mask;
        w = &block_index.wide[at];
        block_index.wide_used++;
    }
    *w = (struct wire_wide){address, size, usable};
    return true;
}

static inline uint32_t era_word(uint32_t era)
{
    return era < WIRE_ERA_MOST ? era : WIRE_ERA_MOST;
}

static bool told_read(uintptr_t address, uint64_t word, struct indexed *out, bool remove)
{
    uint32_t low = WIRE_SLOT_LOW(word), size = low & (WIRE_TOLD_ROUNDED - 1);
    *out = (struct indexed){WIRE_SLOT_ACCOUNT(word), WIRE_SLOT_ERA(word), size, size};
    if (low & WIRE_TOLD_ROUNDED)
        out->usable = size ? (size + 15) & ~(uint64_t)15 : 16;
    if (size != WIRE_TOLD_WIDE)
        return true;
    spin_lock(&block_index.lock);
    struct wire_wide *w = wide_find(address);
    if (w) {
        out->size = w->size;
        out->usable = w->usable;
        if (remove)
            w->usable = 0;
    }
    spin_unlock(&block_index.lock);
    return w != NULL;
}

static bool told_word(uintptr_t address, const struct indexed *b, uint64_t *word)
{
    uint32_t low = (uint32_t)b->size;
    bool rounded = b->usable == (b->size ? (b->size + 15) & ~(uint64_t)15 : 16);
    if (b->size < WIRE_TOLD_WIDE && rounded) {
        low |= WIRE_TOLD_ROUNDED;
    } else if (b->size >= WIRE_TOLD_WIDE || b->usable != b->size) {
        low = WIRE_TOLD_WIDE;
        spin_lock(&block_index.lock);
        bool kept = wide_put(address, b->size, b->usable ? b->usable : 1);
        spin_unlock(&block_index.lock);
        if (!kept)
            return false;
    }
    *word = WIRE_SLOT(b->account, era_word(b->era), low);
    return true;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static inline struct indexed small_read(uint64_t word, uint32_t bits)
{
    uint32_t low = WIRE_SLOT_LOW(word);
    uint64_t usable = (UINT64_C(1) << bits) - block_index.spacing + WIRE_SLOT_BEYOND(low);
    return (struct indexed){WIRE_SLOT_ACCOUNT(word), WIRE_SLOT_ERA(word),
                            usable - WIRE_SLOT_SLACK(low), usable};
}

static inline bool small_take(uintptr_t address, unsigned class, struct indexed *out)
{
    _Atomic uint64_t *slot = slot_of(address, class, false);
    uint64_t word = slot ? atomic_load_explicit(slot, memory_order_relaxed) : 0;
    uint32_t bits = bits_of(class);
    if (UNLIKELY(!word || WIRE_SLOT_PLACE(WIRE_SLOT_LOW(word)) != place_of(address, bits)))
        return false;
    *out = small_read(word, bits);
    atomic_store_explicit(slot, 0, memory_order_relaxed);
    return true;
}

/* What a small slot has besides account and era; false: it has no room for that. */
static inline bool small_low(uintptr_t address, const struct indexed *b, uint32_t bits,
                             uint32_t *low)
{
    uint64_t beyond = b->usable + block_index.spacing - (UINT64_C(1) << bits);
    uint64_t slack = b->usable - b->size;
    *low = (uint32_t)(slack << 8 | beyond << 1 | place_of(address, bits));
    return LIKELY(!(beyond & 7) && beyond < 128 && slack < 256 && !(address & 7));
}

static inline bool large_take(uintptr_t address, unsigned class, struct indexed *out)
{
    struct wire_block *b = slot_of(address, class, false);
    if (UNLIKELY(!b || b->address != address))
        return false;
    *out = (struct indexed){b->account, b->era, b->size, b->usable};
    b->address = address | WIRE_BLOCK_FREED;
    return true;
}

static bool told_take(uintptr_t address, struct indexed *out)
{
    _Atomic uint64_t *slot = slot_of(address, told_class(address), false);
    uint64_t word = slot ? atomic_load_explicit(slot, memory_order_relaxed) : 0;
    if (!word || !told_read(address, word, out, true))
        return false;
    atomic_store_explicit(slot, 0, memory_order_relaxed);
    return true;
}

/* Its allocator says something else than it did when the block was allocated; or it was told. */
static __attribute__((noinline)) bool take_anywhere(uintptr_t address, struct indexed *out)
{
    for (unsigned class = 0; class < GRANULES; class ++) {
        bool small = bits_of(class) <= WIRE_SMALL_BITS;
        if (small ? small_take(address, class, out) : large_take(address, class, out))
            return true;
    }
    return told_take(address, out);
}

bool index_take(uintptr_t address, size_t usable, struct indexed *out)
{
    if (usable == INDEX_TOLD)
        return told_take(address, out);
    unsigned class = class_of(usable);
    bool found = bits_of(class) <= WIRE_SMALL_BITS ? small_take(address, class, out)
                                                   : large_take(address, class, out);
    return LIKELY(found) || take_anywhere(address, out);
}

static void told_put(_Atomic uint64_t *slot, uintptr_t address, const struct indexed *b,
                     uint64_t word, struct indexed *old, bool *replaced)
{
    *replaced = word && told_read(address, word, old, true);
    if (!told_word(address, b, &word))
        word = 0;
    atomic_store_explicit(slot, word, memory_order_relaxed);
}

bool index_put(uintptr_t address, const struct indexed *b, bool told, struct indexed *old)
{
    bool replaced = false;
    unsigned class = told ? told_class(address) : class_of(b->usable);
    uint32_t bits = bits_of(class), low = 0;
    if (!told && bits <= WIRE_SMALL_BITS && UNLIKELY(!small_low(address, b, bits, &low))) {
        class = told_class(address);
        told = true;
    }
    void *place = slot_of(address, class, true);
    if (UNLIKELY(!place))
        return false;
    if (UNLIKELY(told)) {
        uint64_t word = atomic_load_explicit((_Atomic uint64_t *)place, memory_order_relaxed);
        told_put(place, address, b, word, old, &replaced);
        return replaced;
    }
    if (bits <= WIRE_SMALL_BITS) {
        _Atomic uint64_t *slot = place;
        uint64_t word = atomic_load_explicit(slot, memory_order_relaxed);
        if (UNLIKELY(word)) {
            *old = small_read(word, bits);
            replaced = true;
        }
        atomic_store_explicit(slot, WIRE_SLOT(b->account, era_word(b->era), low),
                              memory_order_relaxed);
        return replaced;
    }
    struct wire_block *slot = place;
    if (UNLIKELY(slot->address && !(slot->address & WIRE_BLOCK_FREED))) {
        *old = (struct indexed){slot->account, slot->era, slot->size, slot->usable};
        replaced = true;
    }
    *slot = (struct wire_block){address, b->account, b->era, b->size, b->usable};
    return replaced;
}
