#include "record/block_index.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/recorder.h"

#define PARTS        (1u << 18)
#define SLAB_FIRST   ((size_t)128 << 20)
#define WIDE_FIRST   1024u
#define ADDRESS_MOST (UINT64_C(1) << (WIRE_REGION_BITS + 2 * INDEX_TABLE_BITS))

static struct {
    struct wire_index_part *parts;
    _Atomic uint32_t part_count;
    char *slab, *slab_end;
    size_t slab_size;
    struct spin lock;              /* protects what follows, and the creation of parts */
    struct wire_wide *wide;        /* an open table by address */
    uint32_t wide_mask, wide_used; /* used: entries that were ever taken, perhaps empty again */
} block_index;

struct index_top index_top;

/* --- memory ----------------------------------------------------------------------------------- */

/* Call it with the lock. */
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
    bool size_stored = class >= INDEX_STORED_CLASS;
    uint32_t bits = index_bits(class);
    char *slots = NULL;
    if (address >= ADDRESS_MOST)
        return NULL;
    spin_lock(&block_index.lock);
    _Atomic(struct index_table *) *table = &index_top.tables[number >> INDEX_TABLE_BITS];
    if (!atomic_load(table))
        atomic_store(table, slab_take(sizeof(struct index_table)));
    if (!block_index.parts)
        block_index.parts = slab_take(PARTS * sizeof *block_index.parts);
    if (!atomic_load(table) || !block_index.parts)
        goto out;
    struct index_region *region = &atomic_load(table)->regions[number & (INDEX_TABLE - 1)];
    slots = atomic_load(&region->classes[class]);
    uint32_t count = atomic_load(&block_index.part_count);
    if (slots || count == PARTS)
        goto out;
    slots = slab_take(wire_part_bytes(bits));
    if (slots) {
        if (size_stored)
            atomic_store(&recorder.any_stored, true);
        block_index.parts[count] = (struct wire_index_part){.region = number,
                                                            .slots = (uintptr_t)slots,
                                                            .granule_bits = bits,
                                                            .size_stored = size_stored,
                                                            .spacing = (uint16_t)index_top.spacing};
        atomic_store(&block_index.part_count, count + 1);
        if (recorder.header)
            index_tell(recorder.header);
        atomic_store(&region->classes[class], slots);
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

/* If another thread of the parent was taking memory, the bounds of the slab may contradict each
 * other: what is left of it is given up. */
void index_forked(void)
{
    if (atomic_load(&block_index.lock.holder))
        block_index.slab = block_index.slab_end = NULL;
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
    if (!atomic_load(&block_index.part_count)) /* otherwise there are already blocks */
        index_top.spacing = bytes;
}

unsigned index_spacing(void)
{
    return (unsigned)index_top.spacing;
}

/* --- slots ------------------------------------------------------------------------------------ */

/* The slot of a block; NULL: there is no memory for it. */
static inline void *slot_of(uintptr_t address, unsigned class, bool make)
{
    char *slots = index_slots(address, class);
    if (UNLIKELY(!slots) && (!make || !(slots = part_make(address, class))))
        return NULL;
    uint32_t bits = index_bits(class);
    return slots + (index_in_region(address) >> bits) * wire_slot_bytes(bits);
}

/* --- sizes of blocks with a stored size that do not fit --------------------------------------- */

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

/* Keeps the address: its entry is used again by the same address, or lost until the table grows. */
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

static bool stored_read(uintptr_t address, uint64_t word, struct indexed *out, bool remove)
{
    *out = index_read_stored(word);
    if (WIRE_SLOT_LOW(word) != WIRE_STORED_WIDE)
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

static bool stored_word(uintptr_t address, const struct indexed *b, uint64_t *word)
{
    uint32_t low;
    if (!wire_stored_low(b->size, b->usable, &low)) {
        low = WIRE_STORED_WIDE;
        spin_lock(&block_index.lock);
        bool kept = wide_put(address, b->size, b->usable ? b->usable : 1);
        spin_unlock(&block_index.lock);
        if (!kept)
            return false;
    }
    *word = WIRE_SLOT(b->account, index_era(b->era), low);
    return true;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static inline bool large_take(uintptr_t address, unsigned class, struct indexed *out)
{
    struct wire_block *b = slot_of(address, class, false);
    if (UNLIKELY(!b || b->address != address))
        return false;
    *out = (struct indexed){b->account, b->era, b->size, b->usable};
    b->address = address | WIRE_BLOCK_FREED;
    return true;
}

static bool stored_take(uintptr_t address, struct indexed *out)
{
    _Atomic uint64_t *slot = slot_of(address, index_stored_class(address), false);
    uint64_t word = slot ? atomic_load_explicit(slot, memory_order_relaxed) : 0;
    if (!word || !stored_read(address, word, out, true))
        return false;
    atomic_store_explicit(slot, 0, memory_order_relaxed);
    return true;
}

static struct indexed small_read(uint64_t word)
{
    uint32_t low = WIRE_SLOT_LOW(word);
    uint64_t usable = WIRE_SLOT_APART(low) - index_top.spacing;
    return (struct indexed){WIRE_SLOT_ACCOUNT(word), WIRE_SLOT_ERA(word),
                            usable - WIRE_SLOT_SLACK(low), usable};
}

static bool small_take(uintptr_t address, unsigned class, struct indexed *out)
{
    _Atomic uint64_t *slot = slot_of(address, class, false);
    uint64_t word = slot ? atomic_load_explicit(slot, memory_order_relaxed) : 0;
    if (!word || (word & 7) != (address >> 3 & 7))
        return false;
    *out = small_read(word);
    atomic_store_explicit(slot, 0, memory_order_relaxed);
    return true;
}

static bool class_take(uintptr_t address, unsigned class, struct indexed *out)
{
    return index_bits(class) <= WIRE_SMALL_BITS ? small_take(address, class, out)
                                                : large_take(address, class, out);
}

/* Its allocator reports another size than when the block was allocated; or it is a block with a
 * stored size. */
static __attribute__((noinline)) bool take_anywhere(uintptr_t address, struct indexed *out)
{
    for (unsigned class = WIRE_GRANULE_LEAST; class <= WIRE_GRANULE_MOST; class ++)
        if (class_take(address, class, out))
            return true;
    return stored_take(address, out);
}

bool index_take(uintptr_t address, size_t usable, struct indexed *out)
{
    if (usable == INDEX_SIZE_STORED)
        return stored_take(address, out);
    return class_take(address, index_class(index_apart(usable)), out) ||
           take_anywhere(address, out);
}

static void stored_put(_Atomic uint64_t *slot, uintptr_t address, const struct indexed *b,
                       uint64_t word, struct indexed *old, bool *replaced)
{
    *replaced = word && stored_read(address, word, old, true);
    if (!stored_word(address, b, &word))
        word = 0;
    atomic_store_explicit(slot, word, memory_order_relaxed);
}

bool index_put(uintptr_t address, const struct indexed *b, bool size_stored, struct indexed *old)
{
    bool replaced = false;
    uint64_t apart = index_apart(b->usable);
    unsigned class = size_stored ? index_stored_class(address) : index_class(apart);
    uint32_t bits = index_bits(class), low = 0;
    if (!size_stored && bits <= WIRE_SMALL_BITS &&
        (UNLIKELY(!index_is_small(apart)) || UNLIKELY(!index_small_low(address, b, apart, &low)))) {
        class = index_stored_class(address);
        size_stored = true;
    }
    void *place = slot_of(address, class, true);
    if (UNLIKELY(!place))
        return false;
    if (UNLIKELY(size_stored)) {
        uint64_t word = atomic_load_explicit((_Atomic uint64_t *)place, memory_order_relaxed);
        stored_put(place, address, b, word, old, &replaced);
        return replaced;
    }
    if (bits <= WIRE_SMALL_BITS) {
        _Atomic uint64_t *slot = place;
        uint64_t word = atomic_load_explicit(slot, memory_order_relaxed);
        if (UNLIKELY(word)) {
            *old = small_read(word);
            replaced = true;
        }
        atomic_store_explicit(slot, WIRE_SLOT(b->account, index_era(b->era), low),
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
