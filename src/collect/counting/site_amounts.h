/*
 * site_amounts: what is live at a site, was live at the peak, and happened in the open interval.
 *
 * There may be tens of millions of sites, and most have blocks of one size. If all blocks of a site
 * have one size, and the program counts its blocks itself, only numbers of blocks are kept: bytes
 * are blocks x unit. For all other sites, the exact figures are in a separate table. The figures of
 * the open interval are stored in the same two ways. Not thread-safe. Pointers to figures are valid
 * until the next ones are added.
 */
#ifndef TIDE_COLLECT_COUNTING_SITE_AMOUNTS_H
#define TIDE_COLLECT_COUNTING_SITE_AMOUNTS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/recording.h"

struct amount {
    uint64_t bytes, blocks, usable;
};

/* The same with 0 for what is below zero: a sum of differences can be so for a moment. */
static inline struct amount amount_above_zero(struct amount a)
{
    return (struct amount){.bytes = (int64_t)a.bytes > 0 ? a.bytes : 0,
                           .blocks = (int64_t)a.blocks > 0 ? a.blocks : 0,
                           .usable = (int64_t)a.usable > 0 ? a.usable : 0};
}

/* The exact figures of a site. */
struct site_amounts {
    struct amount live;
    struct amount at_peak; /* what was live at the end of saved_epoch */
    uint64_t saved_epoch;
    uint64_t own_peak_bytes, own_peak_blocks;
    uint64_t largest_bytes;
};

struct wide_amounts {
    struct site_amounts *items;
    size_t count, capacity;
};

/* A site. */
struct account {
    /* The size of the site's first block. It is set if has_unit, and never changes, because packed
     * rows depend on it. */
    struct unit unit;
    uint32_t node, thread;
    uint32_t delta; /* 1 + index in deltas; 0: nothing has happened in this interval */
    uint32_t wide;  /* 1 + index in wide_amounts; 0: the following fields say everything */
    int32_t live_blocks, at_peak_blocks, own_peak_blocks;
    uint8_t domain;
    uint8_t only_bucket; /* the bucket of all sizes so far; SIZE_BUCKETS: there are several */
    uint8_t stack_state; /* the enum stack_state of the node */
    bool has_unit : 1;
    bool any_size : 1;        /* the sizes of its blocks change at random: it is no growing array */
    bool own_peak_known : 1;  /* an account of the program (wire/accounts.h) knows its own peak, */
    bool own_peak_shared : 1; /* unless several accounts have a share in it */
};
static_assert(sizeof(struct account) == 48, "there may be tens of millions");

/* What happened at a site in the interval that is open. */
struct delta {
    uint64_t columns[COLUMNS];
};

/* Numbers of blocks of the site's unit, none by realloc. If `wide` is not 0, it is 1 + the index in
 * deltas.wide, and the numbers are not used. */
struct small_delta {
    uint32_t allocs, frees, temps, wide;
};

struct deltas {
    VEC(uint32_t) dirty;           /* accounts that changed in the open interval */
    VEC(struct small_delta) items; /* in the order of `dirty` */
    VEC(struct delta) wide;
};

static inline struct amount site_amounts_blocks(const struct account *a, int32_t blocks)
{
    uint64_t n = (uint64_t)(int64_t)blocks;
    return (struct amount){n * a->unit.bytes, n, n * a->unit.usable};
}

static inline struct amount site_amounts_live(const struct wide_amounts *w, const struct account *a)
{
    return a->wide ? w->items[a->wide - 1].live : site_amounts_blocks(a, a->live_blocks);
}

/* All figures of a site, wherever they are stored. */
struct site_amounts site_amounts_get(const struct wide_amounts *w, const struct account *a);
/* Sets the figures of a site. */
void site_amounts_set(struct wide_amounts *w, struct account *a, const struct site_amounts *to);
/* The exact figures of a site, to be changed freely. */
struct site_amounts *site_amounts_widen(struct wide_amounts *w, struct account *a);

/* Can these columns be expressed in blocks of the site's unit? */
bool site_amounts_fit(const struct account *a, const uint64_t columns[COLUMNS]);

/* The columns of the open interval, to be changed freely; `number` is the account's. */
uint64_t *deltas_widen(struct deltas *d, struct account *a, uint32_t number);
/* Adds columns to those of the open interval; `fit`: site_amounts_fit is true. */
void deltas_add(struct deltas *d, struct account *a, uint32_t number,
                const uint64_t columns[COLUMNS], bool fit);
struct delta deltas_get(const struct deltas *d, const struct account *a);
/* Clears everything; accounts keep their indexes. */
void deltas_clear(struct deltas *d);
void deltas_release(struct deltas *d);

#endif
