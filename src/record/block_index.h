/*
 * block_index: the live blocks by address, in the program's own memory, so that a forked child has
 * a copy of it. wire/accounts.h defines the layout; the collector reads it in place.
 *
 * A block has a slot of its own as long as it lives: a range of 2^n bytes cannot contain the
 * beginnings of two live blocks that have at least 2^n bytes each. So the slot follows from the
 * address and the usable size, which the allocator reports at the free as it did at the allocation.
 * Some allocators cannot be asked for the size of a block. Their blocks are blocks with a stored
 * size: the slot contains the size and is found by the address alone, in ranges of 16 and 8 bytes.
 *
 * No locks: only the owner of a block reads and writes its slot. A slot is emptied before the block
 * is freed. [malloc-free]
 */
#ifndef TIDE_RECORD_BLOCK_INDEX_H
#define TIDE_RECORD_BLOCK_INDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/accounts.h"
#include "wire/layout.h"

/* What the index knows about a block. */
struct indexed {
    uint32_t account, era;
    uint64_t size, usable;
};

#define INDEX_TABLE_BITS 12 /* bits of the address, at each of two levels */
#define INDEX_TABLE      (1u << INDEX_TABLE_BITS)

/* The class of a block is the logarithm of its granule; the classes of blocks with a stored size
 * come last. */
#define INDEX_STORED_CLASS (WIRE_GRANULE_MOST + 1)
#define INDEX_CLASSES      16
static_assert(INDEX_STORED_CLASS + WIRE_STORED_CLASSES <= INDEX_CLASSES, "classes of a region");

struct index_region {
    _Atomic(char *) classes[INDEX_CLASSES]; /* slots of a class; NULL: no block had this class */
};

struct index_table {
    struct index_region regions[INDEX_TABLE];
};

/* The top table of the index, for the inline functions of this header. */
struct index_top {
    _Atomic(struct index_table *) tables[INDEX_TABLE];
    size_t spacing;
};
extern struct index_top index_top;

#define INDEX_SIZE_STORED SIZE_MAX /* as a usable size: the slot has the size */

/* Adds a block. Returns true if the slot still had another block, whose free was missed; *old is
 * that block. */
bool index_put(uintptr_t address, const struct indexed *b, bool size_stored, struct indexed *old);
/* Removes the block at an address; false: there is none. `usable` is the usable size that the
 * allocator reports. */
bool index_take(uintptr_t address, size_t usable, struct indexed *out);

/* The distance at which blocks of this usable size begin. */
static inline uint64_t index_apart(size_t usable)
{
    return usable + index_top.spacing;
}

/* Do blocks that begin this far apart have a slot of one word? */
static inline bool index_is_small(uint64_t apart)
{
    return apart - (1u << WIRE_GRANULE_LEAST) <
           (2u << WIRE_SMALL_BITS) - (1u << WIRE_GRANULE_LEAST);
}

/* There are few classes: if sizes are mixed, each class touches its own pages for the same range of
 * the heap. */
static inline unsigned index_class_of_small(uint64_t apart)
{
    unsigned bits = 63 - (unsigned)__builtin_clzll(apart);
    return bits < WIRE_SMALL_MOST ? bits : WIRE_SMALL_MOST;
}

static inline unsigned index_class(uint64_t apart)
{
    if (__builtin_expect(apart < 2u << WIRE_SMALL_BITS, 1))
        return index_class_of_small(apart | 1u << WIRE_GRANULE_LEAST);
    return apart < 1u << WIRE_GRANULE_MOST ? WIRE_MIDDLE_BITS : WIRE_GRANULE_MOST;
}

static inline unsigned index_stored_class(uintptr_t address)
{
    return INDEX_STORED_CLASS + (address % 16 == 0);
}

static inline uint32_t index_bits(unsigned class)
{
    return class < INDEX_STORED_CLASS ? class : class - INDEX_STORED_CLASS + WIRE_GRANULE_LEAST;
}

/* The slots of a class near an address; NULL: there are none. */
static inline char *index_slots(uintptr_t address, unsigned class)
{
    uint64_t number = address >> WIRE_REGION_BITS;
    if (__builtin_expect(number >= (uint64_t)INDEX_TABLE * INDEX_TABLE, 0))
        return NULL;
    struct index_table *table =
        atomic_load_explicit(&index_top.tables[number >> INDEX_TABLE_BITS], memory_order_acquire);
    if (__builtin_expect(!table, 0))
        return NULL;
    return atomic_load_explicit(&table->regions[number & (INDEX_TABLE - 1)].classes[class],
                                memory_order_acquire);
}

static inline uint64_t index_in_region(uintptr_t address)
{
    return address & ((UINT64_C(1) << WIRE_REGION_BITS) - 1);
}

/* The slot of a small block, or of a block with a stored size; NULL: its range has no slots. */
static inline _Atomic uint64_t *index_word(uintptr_t address, unsigned class, uint32_t bits)
{
    char *slots = index_slots(address, class);
    return __builtin_expect(slots != NULL, 1)
               ? (_Atomic uint64_t *)(void *)slots + (index_in_region(address) >> bits)
               : NULL;
}

/* The slot of a block, if it has one word: index_word with the class of the block. */
static inline _Atomic uint64_t *index_word_of(uintptr_t address, uint64_t apart, bool size_stored)
{
    if (__builtin_expect(size_stored, 0)) {
        unsigned class = index_stored_class(address);
        return index_word(address, class, index_bits(class));
    }
    if (__builtin_expect(!index_is_small(apart), 0))
        return NULL;
    return index_word(address, index_class_of_small(apart), index_class_of_small(apart));
}

/* Decodes the slot of a block with a stored size that is not WIRE_STORED_WIDE. */
static inline struct indexed index_read_stored(uint64_t word)
{
    struct indexed b = {.account = WIRE_SLOT_ACCOUNT(word), .era = WIRE_SLOT_ERA(word)};
    wire_stored_read(WIRE_SLOT_LOW(word), &b.size, &b.usable);
    return b;
}

/* Is there no room for this block's usable size, or for its address, in the slot of a small block?
 * Then its size is stored. Few allocators have such blocks; chromium's has no others. */
static inline bool index_is_uneven(uintptr_t address, uint64_t apart)
{
    return __builtin_expect((apart | address) & 7, 0) && apart < 2u << WIRE_SMALL_BITS;
}

static inline bool index_small_low(uintptr_t address, const struct indexed *b, uint64_t apart,
                                   uint32_t *low)
{
    uint64_t slack = b->usable - b->size;
    *low = (uint32_t)slack << 8 | WIRE_SLOT_TAG(apart, address);
    return __builtin_expect(!((apart | address) & 7) && slack < 256, 1);
}

static inline uint32_t index_era(uint32_t era)
{
    return era < WIRE_ERA_MOST ? era : WIRE_ERA_MOST;
}

/* Puts a block into a slot that index_word_of found, if the slot is empty and the block fits.
 * Returns false if it did nothing; then call index_put. */
static inline bool index_put_quickly(_Atomic uint64_t *word, uintptr_t address,
                                     const struct indexed *b, bool size_stored)
{
    uint32_t low;
    if (__builtin_expect(!word, 0) || atomic_load_explicit(word, memory_order_relaxed) ||
        !(__builtin_expect(size_stored, 0)
              ? wire_stored_low(b->size, b->usable, &low)
              : index_small_low(address, b, index_apart(b->usable), &low)))
        return false;
    atomic_store_explicit(word, WIRE_SLOT(b->account, index_era(b->era), low),
                          memory_order_relaxed);
    return true;
}

/* index_take, mostly without a function call. */
static inline __attribute__((always_inline)) bool
index_take_quickly(uintptr_t address, size_t usable, struct indexed *out)
{
    uint64_t apart = index_apart(usable);
    _Atomic uint64_t *slot = index_word_of(address, apart, false);
    uint64_t word =
        __builtin_expect(slot != NULL, 1) ? atomic_load_explicit(slot, memory_order_relaxed) : 0;
    if (__builtin_expect(!word || (word & 0xff) != WIRE_SLOT_TAG(apart, address), 0))
        return index_take(address, usable, out);
    *out = (struct indexed){WIRE_SLOT_ACCOUNT(word), WIRE_SLOT_ERA(word),
                            usable - WIRE_SLOT_SLACK(WIRE_SLOT_LOW(word)), usable};
    atomic_store_explicit(slot, 0, memory_order_relaxed);
    return true;
}

/*
 * Most blocks are small ones of glibc: chunks of 32 to 255 bytes, with 8 of them in front. All of
 * them are in one class, so the slot follows from the address alone. `chunk`: glibc's size, without
 * flags.
 */
static_assert(WIRE_SMALL_MOST == 5, "glibc's smallest chunk has 2^5 bytes");
static inline bool index_is_small_chunk(uint64_t chunk)
{
    return chunk - (1u << WIRE_SMALL_MOST) < (2u << WIRE_SMALL_BITS) - (1u << WIRE_SMALL_MOST);
}

static inline _Atomic uint64_t *index_chunk_word(uintptr_t address)
{
    return index_word(address, WIRE_SMALL_MOST, WIRE_SMALL_MOST);
}

/* Puts a small chunk of glibc into its slot. Returns false if it did nothing; then call
 * index_put. */
static inline bool index_put_chunk(_Atomic uint64_t *word, uintptr_t address, uint64_t chunk,
                                   uint32_t slack, uint32_t account, uint32_t era)
{
    if (__builtin_expect(!word, 0) ||
        __builtin_expect(atomic_load_explicit(word, memory_order_relaxed) != 0, 0))
        return false;
    uint32_t low = slack << 8 | WIRE_SLOT_TAG(chunk, address);
    atomic_store_explicit(word, WIRE_SLOT(account, index_era(era), low), memory_order_relaxed);
    return true;
}

/* Removes a small chunk of glibc. Returns false if the slot has no such block; then call
 * index_take. */
static inline bool index_take_chunk(_Atomic uint64_t *word, uintptr_t address, uint64_t chunk,
                                    struct indexed *out)
{
    if (__builtin_expect(!word, 0))
        return false;
    uint64_t slot = atomic_load_explicit(word, memory_order_relaxed);
    if (__builtin_expect(!index_is_small_chunk(chunk), 0) ||
        __builtin_expect((slot & 0xff) != WIRE_SLOT_TAG(chunk, address), 0))
        return false; /* no chunk has the tag of an empty slot */
    uint64_t usable = chunk - 8;
    *out = (struct indexed){WIRE_SLOT_ACCOUNT(slot), WIRE_SLOT_ERA(slot),
                            usable - WIRE_SLOT_SLACK(WIRE_SLOT_LOW(slot)), usable};
    atomic_store_explicit(word, 0, memory_order_relaxed);
    return true;
}

/* Removes a block with a stored size; false: there is none. */
static inline bool index_take_stored(uintptr_t address, struct indexed *out)
{
    _Atomic uint64_t *slot = index_word_of(address, 0, true);
    uint64_t word =
        __builtin_expect(slot != NULL, 1) ? atomic_load_explicit(slot, memory_order_relaxed) : 0;
    if (!word)
        return false;
    if (__builtin_expect(WIRE_SLOT_LOW(word) == WIRE_STORED_WIDE, 0))
        return index_take(address, INDEX_SIZE_STORED, out);
    *out = index_read_stored(word);
    atomic_store_explicit(slot, 0, memory_order_relaxed);
    return true;
}

/* Sets the distance in bytes between the usable end of a block and the next block. */
void index_set_spacing(unsigned bytes);
unsigned index_spacing(void);
void index_prepare(void);               /* maps memory for the first blocks */
void index_forked(void);                /* adapts the index of a forked child */
void index_clear(void);                 /* after a detach: no block is known */
void index_tell(struct wire_header *h); /* publishes where the index of this process is */

#endif
