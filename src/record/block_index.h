/*
 * block_index: the live blocks by address, in the program's own memory, so that a forked child has
 * a copy of it. Laid out as wire/accounts.h says; the collector reads it where it is.
 *
 * A block has a slot of its own for as long as it lives: a part of memory of 2^n bytes cannot hold
 * the beginnings of two live blocks that have as many each. So the slot is found by the address and
 * by what can be used of the block, which its allocator says at the free as it did at the
 * allocation. Blocks whose allocator cannot be asked are told: they are found by address alone, in
 * parts of 16 and 8 bytes.
 *
 * No locks: only who owns a block reads and writes its slot. A slot is emptied before the block is
 * freed. [malloc-free]
 */
#ifndef TIDE_RECORD_BLOCK_INDEX_H
#define TIDE_RECORD_BLOCK_INDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/accounts.h"
#include "wire/layout.h"

/* What is known of a block. */
struct indexed {
    uint32_t account, era;
    uint64_t size, usable;
};

#define INDEX_TABLE_BITS 12 /* of addresses, at each of two levels above a region */
#define INDEX_TABLE      (1u << INDEX_TABLE_BITS)
#define INDEX_GRANULES   (WIRE_GRANULE_MOST - WIRE_GRANULE_LEAST + 1)

struct index_region {
    _Atomic(char *) classes[WIRE_CLASSES]; /* slots of a part; NULL: there was no such block */
};

struct index_table {
    _Atomic(struct index_region *) regions[INDEX_TABLE];
};

/* What the quick functions below need of it. */
struct index_top {
    _Atomic(struct index_table *) tables[INDEX_TABLE];
    unsigned spacing;
};
extern struct index_top index_top;

#define INDEX_TOLD SIZE_MAX /* instead of what can be used: its allocator cannot be asked */

/* Adds a block; true: another was there, whose free was missed: *old. */
bool index_put(uintptr_t address, const struct indexed *b, bool told, struct indexed *old);
/* Removes the block at an address; false: there is none. `usable`: as its allocator says. */
bool index_take(uintptr_t address, size_t usable, struct indexed *out);
/* Of which memory blocks are said to be apart by so many bytes more than can be used of them. */
extern _Atomic bool index_told; /* there may be blocks that were told */
static inline bool index_has_told(void)
{
    return atomic_load_explicit(&index_told, memory_order_relaxed);
}
/* The class of blocks of which so much can be used. */
static inline unsigned index_class(size_t usable)
{
    size_t apart = (usable + index_top.spacing) | 1;
    unsigned bits = 63 - (unsigned)__builtin_clzll(apart);
    return bits <= WIRE_GRANULE_LEAST  ? 0
           : bits >= WIRE_GRANULE_MOST ? INDEX_GRANULES - 1
                                       : bits - WIRE_GRANULE_LEAST;
}

static inline uint32_t index_bits(unsigned class)
{
    return WIRE_GRANULE_LEAST + (class >= INDEX_GRANULES ? class - INDEX_GRANULES : class);
}

/* The slots of blocks of a class that are near an address; NULL: there are none. */
static inline char *index_slots(uintptr_t address, unsigned class)
{
    uint64_t number = address >> WIRE_REGION_BITS;
    if (__builtin_expect(number >= (uint64_t)INDEX_TABLE * INDEX_TABLE, 0))
        return NULL;
    const struct index_table *table =
        atomic_load_explicit(&index_top.tables[number >> INDEX_TABLE_BITS], memory_order_acquire);
    const struct index_region *region =
        __builtin_expect(table != NULL, 1)
            ? atomic_load_explicit(&table->regions[number & (INDEX_TABLE - 1)],
                                   memory_order_acquire)
            : NULL;
    return __builtin_expect(region != NULL, 1)
               ? atomic_load_explicit(&region->classes[class], memory_order_acquire)
               : NULL;
}

static inline void *index_slot(char *slots, uintptr_t address, uint32_t bits)
{
    uintptr_t in = (address & ((UINT64_C(1) << WIRE_REGION_BITS) - 1)) >> bits;
    return slots + in * wire_slot_bytes(bits);
}

static inline uint32_t index_place(uintptr_t address, uint32_t bits)
{
    return (uint32_t)(address & ((1u << bits) - 1)) >> 3;
}

static inline uint32_t index_era(uint32_t era)
{
    return era < WIRE_ERA_MOST ? era : WIRE_ERA_MOST;
}

static inline struct indexed index_read_small(uint64_t word, uint32_t bits)
{
    uint32_t low = WIRE_SLOT_LOW(word);
    uint64_t usable = (UINT64_C(1) << bits) - index_top.spacing + WIRE_SLOT_BEYOND(low);
    return (struct indexed){WIRE_SLOT_ACCOUNT(word), WIRE_SLOT_ERA(word),
                            usable - WIRE_SLOT_SLACK(low), usable};
}

/* What a small slot has besides account and era; false: it has no room for that. */
static inline bool index_small_low(uintptr_t address, const struct indexed *b, uint32_t bits,
                                   uint32_t *low)
{
    uint64_t beyond = b->usable + index_top.spacing - (UINT64_C(1) << bits);
    uint64_t slack = b->usable - b->size;
    *low = (uint32_t)(slack << 8 | beyond << 1 | index_place(address, bits));
    return __builtin_expect(!(beyond & 7) && beyond < 128 && slack < 256 && !(address & 7), 1);
}

/* Removes a small block; false: there is none. */
static inline bool index_take_small(uintptr_t address, unsigned class, struct indexed *out)
{
    char *slots = index_slots(address, class);
    uint32_t bits = index_bits(class);
    if (__builtin_expect(!slots, 0))
        return false;
    _Atomic uint64_t *slot = index_slot(slots, address, bits);
    uint64_t word = atomic_load_explicit(slot, memory_order_relaxed);
    if (__builtin_expect(!word || WIRE_SLOT_PLACE(word) != index_place(address, bits), 0))
        return false;
    *out = index_read_small(word, bits);
    atomic_store_explicit(slot, 0, memory_order_relaxed);
    return true;
}

/* Of a block that was told. */
static inline unsigned index_told_class(uintptr_t address)
{
    return INDEX_GRANULES + (address % 16 == 0);
}

static inline uint64_t index_rounded(uint64_t size)
{
    return size ? (size + 15) & ~UINT64_C(15) : 16;
}

/* Of a told block whose slot has its size. */
static inline struct indexed index_read_told(uint64_t word)
{
    uint32_t low = WIRE_SLOT_LOW(word);
    uint64_t size = low & (WIRE_TOLD_ROUNDED - 1);
    return (struct indexed){WIRE_SLOT_ACCOUNT(word), WIRE_SLOT_ERA(word), size,
                            low & WIRE_TOLD_ROUNDED ? index_rounded(size) : size};
}

/* What its slot has; false: no room for its size. */
static inline bool index_told_low(const struct indexed *b, uint32_t *low)
{
    bool rounded = b->usable == index_rounded(b->size);
    *low = (uint32_t)b->size | (rounded ? WIRE_TOLD_ROUNDED : 0);
    return b->size < WIRE_TOLD_WIDE && (rounded || b->usable == b->size);
}

/* Asks for the slot of a block, if it is of that class. */
static inline __attribute__((always_inline)) void index_prefetch(uintptr_t address, unsigned class)
{
    char *slots = index_slots(address, class);
    if (__builtin_expect(slots != NULL, 1))
        __builtin_prefetch(index_slot(slots, address, index_bits(class)), 1);
}

/* index_take, most often without a call. */
static inline bool index_take_quickly(uintptr_t address, size_t usable, struct indexed *out)
{
    unsigned class = index_class(usable);
    return (__builtin_expect(index_bits(class) <= WIRE_SMALL_BITS, 1) &&
            __builtin_expect(index_take_small(address, class, out), 1)) ||
           index_take(address, usable, out);
}

/* The same of a block that was told. */
static inline bool index_take_told(uintptr_t address, struct indexed *out)
{
    char *slots = index_slots(address, index_told_class(address));
    if (__builtin_expect(!slots, 0))
        return false;
    _Atomic uint64_t *slot = index_slot(slots, address, index_bits(index_told_class(address)));
    uint64_t word = atomic_load_explicit(slot, memory_order_relaxed);
    if (!word)
        return false;
    if (__builtin_expect((word & (WIRE_TOLD_ROUNDED - 1)) == WIRE_TOLD_WIDE, 0))
        return index_take(address, INDEX_TOLD, out);
    *out = index_read_told(word);
    atomic_store_explicit(slot, 0, memory_order_relaxed);
    return true;
}

/* index_put of a block that comes to an empty slot of a part that is there, and fits; false: nothing
 * is done, and it must be called. */
static inline bool index_put_quickly(uintptr_t address, const struct indexed *b, bool told)
{
    unsigned class = told ? index_told_class(address) : index_class(b->usable);
    uint32_t bits = index_bits(class), low;
    if (__builtin_expect(bits > WIRE_SMALL_BITS, 0) ||
        !(told ? index_told_low(b, &low) : index_small_low(address, b, bits, &low)))
        return false;
    char *slots = index_slots(address, class);
    _Atomic uint64_t *slot = slots ? index_slot(slots, address, bits) : NULL;
    if (__builtin_expect(!slot || atomic_load_explicit(slot, memory_order_relaxed), 0))
        return false;
    atomic_store_explicit(slot, WIRE_SLOT(b->account, index_era(b->era), low),
                          memory_order_relaxed);
    return true;
}

void index_set_spacing(unsigned bytes);
unsigned index_spacing(void);
void index_prepare(void);               /* maps memory for the first blocks */
void index_forked(void);                /* in a forked child */
void index_clear(void);                 /* after a detach: no block is known */
void index_tell(struct wire_header *h); /* where it is: of this process */

#endif
