/*
 * accounts: passes what a program has counted (wire/accounts.h) to the ledger.
 *
 * Rows come through the rings. When the collector needs what a thread has counted since its last
 * row, it reads the thread's accounts: at the end of an interval that the thread has not noticed
 * yet, for figures, for a scan, and when the process has ended. It subtracts what it has read in
 * this way from the next row. The program may write nonsense, so the collector checks all numbers
 * and limits the length of lists. Not thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_ACCOUNTS_H
#define TIDE_COLLECT_COUNTING_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "store/recording.h"
#include "wire/layout.h"

struct target;
struct reader;
struct block;

#define ACCOUNTS_KEPT (1u << 18) /* accounts that were read and are still mapped: 16 MiB */

/* What happened at an account since its last row, and was already added to the ledger. */
struct shown_row {
    uint32_t account;
    uint64_t columns[COLUMNS];
};

/* Frees of another thread's blocks that were read before any record of that other thread. */
struct early_row {
    uint32_t account, thread;
    uint64_t columns[COLUMNS];
};

/* A number for each account. */
struct by_account {
    uint32_t *items;
    size_t count, capacity;
};

/* The state of the accounts for a forked copy of the collector that writes a file, while the
 * program continues to count. */
struct frozen {
    bool is;
    struct wire_totals totals; /* the totals at the fork */
    /* Values that heap_peak_settle changes, to be restored in the parent. */
    uint64_t peak_epoch, peak_bytes, peak_blocks, peak_skew_bytes, peak_time_ns;
};

struct accounts {
    const char *windows[WIRE_ACCOUNTS_WINDOWS];
    uint32_t limit;
    /* All account numbers below this one are known to be claimed. */
    uint32_t end;
    struct by_account ledger_accounts; /* 1 + number of the ledger's account; 0: not seen yet */
    uint32_t met;                      /* number of accounts that have been seen */
    uint32_t rows_of_others;           /* number of rows about frees of other threads' blocks */
    struct by_account shown_of;        /* 1 + index in shown; 0: everything came in rows */
    VEC(struct shown_row) shown;
    VEC(struct early_row) early;
    struct frozen frozen;
    /* Counters of wire_totals at the last reading. */
    uint64_t unknown_frees, unknown_now, peak_seen;
    uint64_t interval_peak_bytes; /* the highest total that a tick reported for the open interval */
    uint64_t settled_bytes;       /* bytes live in all accounts when they were settled */
};

void accounts_lay_out(struct wire_header *h, bool limited_space, size_t *file_size);
bool accounts_open(struct accounts *a, int fd, const struct wire_header *h);
void accounts_release(struct accounts *a);
/* Releases the pages of accounts that were read. The collector reads an account when it first sees
 * it, and again at the end. The pages stay in the program; releasing them here keeps the kernel
 * from counting them as the collector's memory too. */
void accounts_drop_pages(const struct accounts *a);
/* Call accounts_freeze before a fork, for a target whose accounts have been read: it adds the
 * counters of the accounts to the sites, so that the forked copy needs to read no account while the
 * program continues to count. Call accounts_thaw in the parent after the fork. */
void accounts_freeze(struct target *t, uint64_t now_ns);
void accounts_thaw(struct target *t);

/* Handles a row, or a step of a growing array. */
void accounts_record(struct target *t, struct reader *r, const uint64_t *words);
/* Reads what a thread has counted and not reported yet. Returns false if the thread is reporting at
 * this moment, and its ring has more. `ended`: the thread has ended and will never report. */
bool accounts_read_unreported(struct target *t, struct reader *r, bool ended);
/* These read the counter of unknown frees in two steps: accounts_note_counters before the rings are
 * read, and accounts_take_unknown afterwards, because the rings may say that the program was
 * paused. */
void accounts_note_counters(struct target *t);
void accounts_take_unknown(struct target *t);
/* Sets how many inherited blocks and bytes the process has freed. */
void accounts_inherited(struct target *t, uint64_t blocks, uint64_t bytes);
/* Reads other counters that are not in accounts. */
void accounts_take_counters(struct target *t);
/* Begins a new era, if it is time. */
void accounts_begin_era(struct target *t, uint64_t now_ns);
/* The site of an account; false: there is none. */
bool accounts_site(struct target *t, uint32_t number, uint32_t *site);
/* 1 + number of the ledger's account; 0: not seen yet. */
uint32_t accounts_known(const struct accounts *a, uint32_t number);
/* An account as it is now; NULL: there is none. */
const volatile struct wire_account *accounts_at(struct target *t, uint32_t number);
/* Copies an account and its amounts; false: there is none. */
bool accounts_read(struct target *t, uint32_t number, struct wire_account *a,
                   struct wire_amounts *m);
/* The end of the valid account numbers, whatever number the program claims. */
uint32_t accounts_end(struct target *t);
/* The totals of all accounts. */
struct wire_totals *accounts_totals(struct target *t);

#endif
