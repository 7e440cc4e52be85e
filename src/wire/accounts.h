/*
 * accounts: the counters of a program, in memory that it shares with the collector; and the words
 * of the block index, which is in the program's own memory.
 *
 * An account has what one thread did with the blocks of one stack. Only that thread writes to it.
 * Its counters begin anew with each row: when the tick has advanced, the thread writes a row for
 * each changed account into its ring. So the rows of an interval are exactly what happened before
 * its end. What is not in a row yet is read from the account itself. What a thread frees of another
 * thread's blocks is in an account of its own, whose `node` is the number of the other account.
 *
 * Nearly every account has blocks of one size only, for which numbers of blocks say everything. At
 * the first block of another size, or with another slack, the thread adds a wire_amounts, which
 * counts bytes. It does the same when 32 bits are no longer enough for the number of blocks.
 *
 * Accounts, amounts and cells are in one array of units of 64 bytes; the number of each is that of
 * its first unit. Sizes are part of the ABI: change WIRE_VERSION with them.
 */
#ifndef TIDE_WIRE_ACCOUNTS_H
#define TIDE_WIRE_ACCOUNTS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_LAST       UINT32_MAX /* the end of the list of changed accounts */
#define WIRE_UNIT_BYTES 64
#define WIRE_NO_SIZE    UINT64_MAX /* wire_account.size: no block has it */

struct wire_account {
    uint32_t allocs, frees, temps; /* since the last row; temps: freed right after the allocation */
    uint32_t base_blocks;          /* live at the last row */
    uint32_t saved_blocks;         /* live before its first change in saved_epoch */
    uint32_t own_peak_blocks;      /* noted when it shrinks */
    uint64_t size;                 /* the size of each block, while there are no amounts, */
    uint32_t slack;                /* and its usable size minus that; at most WIRE_SLACK_ALIKE */
    uint32_t amounts;              /* its wire_amounts; 0: none yet */
    uint32_t saved_epoch;          /* of wire_totals.peak_epoch */
    uint32_t next_dirty;           /* 0: nothing has happened since the last row */
    uint32_t cells;                /* the first of its cells; 0: none */
    uint16_t reallocs;             /* since the last row */
    uint8_t growths, otherwise; /* blocks that replaced another, as arrays grow, or not: <= 255 */
    uint32_t owner;             /* the thread that counts here; lower bits: WIRE_ACCOUNT_ */
    uint32_t node; /* its stack; WIRE_ACCOUNT_OTHERS: the account whose blocks it freed */
};
static_assert(sizeof(struct wire_account) == WIRE_UNIT_BYTES, "wire ABI");
#define WIRE_SLACK_ALIKE 255u

/* The bytes of an account whose blocks are not all alike, in two units. An allocation or free uses
 * only the first. Where an account would have its owner, both units are 0. */
struct wire_amounts {
    uint64_t bytes, freed; /* since the last row */
    uint64_t base_bytes, saved_bytes, own_peak_bytes;
    uint64_t largest_bytes;
    uint32_t slack, slack_freed; /* since the last row */
    uint64_t unused;
    uint64_t base_slack, saved_slack;
    uint64_t temp_bytes;
    uint64_t base_blocks, saved_blocks; /* the account has their lower 32 bits */
    uint64_t unused_too[3];
};
static_assert(sizeof(struct wire_amounts) == 2 * WIRE_UNIT_BYTES, "wire ABI");
static_assert(offsetof(struct wire_amounts, unused) == offsetof(struct wire_account, owner) &&
                  offsetof(struct wire_amounts, base_slack) == WIRE_UNIT_BYTES,
              "no account is seen here");

/* An account whose base_blocks is further from 0 than this gets amounts, whose numbers have 64
 * bits: in a program that runs for hours, one thread may free billions of another's blocks. */
#define WIRE_BLOCKS_ALIKE (UINT32_C(1) << 30)

/* Of live blocks there are less than none where another thread's blocks are freed. */
static inline uint64_t wire_signed_blocks(uint32_t blocks)
{
    return (uint64_t)(int64_t)(int32_t)blocks;
}

/* The amounts of an account without a wire_amounts. */
static inline struct wire_amounts wire_amounts_of(const struct wire_account *a)
{
    if (a->size == WIRE_NO_SIZE)
        return (struct wire_amounts){0}; /* there are no blocks yet */
    return (struct wire_amounts){
        .bytes = a->allocs * a->size,
        .freed = a->frees * a->size,
        .base_bytes = wire_signed_blocks(a->base_blocks) * a->size,
        .saved_bytes = wire_signed_blocks(a->saved_blocks) * a->size,
        .own_peak_bytes = a->own_peak_blocks * a->size,
        .largest_bytes = a->size,
        .slack = a->allocs * a->slack,
        .slack_freed = a->frees * a->slack,
        .base_slack = wire_signed_blocks(a->base_blocks) * a->slack,
        .saved_slack = wire_signed_blocks(a->saved_blocks) * a->slack,
        .temp_bytes = a->temps * a->size,
        .base_blocks = wire_signed_blocks(a->base_blocks),
        .saved_blocks = wire_signed_blocks(a->saved_blocks),
    };
}

#define WIRE_ACCOUNT_ARENA 1u /* not an account: entries of the index that are arenas of CPython */
#define WIRE_ACCOUNT_FIRST 64u
/* The first ones are reserved for lack of memory: for cut stacks, and for frees. Each has its
 * amounts two units behind it. */
#define WIRE_ACCOUNTS_SPARE 2048u
#define WIRE_SPARE_UNITS    4u
#define WIRE_ACCOUNT_USUAL  (WIRE_ACCOUNT_FIRST + WIRE_ACCOUNTS_SPARE * WIRE_SPARE_UNITS)

/* wire_account.owner */
#define WIRE_ACCOUNT_BUCKET  63u       /* size_bucket() of the first block */
#define WIRE_ACCOUNT_SEVERAL (1u << 6) /* there were others; all since then are in cells */
#define WIRE_ACCOUNT_OTHERS  (1u << 7)
#define WIRE_ACCOUNT_OWNER   (1u << 8) /* times the number of the thread, which is new for each */

/* Blocks of an account by size or by lifetime; what is in no cell is in the first bucket. */
#define WIRE_CELL_SIZES   4u  /* buckets: counts and bytes */
#define WIRE_CELL_LIVES   12u /* buckets: counts, from bucket 1 on */
#define WIRE_CELL_CARRY   16u /* added to the group: each count is of WIRE_CELL_CARRIED blocks */
#define WIRE_CELL_CARRIED (UINT64_C(1) << 31)
struct wire_cell {
    uint32_t next;
    uint16_t group; /* the first bucket / that many */
    uint16_t lives; /* 1: by lifetime */
    union {
        struct {
            uint32_t count[WIRE_CELL_SIZES];
            uint64_t bytes[WIRE_CELL_SIZES];
        } sizes;
        uint32_t lives_count[WIRE_CELL_LIVES];
    };
};
static_assert(sizeof(struct wire_cell) == offsetof(struct wire_account, owner), "wire ABI");
#define WIRE_CELLS_MOST 64 /* of one account: more than twice as many as there are groups */

/* How many blocks each count of a cell stands for. */
static inline uint64_t wire_cell_unit(const struct wire_cell *cell)
{
    return cell->group & WIRE_CELL_CARRY ? WIRE_CELL_CARRIED : 1;
}

/* Bytes that a thread may add to the heap, or free, before others know. */
#define WIRE_PENDING_MOST (4 << 10)

/* Accounts are mapped in windows, the first at the start. Each has twice as many units as the one
 * before. The number of an account has 26 bits (WIRE_SLOT_ACCOUNT). */
#define WIRE_ACCOUNTS_WINDOWS     12
#define WIRE_ACCOUNTS_WINDOW_BITS 14
#define WIRE_ACCOUNTS_FIRST       (1u << WIRE_ACCOUNTS_WINDOW_BITS)

/* The number of the first unit of a window: how many the windows before it have. */
static inline uint32_t wire_accounts_before(unsigned window)
{
    return WIRE_ACCOUNTS_FIRST * ((1u << window) - 1);
}
#define WIRE_ACCOUNTS_MAX wire_accounts_before(WIRE_ACCOUNTS_WINDOWS)

/* The window of a unit. */
static inline size_t wire_accounts_window(uint32_t number)
{
    size_t highest_bit = 31u ^ (unsigned)__builtin_clz(number + WIRE_ACCOUNTS_FIRST);
    return highest_bit - WIRE_ACCOUNTS_WINDOW_BITS;
}

/* The size of a window. */
static inline size_t wire_accounts_bytes(unsigned window)
{
    return ((size_t)WIRE_ACCOUNTS_FIRST << window) * WIRE_UNIT_BYTES;
}

/*
 * The block index. A part covers 2^WIRE_REGION_BITS addresses; its slots are for blocks that begin
 * at least 2^granule_bits apart. Up to WIRE_SMALL_BITS a slot is one word, from there on a
 * wire_block.
 */
#define WIRE_REGION_BITS    24
#define WIRE_SMALL_BITS     7 /* small blocks take less than 2^8 bytes; their slots are one word, */
#define WIRE_SMALL_MOST     5 /* and their granules at most 2^5 bytes */
#define WIRE_MIDDLE_BITS    8 /* the granule of blocks that take less than 2^WIRE_GRANULE_MOST */
#define WIRE_GRANULE_LEAST  3
#define WIRE_GRANULE_MOST   12
#define WIRE_STORED_CLASSES 2 /* for blocks whose size must be stored, by granules of 8 and 16 */
#define WIRE_CLASSES        (WIRE_GRANULE_MOST - WIRE_GRANULE_LEAST + 1 + WIRE_STORED_CLASSES)

struct wire_index_part {
    uint64_t region; /* address >> WIRE_REGION_BITS */
    uint64_t slots;  /* where they are */
    uint32_t granule_bits;
    uint16_t size_stored; /* 1: the words have the size */
    uint16_t spacing;     /* the usable size of a block is at least 2^granule_bits minus this */
};
static_assert(sizeof(struct wire_index_part) == 24, "wire ABI");

struct wire_block {
    /* 0: none; + WIRE_BLOCK_FREED: of the last one, for page faults that are read late. */
    uint64_t address;
    uint32_t account, era;
    uint64_t size, usable;
};
static_assert(sizeof(struct wire_block) == 32, "wire ABI");
#define WIRE_BLOCK_FREED 1u

struct wire_wide {
    uint64_t address, size, usable; /* usable 0: no more */
};
static_assert(sizeof(struct wire_wide) == 24, "wire ABI");

/*
 * A small slot: account 26 bits, era 22, slack 8, and 8 that identify the block: bits 3 to 7 of
 * what it takes (usable size plus spacing), and 3 to 5 of its address; those from the granule on
 * follow from the slot. In a slot with a stored size, these 16 bits are the size and the usable
 * size (wire_stored_low).
 */
#define WIRE_SLOT_ACCOUNT(w)          ((uint32_t)((w) >> 38))
#define WIRE_SLOT_ERA(w)              ((uint32_t)((w) >> 16) & WIRE_ERA_MOST)
#define WIRE_SLOT_LOW(w)              ((uint32_t)(w)&0xffffu)
#define WIRE_SLOT(account, era, low)  ((uint64_t)(account) << 38 | (uint64_t)(era) << 16 | (low))
#define WIRE_SLOT_TAG(apart, address) ((uint32_t)((apart)&0xf8) | ((address) >> 3 & 7))
#define WIRE_SLOT_PLACE(low, granule) ((low) << 3 & 0x38 & ((granule)-1))
#define WIRE_SLOT_APART(low)          ((low)&0xf8)
#define WIRE_SLOT_SLACK(low)          ((low) >> 8)
#define WIRE_ERA_MOST                 0x3fffffu

/* The low bits of a slot with a stored size: one of these forms, or less than WIRE_STORED_WIDE,
 * which is then both the size and the usable size. */
#define WIRE_STORED_WIDE    0x7fffu /* the sizes are in the table of those */
#define WIRE_STORED_ROUNDED 0x8000u /* size 14 bits; usable is the next multiple of 16 */
#define WIRE_STORED_SLACK   0xc000u /* usable - size 6 bits, size 8 bits */

static inline uint64_t wire_stored_rounded(uint64_t size)
{
    return size ? (size + 15) & ~UINT64_C(15) : 16;
}

/* false: the sizes do not fit. */
static inline bool wire_stored_low(uint64_t size, uint64_t usable, uint32_t *low)
{
    if (usable == wire_stored_rounded(size) && size < WIRE_STORED_SLACK - WIRE_STORED_ROUNDED)
        *low = WIRE_STORED_ROUNDED | (uint32_t)size;
    else if (usable == size && size < WIRE_STORED_WIDE)
        *low = (uint32_t)size;
    else if (size < 1 << 8 && usable - size < 1 << 6)
        *low = WIRE_STORED_SLACK | (uint32_t)(usable - size) << 8 | (uint32_t)size;
    else
        return false;
    return true;
}

/* The reverse, unless `low` is WIRE_STORED_WIDE. */
static inline void wire_stored_read(uint32_t low, uint64_t *size, uint64_t *usable)
{
    if (low >= WIRE_STORED_SLACK) {
        *size = low & 0xff;
        *usable = *size + (low >> 8 & 0x3f);
    } else if (low >= WIRE_STORED_ROUNDED) {
        *size = low - WIRE_STORED_ROUNDED;
        *usable = wire_stored_rounded(*size);
    } else {
        *size = *usable = low;
    }
}

static inline uint32_t wire_slot_bytes(uint32_t granule_bits)
{
    return granule_bits > WIRE_SMALL_BITS ? sizeof(struct wire_block) : 8;
}

static inline uint64_t wire_part_bytes(uint32_t granule_bits)
{
    return (UINT64_C(1) << (WIRE_REGION_BITS - granule_bits)) * wire_slot_bytes(granule_bits);
}

/* When eras began, in milliseconds since the start: the last WIRE_ERAS, by number. */
#define WIRE_ERAS (1u << 18)

#endif
