#include "collect/counting/accounts.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "collect/counting/heap_peak.h"
#include "collect/counting/shared_memory.h"
#include "collect/counting/target.h"

#define WINDOWS_LIMITED 4     /* windows if address space is limited: 15 MiB */
#define CLAIMED_MOST    64    /* at most so many units are claimed for each account that is used */
#define ERA_SHARE_NS    16384 /* an era is at least this part of the run */

/* --- memory ----------------------------------------------------------------------------------- */

void accounts_lay_out(struct wire_header *h, bool limited_space, size_t *file_size)
{
    struct rlimit limit;
    unsigned windows = limited_space ? WINDOWS_LIMITED : WIRE_ACCOUNTS_WINDOWS;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0)
        while (windows > 1 && *file_size + (size_t)wire_accounts_before(windows) * WIRE_UNIT_BYTES >
                                  limit.rlim_cur)
            windows--;
    h->accounts_offset = *file_size;
    h->accounts_limit = wire_accounts_before(windows);
    h->totals.accounts_end = WIRE_ACCOUNT_USUAL;
    h->totals.spare_end = WIRE_ACCOUNT_FIRST;
    h->totals.peak_epoch = 1;
    h->totals.peak_tick = 1;
    *file_size += (size_t)wire_accounts_before(windows) * WIRE_UNIT_BYTES;
}

bool accounts_open(struct accounts *a, int fd, const struct wire_header *h)
{
    void *first = mmap(NULL, wire_accounts_bytes(0), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                       (off_t)h->accounts_offset);
    *a = (struct accounts){.limit = h->accounts_limit};
    if (first == MAP_FAILED)
        return false;
    a->windows[0] = first;
    return true;
}

void accounts_release(struct accounts *a)
{
    for (unsigned i = 0; i < WIRE_ACCOUNTS_WINDOWS; i++)
        if (a->windows[i])
            munmap((void *)(uintptr_t)a->windows[i], wire_accounts_bytes(i));
    vec_release(&a->ledger_accounts);
    vec_release(&a->shown_of);
    vec_release(&a->shown);
    vec_release(&a->early);
    *a = (struct accounts){0};
}

void accounts_drop_pages(const struct accounts *a)
{
    if (a->met < ACCOUNTS_KEPT)
        return;
    for (unsigned i = 0; i < WIRE_ACCOUNTS_WINDOWS; i++)
        if (a->windows[i])
            madvise((void *)(uintptr_t)a->windows[i], wire_accounts_bytes(i), MADV_DONTNEED);
}

static bool window_map(struct accounts *a, unsigned window)
{
    if (!a->windows[window] && window && window_map(a, window - 1))
        a->windows[window] =
            shared_memory_window(a->windows[window - 1], wire_accounts_bytes(window));
    return a->windows[window];
}

struct wire_totals *accounts_totals(struct target *t)
{
    return t->accounts.frozen.is ? &t->accounts.frozen.totals : &t->header->totals;
}

const volatile struct wire_account *accounts_at(struct target *t, uint32_t number)
{
    struct accounts *a = &t->accounts;
    /* The program writes to this cache line all the time. */
    if (number >= a->end)
        a->end = atomic_load_explicit(&accounts_totals(t)->accounts_end, memory_order_acquire);
    if (number < WIRE_ACCOUNT_FIRST || number >= a->end || number >= a->limit)
        return NULL;
    unsigned window = (unsigned)wire_accounts_window(number);
    if (!window_map(a, window))
        return NULL;
    return (const volatile void *)(a->windows[window] +
                                   (size_t)(number - wire_accounts_before(window)) *
                                       WIRE_UNIT_BYTES);
}

bool accounts_read(struct target *t, uint32_t number, struct wire_account *a,
                   struct wire_amounts *m)
{
    const volatile struct wire_account *at = accounts_at(t, number);
    if (!at)
        return false;
    memcpy(a, (const void *)(uintptr_t)at, sizeof *a);
    /* The thread stores the number before it changes the size. */
    atomic_thread_fence(memory_order_acquire);
    a->amounts = at->amounts;
    const volatile void *amounts = a->amounts ? accounts_at(t, a->amounts & ~1u) : NULL;
    if (amounts)
        memcpy(m, (const void *)(uintptr_t)amounts, sizeof *m);
    else
        *m = wire_amounts_of(a);
    return true;
}

/* Threads claim units 64 at a time for accounts, and 16 for their amounts and cells, of which an
 * account has less than 50. All accounts in which something was counted are known when this is
 * called. */
uint32_t accounts_end(struct target *t)
{
    const struct accounts *a = &t->accounts;
    uint32_t end = atomic_load_explicit(&accounts_totals(t)->accounts_end, memory_order_acquire);
    uint64_t used = (uint64_t)a->met + a->rows_of_others + 2 * t->readers.count + 1;
    uint64_t most = WIRE_ACCOUNT_USUAL + used * CLAIMED_MOST;
    end = end < a->limit ? end : a->limit;
    return end < most ? end : (uint32_t)most;
}

void accounts_freeze(struct target *t, uint64_t now_ns)
{
    struct frozen *f = &t->accounts.frozen;
    const struct wire_totals *totals = &t->header->totals;
    memcpy((void *)&f->totals, (const void *)totals, sizeof *totals);
    f->is = true;
    f->peak_epoch = t->ledger.peak_epoch;
    f->peak_bytes = t->ledger.peak_bytes;
    f->peak_blocks = t->ledger.peak_blocks;
    f->peak_skew_bytes = t->profile.peak_skew_bytes;
    f->peak_time_ns = t->profile.peak_time_ns;
    heap_peak_settle(t, now_ns);
    accounts_drop_pages(&t->accounts);
}

void accounts_thaw(struct target *t)
{
    struct frozen *f = &t->accounts.frozen;
    if (!f->is)
        return;
    t->ledger.peak_epoch = f->peak_epoch;
    t->ledger.peak_bytes = f->peak_bytes;
    t->ledger.peak_blocks = f->peak_blocks;
    t->profile.peak_skew_bytes = f->peak_skew_bytes;
    t->profile.peak_time_ns = f->peak_time_ns;
    vec_release(&t->ledger.counted_sizes);
    vec_release(&t->ledger.counted_lives);
    f->is = false;
}

/* --- accounts and sites ----------------------------------------------------------------------- */

/* An entry of a table by account number; new entries are 0. */
static uint32_t *at_account(struct by_account *table, uint32_t number)
{
    if (number >= table->count) {
        size_t count = (size_t)number * 3 / 2 + 64;
        vec_reserve(table, count);
        memset(table->items + table->count, 0, (count - table->count) * sizeof(uint32_t));
        table->count = count;
    }
    return &table->items[number];
}

uint32_t accounts_known(const struct accounts *a, uint32_t number)
{
    return number < a->ledger_accounts.count ? a->ledger_accounts.items[number] : 0;
}

/*
 * The thread that now counts as this owner. NO_THREAD: there is none, or its identity has not been
 * read yet from a ring that belonged to another thread before. Once the next thread has been read,
 * no owner is found.
 */
static uint32_t thread_of(const struct target *t, uint32_t owner)
{
    for (size_t i = 0; i < t->readers.count; i++) {
        const struct reader *r = &t->readers.items[i];
        uint32_t now = atomic_load(&r->ring->owner);
        if (now / WIRE_ACCOUNT_OWNER == owner / WIRE_ACCOUNT_OWNER)
            return r->at >= atomic_load(&r->ring->owner_from) ? r->thread : NO_THREAD;
    }
    return NO_THREAD;
}

/* Returns 1 + number of the ledger's account; 0: not known. `thread`: its owner; NO_THREAD: to be
 * found. */
static uint32_t meet(struct target *t, uint32_t number, uint32_t thread)
{
    uint32_t met = accounts_known(&t->accounts, number);
    if (met)
        return met;
    const volatile struct wire_account *a = t->accounts.frozen.is ? NULL : accounts_at(t, number);
    if (!a)
        return 0;
    uint32_t node = a->node, owner = a->owner;
    enum stack_state state;
    if (owner & WIRE_ACCOUNT_OTHERS)
        return 0;
    if (thread == NO_THREAD && (thread = thread_of(t, owner)) == NO_THREAD)
        return 0;
    if (!program_stacks_state(&t->program_stacks, node, &state)) {
        node = 0;
        state = STACK_INCOMPLETE;
    }
    met = 1 + ledger_account(&t->ledger, node, thread, DOMAIN_HEAP, state);
    struct account *site = &t->ledger.accounts.items[met - 1];
    site->own_peak_shared |= site->own_peak_known;
    site->own_peak_known = true;
    *at_account(&t->accounts.ledger_accounts, number) = met;
    if (++t->accounts.met % ACCOUNTS_KEPT == 0)
        accounts_drop_pages(&t->accounts);
    return met;
}

bool accounts_site(struct target *t, uint32_t number, uint32_t *site)
{
    uint32_t known = meet(t, number, NO_THREAD);
    *site = known - 1;
    return known != 0;
}

/* Chooses the size that represents those of an account in packed rows: it is in the bucket of the
 * first. No row with blocks may be packed before, not even one of frees: what another thread freed
 * may be read first. */
static void set_unit(struct target *t, uint32_t number, struct account *to,
                     const uint64_t columns[COLUMNS])
{
    const volatile struct wire_account *a = accounts_at(t, number);
    unsigned bucket = a ? a->owner & WIRE_ACCOUNT_BUCKET : 0;
    bool allocated = columns[COL_ALLOCS] != 0;
    uint64_t blocks = columns[allocated ? COL_ALLOCS : COL_FREES];
    uint64_t size = columns[allocated ? COL_BYTES : COL_FREED] / blocks;
    if (size_bucket(size) != bucket)
        size = size_bucket_from(bucket);
    to->has_unit = true;
    to->unit = (struct unit){size, columns[allocated ? COL_USABLE : COL_USABLE_FREED] / blocks};
    to->only_bucket = (uint8_t)bucket;
}

static void apply(struct target *t, uint32_t number, uint32_t known, uint32_t thread,
                  const uint64_t columns[COLUMNS])
{
    struct ledger *l = &t->ledger;
    struct account *a = &l->accounts.items[known - 1];
    if (!a->has_unit && (columns[COL_ALLOCS] || columns[COL_FREES]))
        set_unit(t, number, a, columns);
    ledger_row(l, known - 1, columns);
    t->events += columns[COL_ALLOCS] + columns[COL_FREES];
    if (a->thread != thread && columns[COL_FREES]) {
        uint32_t foreign = ledger_account(l, 0, thread, DOMAIN_FOREIGN, STACK_WHOLE);
        ledger_sample(l, foreign, columns[COL_FREES], columns[COL_FREED], COLUMNS);
    }
}

static bool is_empty(const uint64_t columns[COLUMNS])
{
    for (unsigned i = 0; i < COLUMNS; i++)
        if (columns[i])
            return false;
    return true;
}

/* Adds what a thread did at one of its accounts. */
static void take_row(struct target *t, uint32_t thread, uint32_t number,
                     const uint64_t columns[COLUMNS])
{
    if (is_empty(columns))
        return;
    uint32_t known = accounts_known(&t->accounts, number);
    if (known) {
        apply(t, number, known, thread, columns);
        return; /* its own, and seen before: the account need not be read */
    }
    const volatile struct wire_account *a = accounts_at(t, number);
    if (!a)
        return;
    uint32_t owner = a->owner, of = owner & WIRE_ACCOUNT_OTHERS ? a->node : number;
    t->accounts.rows_of_others += owner & WIRE_ACCOUNT_OTHERS ? 1 : 0;
    known = meet(t, of, owner & WIRE_ACCOUNT_OTHERS ? NO_THREAD : thread);
    if (known) {
        if (owner & WIRE_ACCOUNT_OTHERS)
            t->ledger.accounts.items[known - 1].own_peak_shared = true;
        apply(t, of, known, thread, columns);
        return;
    }
    struct early_row *early = vec_push(&t->accounts.early);
    *early = (struct early_row){.account = of, .thread = thread};
    memcpy(early->columns, columns, sizeof early->columns);
}

static void take_early(struct target *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->accounts.early.count; i++) {
        struct early_row e = t->accounts.early.items[i];
        uint32_t known = meet(t, e.account, NO_THREAD);
        if (known) {
            t->ledger.accounts.items[known - 1].own_peak_shared = true;
            apply(t, e.account, known, e.thread, e.columns);
        } else {
            t->accounts.early.items[kept++] = e;
        }
    }
    t->accounts.early.count = kept;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* A row has come of which a part was read before: subtracts that part. */
static void forget_shown(struct accounts *a, uint32_t number, uint64_t columns[COLUMNS])
{
    uint32_t place = number < a->shown_of.count ? a->shown_of.items[number] : 0;
    if (!place)
        return;
    struct shown_row *s = &a->shown.items[place - 1], *last = vec_last(&a->shown);
    for (unsigned i = 0; i < COLUMNS; i++)
        columns[i] -= s->columns[i];
    a->shown_of.items[last->account] = place;
    a->shown_of.items[number] = 0;
    *s = *last;
    a->shown.count--;
}

static void row_record(struct target *t, struct reader *r, const uint64_t *w)
{
    uint32_t number = (uint32_t)w[0];
    uint64_t c[COLUMNS] = {0}, slack, slack_freed;
    if (WIRE_KIND(w[0]) == WIRE_ROW_SMALL) {
        c[COL_ALLOCS] = w[0] >> 40 & 0xff;
        c[COL_FREES] = w[0] >> 32 & 0xff;
        c[COL_BYTES] = w[1] >> 44;
        c[COL_FREED] = w[1] >> 24 & 0xfffff;
        slack = w[1] >> 12 & 0xfff;
        slack_freed = w[1] & 0xfff;
        c[COL_TEMPS] = WIRE_DETAIL(w[0]) ? c[COL_FREES] : 0;
        c[COL_TEMP_BYTES] = WIRE_DETAIL(w[0]) ? c[COL_FREED] : 0;
    } else {
        c[COL_ALLOCS] = w[1] >> 32;
        c[COL_FREES] = (uint32_t)w[1];
        c[COL_BYTES] = w[2];
        c[COL_FREED] = w[3];
        slack = w[4] >> 32;
        slack_freed = (uint32_t)w[4];
        c[COL_TEMPS] = w[5] >> 32;
        c[COL_REALLOCS] = (uint32_t)w[5];
        c[COL_TEMP_BYTES] = w[6];
    }
    c[COL_USABLE] = c[COL_BYTES] + slack;
    c[COL_USABLE_FREED] = c[COL_FREED] + slack_freed;
    forget_shown(&t->accounts, number, c);
    take_row(t, r->thread, number, c);
}

/* The site of a block that a thread refers to: mostly its own. */
static bool site_of(struct target *t, uint32_t thread, uint32_t number, uint32_t owner,
                    uint32_t *site)
{
    const volatile struct wire_account *a = accounts_at(t, number);
    bool own = a && a->owner / WIRE_ACCOUNT_OWNER == owner;
    uint32_t known = a ? meet(t, number, own ? thread : NO_THREAD) : 0;
    *site = known - 1;
    return known != 0;
}

static void growth_record(struct target *t, const struct reader *r, const uint64_t *w)
{
    uint32_t new_account = (uint32_t)w[4], old_account = (uint32_t)(w[4] >> 32);
    uint32_t by_realloc = WIRE_DETAIL(w[0]);
    uint32_t site = accounts_known(&t->accounts, new_account) - 1;
    uint32_t old_site = accounts_known(&t->accounts, old_account) - 1;
    if (site == UINT32_MAX || old_site == UINT32_MAX) {
        const volatile struct wire_account *a = accounts_at(t, new_account);
        uint32_t owner = a ? a->owner / WIRE_ACCOUNT_OWNER : 0;
        if (!site_of(t, r->thread, new_account, owner, &site) ||
            !site_of(t, r->thread, old_account, owner, &old_site))
            return;
    }
    struct fresh f = {.address = w[1] & WIRE_LOW48,
                      .size = w[3] & WIRE_LOW48,
                      .account = site,
                      .birth = (uint32_t)w[5]};
    struct block old = {.address = w[0] & WIRE_LOW48,
                        .size = w[2] & WIRE_LOW48,
                        .site = old_site,
                        .birth = (uint32_t)(w[5] >> 32)};
    if (by_realloc)
        realloc_chains_realloced(t, &f, &old);
    else if (!t->ledger.accounts.items[old_site].any_size)
        realloc_chains_replaced(t, &f, &old);
}

void accounts_record(struct target *t, struct reader *r, const uint64_t *words)
{
    if (WIRE_KIND(words[0]) == WIRE_GROWTH)
        growth_record(t, r, words);
    else
        row_record(t, r, words);
}

/* --- what is not in a row yet ----------------------------------------------------------------- */

static void columns_now(const struct wire_account *a, const struct wire_amounts *m,
                        uint64_t c[COLUMNS])
{
    memset(c, 0, COLUMNS * sizeof *c);
    c[COL_ALLOCS] = a->allocs;
    c[COL_FREES] = a->frees;
    c[COL_BYTES] = m->bytes;
    c[COL_FREED] = m->freed;
    c[COL_TEMPS] = a->temps;
    c[COL_TEMP_BYTES] = m->temp_bytes;
    c[COL_REALLOCS] = a->reallocs;
    c[COL_USABLE] = c[COL_BYTES] + m->slack;
    c[COL_USABLE_FREED] = c[COL_FREED] + m->slack_freed;
}

static void show(struct target *t, uint32_t thread, uint32_t number, const uint64_t now[COLUMNS])
{
    uint32_t *place = at_account(&t->accounts.shown_of, number);
    uint64_t more[COLUMNS];
    if (!*place) {
        *vec_push(&t->accounts.shown) = (struct shown_row){.account = number};
        *place = (uint32_t)t->accounts.shown.count;
    }
    struct shown_row *s = &t->accounts.shown.items[*place - 1];
    for (unsigned i = 0; i < COLUMNS; i++)
        more[i] = now[i] - s->columns[i];
    memcpy(s->columns, now, sizeof s->columns);
    take_row(t, thread, number, more);
}

/* Has the account not changed since it was last read? Threads that sleep may have very many such
 * accounts. */
static bool is_shown(const struct accounts *a, const struct shown_row *row)
{
    uint32_t place = row->account < a->shown_of.count ? a->shown_of.items[row->account] : 0;
    return place &&
           memcmp(a->shown.items[place - 1].columns, row->columns, sizeof row->columns) == 0;
}

/* No row will come any more. */
static void take_last(struct target *t, uint32_t thread, uint32_t number,
                      const uint64_t now[COLUMNS])
{
    uint64_t more[COLUMNS];
    memcpy(more, now, sizeof more);
    forget_shown(&t->accounts, number, more);
    take_row(t, thread, number, more);
}

/* For a list that the program may have overwritten. */
struct circle {
    uint64_t steps, next; /* how many steps were made; after how many `seen` is next set */
    uint32_t seen;        /* a number that was in the list before */
};

/* Was this number in the list before? By Brent's algorithm, some steps may be made twice. */
static bool leads_in_circle(struct circle *c, uint32_t number)
{
    if (number == c->seen)
        return true;
    if (c->steps++ == c->next) {
        c->seen = number;
        c->next = c->steps * 2;
    }
    return false;
}

bool accounts_read_unreported(struct target *t, struct reader *r, bool ended)
{
    struct wire_ring *ring = r->ring;
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_acquire);
    uint32_t turn = atomic_load_explicit(&ring->rows_written, memory_order_acquire), in_ring = 0;
    if (r->thread == NO_THREAD || r->damaged)
        return true;
    if (!ended && (turn % 2 || written != r->at))
        return false;
    if (ended && atomic_load(&ring->row_of) && written >= atomic_load(&ring->row_end))
        in_ring = atomic_load(&ring->row_of);
    VEC(struct shown_row) rows = {0};
    uint32_t number = atomic_load_explicit(&ring->dirty, memory_order_acquire);
    struct circle circle = {0};
    for (uint32_t left = t->accounts.limit; number && number != WIRE_LAST && left; left--) {
        if (leads_in_circle(&circle, number))
            break;
        struct wire_account a;
        struct wire_amounts m;
        if (!accounts_read(t, number, &a, &m))
            break;
        struct shown_row row = {.account = number};
        columns_now(&a, &m, row.columns);
        number = a.next_dirty;
        if (row.account == in_ring)
            continue;
        if (ended) /* nothing changes any more */
            take_last(t, r->thread, row.account, row.columns);
        else if (!is_shown(&t->accounts, &row))
            *vec_push(&rows) = row;
    }
    atomic_thread_fence(memory_order_acquire);
    bool whole = ended || (atomic_load(&ring->rows_written) == turn &&
                           atomic_load(&ring->written) == written);
    for (size_t i = 0; i < rows.count && whole; i++)
        show(t, r->thread, rows.items[i].account, rows.items[i].columns);
    vec_release(&rows);
    return whole;
}

/* --- counters that are not in accounts; eras -------------------------------------------------- */

void accounts_note_counters(struct target *t)
{
    t->accounts.unknown_now = atomic_load(&t->header->totals.unknown_frees);
}

void accounts_take_unknown(struct target *t)
{
    uint64_t unknown = t->accounts.unknown_now, more = unknown - t->accounts.unknown_frees;
    *target_unknown_frees(t) += more;
    t->accounts.unknown_frees = unknown;
}

void accounts_inherited(struct target *t, uint64_t blocks, uint64_t bytes)
{
    t->profile.inherited.freed_blocks = blocks;
    t->profile.inherited.freed_bytes = bytes;
}

void accounts_take_counters(struct target *t)
{
    struct wire_totals *totals = accounts_totals(t);
    take_early(t);
    t->missed_frees = atomic_load(&totals->missed_frees);
    accounts_inherited(t, atomic_load(&totals->inherited_blocks),
                       atomic_load(&totals->inherited_bytes));
}

void accounts_begin_era(struct target *t, uint64_t now_ns)
{
    struct wire_header *h = t->header;
    _Atomic uint32_t *era_ms = (_Atomic uint32_t *)((char *)h + t->eras_offset);
    uint64_t least_ns = now_ns / ERA_SHARE_NS, moment = (uint64_t)t->tick << 32 | t->eras.now;
    uint64_t last_ns = vec_last(&t->eras.eras)->start_ns;
    for (uint32_t i = 1; i < 4; i++)
        atomic_store_explicit(&era_ms[(t->eras.now + i) % WIRE_ERAS], (uint32_t)(now_ns / 1000000),
                              memory_order_relaxed);
    if (now_ns < last_ns + (least_ns > ERA_LEAST_NS ? least_ns : ERA_LEAST_NS) ||
        t->eras.now >= WIRE_ERA_MOST)
        return;
    /* Unless the program advanced the tick first, and with it the era. */
    if (atomic_compare_exchange_strong(&h->moment, &moment, moment + 1))
        eras_begin(&t->eras, now_ns, t->tick, true);
}
