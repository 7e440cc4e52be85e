/*
 * accounts: what a program has counted (wire/accounts.h), on its way to the ledger.
 *
 * Rows come through the rings. What a thread has counted since its last row is read from its
 * accounts where that is needed: at the end of an interval that the thread has not noticed yet, for
 * figures, for a scan, and when the process has ended. What was read so is taken off the row that
 * follows.
 *
 * The program may write nonsense: numbers are checked, lists have an end. Not thread-safe.
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
#define ACCOUNTS_KEPT    (1u << 17) /* that were met and are still mapped: 16 MiB */

/* What happened at an account since its last row, of which the ledger already knows. */
struct shown_row {
    uint32_t account;
    uint64_t columns[COLUMNS];
};

/* Frees of another thread's blocks that came before anything else of that thread. */
struct early_row {
    uint32_t account, thread;
    uint64_t columns[COLUMNS];
};

/* A number for each account. */
struct by_account {
    uint32_t *items;
    size_t count, capacity;
};

/* For a copy of us that writes, while the program counts on. */
struct frozen {
    bool is;
    struct wire_totals totals; /* as they were */
    /* What settling changed, and what goes on from where it was. */
    uint64_t peak_epoch, peak_bytes, peak_blocks, peak_skew_bytes, peak_time_ns;
};

struct accounts {
    const char *windows[ACCOUNTS_WINDOWS];
    uint32_t limit;
    uint32_t end;                      /* numbers below are claimed, as far as is known */
    struct by_account ledger_accounts; /* 1 + that of the ledger; 0: not met */
    uint32_t met;                      /* so many */
    uint32_t rows_of_others;           /* rows on frees of other threads' blocks */
    struct by_account shown_of;        /* 1 + index in shown; 0: all of it came in rows */
    VEC(struct shown_row) shown;
    VEC(struct early_row) early;
    struct frozen frozen;
    uint64_t unknown_frees, unknown_now, peak_seen; /* of the totals */
    uint64_t interval_peak_bytes; /* the highest that a tick told of the open interval */
    uint64_t settled_bytes;       /* bytes live in all accounts when they were settled */
};

void accounts_lay_out(struct wire_header *h, bool limited_space, size_t *file_size);
bool accounts_open(struct accounts *a, int fd, const struct wire_header *h);
void accounts_release(struct accounts *a);
/* Accounts are read when they are met, and at the end. Meanwhile the program has them; where they are
 * many, this keeps the kernel from counting them as memory of ours too. */
void accounts_let_go(const struct accounts *a);
/* Before we fork, of a target whose accounts have been looked at: sites get what accounts say of
 * them now, and the copy reads no account any more, while the program counts on. And afterwards, in
 * us. */
void accounts_freeze(struct target *t, uint64_t now_ns);
void accounts_thaw(struct target *t);

/* A row, or a step of an array that grows. */
void accounts_record(struct target *t, struct reader *r, const uint64_t *words);
/* Reads what a thread has not told yet; false: it was just telling, and its ring has more.
 * `ended`: it never will. */
bool accounts_look(struct target *t, struct reader *r, bool ended);
/* Unknown frees: before rings are read, which may say that the program was paused; and after. */
void accounts_note_counters(struct target *t);
void accounts_take_unknown(struct target *t);
/* Of what it inherited, so much has been freed. */
void accounts_inherited(struct target *t, uint64_t blocks, uint64_t bytes);
/* Other counters that are not in accounts. */
void accounts_take_counters(struct target *t);
/* Before an interval ends: its peak. */
void accounts_end_interval(struct target *t, uint32_t tick);
/* The ledger learns of the peak so far of the open interval; and that peak begins anew. */
void accounts_raise_peak(struct target *t);
void accounts_restart_peak(struct target *t);
/* The era moves on, if it is time. */
void accounts_begin_era(struct target *t, uint64_t now_ns);
/* The total that was told last: is it a new peak? */
void accounts_watch_peak(struct target *t, uint64_t now_ns);
/* Before target_finish: what sites had at the peak, sizes, lifetimes. The peak is never less than
 * what is live now. */
void accounts_settle_sites(struct target *t, uint64_t now_ns);
/* The site of an account; false: there is none. */
bool accounts_site(struct target *t, uint32_t number, uint32_t *site);
/* 1 + the ledger's account; 0: it was not met. */
uint32_t accounts_known(const struct accounts *a, uint32_t number);
/* An account as it is now; NULL: there is no such. */
const volatile struct wire_account *accounts_at(struct target *t, uint32_t number);
/* Numbers from here on are no accounts, whatever the program says. */
uint32_t accounts_end(struct target *t);
/* What all of them add up to. */
struct wire_totals *accounts_totals(struct target *t);

#endif
