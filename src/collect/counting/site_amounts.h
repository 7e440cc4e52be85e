/*
 * site_amounts: what is live at a site, was live at the peak, and happened in the open interval.
 *
 * There may be tens of millions of sites, and most have blocks of one size. For such a site of a
 * program that counts its blocks itself, only numbers of blocks are kept: bytes are blocks x unit.
 * As soon as a figure does not fit this, and for all other sites, the exact figures are kept in a
 * separate table. The same holds for what happened in the open interval. Not thread-safe. Pointers
 * to figures are valid until the next ones are added.
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
    /* Of its first block; set if has_unit, and never changed: packed rows depend on it. */
    struct unit unit;
    uint32_t node, thread;
    uint32_t delta; /* 1 + index in deltas; 0: nothing has happened in this interval */
    uint32_t wide;  /* 1 + index in wide_amounts; 0: the following fields say everything */
    int32_t live_blocks, at_peak_blocks, own_peak_blocks;
    uint8_t domain;
    uint8_t only_bucket; /* of all sizes so far; SIZE_BUCKETS: there are several */
    uint8_t stack_state; /* enum stack_state of its node */
    bool has_unit : 1;
    bool any_size : 1;        /* its blocks replace each other in no order: no growing array */
    bool own_peak_known : 1;  /* while accounts are settled: one account has reported it, */
    bool own_peak_shared : 1; /* and others have a share in it */
};
static_assert(sizeof(struct account) == 48, "there may be tens of millions");

/* What happened at a site in the interval that is open. */
struct delta {
    uint64_t columns[COLUMNS];
};

/* Blocks of the site's unit, none by realloc; or, if wide: 1 + index in deltas.wide. */
struct small_delta {
    uint32_t allocs, frees, temps, wide;
};

struct deltas {
    VEC(uint32_t) dirty;           /* accounts that have one */
    VEC(struct small_delta) items; /* in the same order */
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
/* Adds columns to them; `fit`: they can be expressed in units. */
void deltas_add(struct deltas *d, struct account *a, uint32_t number,
                const uint64_t columns[COLUMNS], bool fit);
struct delta deltas_get(const struct deltas *d, const struct account *a);
/* Clears everything; accounts keep their indexes. */
void deltas_clear(struct deltas *d);
void deltas_release(struct deltas *d);

#endif
