/*
 * accounts: what a program has counted (wire/accounts.h), on its way to the ledger.
 *
 * Rows come through the rings. What a thread has counted since its last row is read from its
 * accounts when it is needed: at the end of an interval that the thread has not noticed yet, for
 * figures, for a scan, and when the process has ended. What was read like this is subtracted from
 * the row that follows. The program may write nonsense: numbers are checked, lists have an end. Not
 * thread-safe.
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

#define ACCOUNTS_WINDOWS 13
#define ACCOUNTS_KEPT    (1u << 17) /* accounts that were read and are still mapped: 16 MiB */

/* What happened at an account since its last row and is already in the ledger. */
struct shown_row {
    uint32_t account;
    uint64_t columns[COLUMNS];
};

/* Frees of another thread's blocks that were read before anything else of that thread. */
struct early_row {
    uint32_t account, thread;
    uint64_t columns[COLUMNS];
};

/* A number for each account. */
struct by_account {
    uint32_t *items;
    size_t count, capacity;
};

/* What a forked copy that writes a file needs, while the program goes on counting. */
struct frozen {
    bool is;
    struct wire_totals totals; /* as they were */
    /* What settling changed, and what continues from where it was. */
    uint64_t peak_epoch, peak_bytes, peak_blocks, peak_skew_bytes, peak_time_ns;
};

struct accounts {
    const char *windows[ACCOUNTS_WINDOWS];
    uint32_t limit;
    uint32_t end;                      /* all numbers below are claimed, as far as is known */
    struct by_account ledger_accounts; /* 1 + number of the ledger's account; 0: not seen yet */
    uint32_t met;                      /* how many have been seen */
    uint32_t rows_of_others;           /* number of rows about frees of other threads' blocks */
    struct by_account shown_of;        /* 1 + index in shown; 0: everything came in rows */
    VEC(struct shown_row) shown;
    VEC(struct early_row) early;
    struct frozen frozen;
    uint64_t unknown_frees, unknown_now, peak_seen; /* of the totals */
    uint64_t interval_peak_bytes; /* the highest that a tick reported for the open interval */
    uint64_t settled_bytes;       /* bytes live in all accounts when they were settled */
};

void accounts_lay_out(struct wire_header *h, bool limited_space, size_t *file_size);
bool accounts_open(struct accounts *a, int fd, const struct wire_header *h);
void accounts_release(struct accounts *a);
/* Unmaps accounts from our memory. They are read when they are first seen, and at the end. The
 * program has them anyway; if there are many, this keeps the kernel from counting them as our
 * memory too. */
void accounts_drop_pages(const struct accounts *a);
/* Call it before a fork, for a target whose accounts have been read: sites get what their accounts
 * say now, and the copy reads no account any more while the program goes on counting. The second
 * function is for the parent, after the fork. */
void accounts_freeze(struct target *t, uint64_t now_ns);
void accounts_thaw(struct target *t);

/* Handles a row, or a step of a growing array. */
void accounts_record(struct target *t, struct reader *r, const uint64_t *words);
/* Reads what a thread has not reported yet. false: the thread is just reporting, and its ring has
 * more. `ended`: it never will report. */
bool accounts_read_unreported(struct target *t, struct reader *r, bool ended);
/* Reads the counters of unknown frees: before the rings are read, which may say that the program
 * was paused; and after. */
void accounts_note_counters(struct target *t);
void accounts_take_unknown(struct target *t);
/* So much of what the process inherited has been freed. */
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
/* Numbers from here on are not accounts, whatever the program says. */
uint32_t accounts_end(struct target *t);
/* The totals of all accounts. */
struct wire_totals *accounts_totals(struct target *t);

#endif
