/*
 * ledger: what each site has allocated and freed, in this interval and in total; and the peak. A
 * site is one (stack, thread, domain): the place at which something is counted.
 *
 * For the heap of a recorded program, the ledger receives rows of counters. For everything else
 * (mappings, pools, imports), it receives every allocation and free, in order.
 *
 * If the program does not report the peak itself, the ledger finds it: `peak_epoch` counts the
 * moments at which the live total reached a new maximum. A site whose live value is about to change
 * first saves it, if its saved value is from an earlier epoch. At the end, a site whose saved epoch
 * is the last one had `saved` at the peak; any other site has not changed since, and its current
 * value is its value at the peak. Not thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_LEDGER_H
#define TIDE_COLLECT_COUNTING_LEDGER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "collect/counting/histogram.h"
#include "collect/counting/site_amounts.h"
#include "store/buckets.h"
#include "store/recording.h"
#include "store/rows.h"

/* The sums of all samples of a process. */
struct sample_sums {
    uint64_t cpu_ns, cpu_samples, kernel_ns, faults, fault_bytes;
};

enum stack_state { STACK_WHOLE, STACK_TRUNCATED, STACK_INCOMPLETE };

struct ledger {
    VEC(struct account) accounts;
    struct wide_amounts amounts; /* for accounts that need them */
    /* By node: 1 + the first account of the node, which is mostly the only one; 0: there is none.
     * New nodes have consecutive numbers, so their entries are next to each other. */
    struct {
        uint32_t *items;
        size_t count;
    } at_node;
    /* (domain, thread, node) -> account, for accounts that are not the first of their node. */
    struct map others;
    struct deltas deltas; /* what happened in the open interval */
    bool timed; /* stacks of CPU time are the program's own: its timers took the samples */
    /* Live heap and Python's arenas; other mappings do not count. Read it by ledger_now. */
    struct amount live;
    uint64_t peak_bytes, peak_blocks;
    uint64_t peak_epoch;
    /* The highest live total of the open interval, or since ledger_watch if that was later. */
    uint64_t interval_peak_bytes;
    /* The highest live total of the open interval before ledger_watch. */
    uint64_t unwatched_peak_bytes;
    /* The highest live total of the intervals that ended since ledger_watch. */
    uint64_t watched_peak_bytes;
    /* The same for graphics processors, which have peaks of their own. */
    struct gpu_total {
        struct amount live, peak;
        uint64_t peak_epoch;
        uint64_t peak_ns; /* the end of the interval that has the peak; 0: it has not ended */
    } gpu[GPU_VIEWS];
    uint64_t allocations, allocated_bytes;
    bool peak_is_reported; /* the program itself knows the peak, and reports peak_epoch */
    struct histogram histogram;
    /* Sizes and lifetimes of blocks that the program counted itself (heap_peak_settle), in no
     * order. */
    struct bucket_rows counted_sizes, counted_lives;
    /* Counters of the open interval. */
    uint64_t unknown_frees, lost_events, truncated_stacks, incomplete_stacks;
};

void ledger_init(struct ledger *l);
void ledger_release(struct ledger *l);
/* Frees what is needed only for counting. Call it after the last interval has ended. */
void ledger_close(struct ledger *l);

/* The account's number; MAP_NONE: there is none yet. */
uint32_t ledger_find(const struct ledger *l, uint32_t node, uint32_t thread, enum domain domain);
/* The account's number; it is added if there is none. */
uint32_t ledger_account(struct ledger *l, uint32_t node, uint32_t thread, enum domain domain,
                        enum stack_state state);
void ledger_alloc(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable,
                  bool by_realloc);
void ledger_free(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable,
                 bool temporary);
/* Adds what the program counted at an account of the heap. */
void ledger_row(struct ledger *l, uint32_t account, const uint64_t columns[COLUMNS]);

/* The units of its accounts, for packed rows. They move when an account is added. */
static inline struct units ledger_units(const struct ledger *l)
{
    return (struct units){l->accounts.items, offsetof(struct account, unit),
                          sizeof *l->accounts.items, l->accounts.count};
}
/* What happened at a site in the open interval. */
struct delta ledger_delta(const struct ledger *l, uint32_t account);
/* Undoes a ledger_free that turned out not to have happened. */
void ledger_unfree(struct ledger *l, uint32_t account, uint64_t size, uint64_t usable);
/* Subtracts bytes of a block without a free, because a part of a mapping was unmapped. */
void ledger_shrink(struct ledger *l, uint32_t account, uint64_t size);
void ledger_unshrink(struct ledger *l, uint32_t account, uint64_t size);

/* The accounts of a ledger, to be read as sites. `joined` is added to the node numbers of samples
 * (collect/counting/sampled_tree.h). */
struct ledger_sites {
    struct ledger *ledger;
    uint32_t joined;
};
/* The site of an account, for struct packed_figures. It frees the memory of accounts that were
 * read, so call it once for each account, in their order, when nothing else needs the accounts. */
struct site ledger_site_at(void *ledger_sites, size_t account);
/* Fills the profile's sites, and frees the memory of the accounts at the same time, because both
 * together would take much memory. Call it last. */
void ledger_become_sites(struct ledger *l, struct profile *p, uint32_t joined);
/* Fills the profile's sizes and lifetimes. */
void ledger_histograms(struct ledger *l, struct profile *p);
/* Is a site's stack in the collector's tree of sampled stacks, rather than in the program's? */
static inline bool ledger_stack_is_sampled(const struct ledger *l, uint32_t domain)
{
    return domain_is_sampled(domain) && !(l->timed && domain == DOMAIN_CPU);
}
/* Adds `count` samples with the sum `amount`: CPU time, or bytes that page faults made resident.
 * `kind` is the column that also counts them, or COLUMNS. */
void ledger_sample(struct ledger *l, uint32_t account, uint64_t count, uint64_t amount,
                   enum column kind);
/* Adds samples that belong to an interval that has ended: to the account, not to the open
 * interval. */
void ledger_sample_late(struct ledger *l, uint32_t account, uint64_t count, uint64_t amount);
/* Ends the open interval, and returns its peak. */
uint64_t ledger_end_interval(struct ledger *l);
/* An interval ends at this time: notes it for the peaks of graphics processors that are in it. */
void ledger_end_gpu_interval(struct ledger *l, uint64_t end_ns);
/* The highest live total since ledger_watch, or since the start. */
uint64_t ledger_watched_peak(const struct ledger *l);
void ledger_watch(struct ledger *l);

/* What is live in all. A thread may report that it freed another thread's block before that thread
 * reports the block: until then the sum can be below zero, and this is 0. */
static inline struct amount ledger_now(const struct ledger *l)
{
    return amount_above_zero(l->live);
}

/* What is live at the account's site. */
static inline struct amount ledger_live(const struct ledger *l, const struct account *a)
{
    return site_amounts_live(&l->amounts, a);
}
/* What the account's site had at the process's peak. */
struct amount ledger_at_peak(const struct ledger *l, const struct account *a);
/* The site as it is now; its at_peak_* are what was saved last. */
struct site ledger_site(const struct ledger *l, uint32_t account);
/* Sets how many bytes one sample of a site counts for. */
void ledger_set_unit(struct ledger *l, uint32_t account, uint64_t bytes);
/* Notes the highest live value of a site whose blocks the program counts. Call it at the end of an
 * interval. */
void ledger_note_own_peak(struct ledger *l, struct account *a);

#endif
