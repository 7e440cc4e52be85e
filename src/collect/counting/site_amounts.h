/*
 * site_amounts: what is live at a site, was live at the peak, and happened in the open interval.
 *
 * There may be tens of millions of sites, and most have blocks of one size. Of such a site of a
 * program that counts its blocks itself, only numbers of blocks are kept: bytes are blocks x unit.
 * From the first figure on of which that is not true, and for all other sites, the figures are kept
 * as they are, in a table apart. The same holds for what happened in the open interval.
 *
 * Not thread-safe. Pointers to figures are good until the next ones are made.
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

/* The figures of a site as they are. */
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
    struct unit unit; /* of its first block; set if has_unit, and stays: packed rows rest on it */
    uint32_t node, thread;
    uint32_t delta; /* 1 + its place in deltas; 0: nothing has happened in this interval */
    uint32_t wide;  /* 1 + its place in wide_amounts; 0: the following say all */
    int32_t live_blocks, at_peak_blocks, own_peak_blocks;
    uint8_t domain;
    uint8_t only_bucket; /* of all sizes so far; SIZE_BUCKETS: there are several */
    uint8_t stack_state; /* enum stack_state of its node */
    bool has_unit : 1;
    bool any_size : 1;        /* its blocks replace each other in no order: no array that grows */
    bool own_peak_known : 1;  /* while accounts are settled: one has told it, */
    bool own_peak_shared : 1; /* and others have a part in it */
};
static_assert(sizeof(struct account) == 48, "there may be tens of millions");

/* What happened at a site in the interval that is open. */
struct delta {
    uint64_t columns[COLUMNS];
};

/* Of blocks of the site's unit, and none by realloc; or, wide: 1 + the place in deltas.wide. */
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

/* All figures of a site, wherever they are. */
struct site_amounts site_amounts_get(const struct wide_amounts *w, const struct account *a);
/* They become these. */
void site_amounts_set(struct wide_amounts *w, struct account *a, const struct site_amounts *to);
/* The place of figures as they are, to be changed at will. */
struct site_amounts *site_amounts_widen(struct wide_amounts *w, struct account *a);

/* Are these columns what blocks of the site's unit make? */
bool site_amounts_fit(const struct account *a, const uint64_t columns[COLUMNS]);

/* The columns of the open interval, to be changed at will; `number` is the account's. */
uint64_t *deltas_widen(struct deltas *d, struct account *a, uint32_t number);
/* Adds columns to them, which `fit` or do not. */
void deltas_add(struct deltas *d, struct account *a, uint32_t number,
                const uint64_t columns[COLUMNS], bool fit);
struct delta deltas_get(const struct deltas *d, const struct account *a);
/* Forgets all; accounts still have their places. */
void deltas_clear(struct deltas *d);
void deltas_release(struct deltas *d);

#endif
