#include "record/accounts.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/accounts_memory.h"
#include "record/count.h"
#include "record/stack_tree.h"
#include "record/python.h"
#include "record/shared_window.h"

#define CLAIMED       64 /* accounts claimed at a time: a page */
#define UNITS_CLAIMED 16 /* units for amounts and cells */
/* Once so many are new, rows are written before the interval ends. Otherwise, in a program whose
 * stacks are all new, they would fill the ring at its end, and the thread would wait. */
#define NEW_MOST 4096
/* Rows of fewer blocks are written too seldom to fill a count of 32 bits. */
#define CARRIED_AFTER 256
#define OWNERS        (UINT32_MAX / WIRE_ACCOUNT_OWNER + 1) /* numbers of owners, with 0 */

struct accounts_memory accounts;

/* --- memory ----------------------------------------------------------------------------------- */

/* Where the window begins, from where account 0 would be. */
static inline size_t window_offset(unsigned window)
{
    return (size_t)wire_accounts_before(window) * WIRE_UNIT_BYTES;
}

static bool window_map(unsigned window)
{
    uintptr_t none = 0;
    size_t size = wire_accounts_bytes(window);
    if (window >= WIRE_ACCOUNTS_WINDOWS || !sys_leaves_room(size))
        return false;
    uintptr_t last_page =
        atomic_load(&accounts.windows[window - 1]) + window_offset(window) - WIRE_PAGE;
    uintptr_t start = shared_window_map(last_page, size);
    if (!start)
        return false;
    if (!atomic_compare_exchange_strong(&accounts.windows[window], &none,
                                        start - window_offset(window)))
        sys_call(SYS_munmap, start, size);
    return true;
}

/* false: there is no memory, or there was none in this tick. */
static bool try_to_map(unsigned window)
{
    uint32_t tick = atomic_load_explicit(&accounts.header->tick, memory_order_relaxed);
    return !refusal_holds(&accounts.refusal, tick) &&
           refusal_note(&accounts.refusal, tick, window_map(window));
}

/* The first of `count` units; 0: there is no memory. */
static uint32_t accounts_claim(uint32_t count)
{
    uint32_t first = atomic_load_explicit(&accounts.totals->accounts_end, memory_order_relaxed);
    do {
        if (first > accounts.limit - count)
            return 0;
        for (unsigned w = 1; w <= wire_accounts_window(first + count - 1); w++)
            if (!atomic_load_explicit(&accounts.windows[w], memory_order_acquire) && !try_to_map(w))
                return 0;
    } while (!atomic_compare_exchange_weak(&accounts.totals->accounts_end, &first, first + count));
    return first;
}

uint32_t units_claim(struct thread *t, uint32_t count)
{
    struct counting *c = &t->counting;
    if (count > 1 && c->units % 2)
        c->units++;
    if (c->units + count > c->units_end) {
        uint32_t first = accounts_claim(UNITS_CLAIMED);
        if (!first)
            return 0;
        c->units = first;
        c->units_end = first + UNITS_CLAIMED;
    }
    c->units += count;
    return c->units - count;
}

/* Claims one of those that are reserved for lack of memory. */
static uint32_t claim_spare(void)
{
    uint32_t number = atomic_load_explicit(&accounts.totals->spare_end, memory_order_relaxed);
    do
        if (number >= WIRE_ACCOUNT_USUAL)
            return 0;
    while (!atomic_compare_exchange_weak(&accounts.totals->spare_end, &number,
                                         number + WIRE_SPARE_UNITS));
    return number;
}

bool accounts_reset(struct wire_header *h, char *first)
{
    refusal_clear(&accounts.refusal);
    stack_accounts_reset();
    accounts.header = h;
    accounts.totals = &h->totals;
    accounts.era_ms = (const _Atomic uint32_t *)((char *)h + h->eras_offset);
    accounts.limit = h->accounts_limit < WIRE_ACCOUNTS_MAX ? h->accounts_limit : WIRE_ACCOUNTS_MAX;
    accounts.first_era = h->first_era;
    atomic_store(&accounts.windows[0], (uintptr_t)first);
    index_forked();
    index_prepare();
    index_tell(h);
    return first != NULL;
}

void accounts_drop(void)
{
    for (unsigned i = 0; i < WIRE_ACCOUNTS_WINDOWS; i++) {
        uintptr_t window = atomic_exchange(&accounts.windows[i], 0);
        if (window)
            sys_call(SYS_munmap, window + window_offset(i), wire_accounts_bytes(i));
    }
    accounts.header = NULL;
}

/* --- finding an account ----------------------------------------------------------------------- */

/* Stacks that occur one after the other have neighbouring numbers, and so neighbouring entries. */
static inline uint32_t home_of(const struct account_table *a, uint32_t key)
{
    uint32_t group = (uint32_t)((key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return (group << 4 | (key & 15)) & (a->size - 1);
}

static bool table_grow(struct account_table *a)
{
    struct account_table old = *a;
    uint32_t size = old.size * 2;
    uint64_t *entries = sys_map(size * sizeof *entries);
    if (!entries)
        return false;
    sys_call(SYS_madvise, entries, size * sizeof *entries, (long)MADV_WIPEONFORK);
    a->entries = entries;
    a->size = size;
    for (uint32_t i = 0; i < old.size; i++) {
        if (!old.entries[i])
            continue;
        uint32_t at = home_of(a, (uint32_t)(old.entries[i] >> 32));
        while (entries[at])
            at = (at + 1) & (size - 1);
        entries[at] = old.entries[i];
    }
    if (old.size > ACCOUNT_TABLE_FIRST) /* the first table is part of the thread */
        sys_call(SYS_munmap, old.entries, old.size * sizeof *old.entries);
    return true;
}

void accounts_init(struct counting *c, void *memory)
{
    c->own = (struct account_table){.entries = memory, .size = ACCOUNT_TABLE_FIRST};
    c->others = (struct account_table){.entries = (uint64_t *)memory + ACCOUNT_TABLE_FIRST,
                                       .size = ACCOUNT_TABLE_FIRST};
    c->replacements = (void *)((uint64_t *)memory + 2 * ACCOUNT_TABLE_FIRST);
}

static void table_clear(struct account_table *a)
{
    if (a->used)
        memset(a->entries, 0, a->size * sizeof *a->entries);
    a->used = 0;
}

/* May the account be one of those reserved for lack of memory? */
static bool may_be_spare(uint32_t key, uint32_t flags)
{
    return flags & WIRE_ACCOUNT_OTHERS || key >= WIRE_CUT_FIRST;
}

/* The counters stay as they are; from here on the amounts say how many bytes these are. If the
 * program is killed before or after the number is stored, the collector reads the same. */
struct wire_amounts *account_add_amounts(struct thread *t, struct wire_account *a)
{
    uint32_t number = units_claim(t, 2), spare;
    if (!number && a->owner & WIRE_ACCOUNT_OTHERS && (spare = claim_spare()))
        number = spare + 2;
    if (!number)
        return NULL;
    struct wire_amounts *made = unit_at(number);
    *made = wire_amounts_of(a);
    atomic_thread_fence(memory_order_release);
    *(volatile uint32_t *)&a->amounts = number;
    atomic_thread_fence(memory_order_release);
    *(volatile uint64_t *)&a->size = WIRE_NO_SIZE; /* no block is counted without them any more */
    return made;
}

/* One of the accounts that the thread has claimed; 0: there is no memory. */
static uint32_t make_usual(struct thread *t, bool with_amounts)
{
    struct counting *c = &t->counting;
    uint32_t first;
    if (c->accounts == c->accounts_end) {
        if (!(first = accounts_claim(CLAIMED)))
            return 0;
        c->accounts = first;
        c->accounts_end = first + CLAIMED;
    }
    if (with_amounts && !account_add_amounts(t, account_at(c->accounts)))
        return 0;
    return c->accounts++;
}

/* 0: there is no memory. */
static uint32_t make(struct thread *t, uint32_t key, struct account_start start)
{
    struct counting *c = &t->counting;
    bool is_cut = key >= WIRE_CUT_FIRST && !(start.flags & WIRE_ACCOUNT_OTHERS);
    if (UNLIKELY(c->new_accounts == NEW_MOST))
        accounts_rows(t);
    c->new_accounts++;
    uint32_t number = make_usual(t, is_cut);
    if (UNLIKELY(!number)) {
        if (!may_be_spare(key, start.flags) || !(number = claim_spare()))
            return 0;
        account_at(number)->amounts = number + 2;
    }
    struct wire_account *made = account_at(number);
    bool alike = !made->amounts && start.slack <= WIRE_SLACK_ALIKE;
    made->size = alike ? start.size : WIRE_NO_SIZE;
    made->slack = start.slack;
    made->node = key;
    made->owner = c->owner | start.flags;
    made->saved_epoch = atomic_load_explicit(&accounts.totals->peak_epoch,
                                             memory_order_relaxed); /* it had nothing */
    return number;
}

static bool table_has_room(struct account_table *a, bool spare)
{
    return a->used * 2 < a->size || table_grow(a) || (spare && a->used < a->size / 8 * 7);
}

static void table_add(struct account_table *a, uint32_t key, uint32_t number)
{
    uint32_t at = home_of(a, key);
    while (a->entries[at])
        at = (at + 1) & (a->size - 1);
    a->entries[at] = (uint64_t)key << 32 | number;
    a->used++;
}

uint32_t account_in_table(struct thread *t, struct account_table *a, uint32_t key,
                          struct account_start start)
{
    for (uint32_t at = home_of(a, key); a->entries[at]; at = (at + 1) & (a->size - 1))
        if (LIKELY(a->entries[at] >> 32 == key))
            return (uint32_t)a->entries[at];
    uint32_t number = table_has_room(a, may_be_spare(key, start.flags)) ? make(t, key, start) : 0;
    if (number)
        table_add(a, key, number);
    return number;
}

uint32_t account_find_or_make(struct thread *t, _Atomic uint32_t *first, uint32_t stack,
                              struct account_start start)
{
    uint32_t none = 0;
    if (!first)
        first = stack_accounts_map(stack);
    if (!first || atomic_load_explicit(first, memory_order_relaxed))
        return account_in_table(t, &t->counting.own, stack, start);
    uint32_t number = make(t, stack, start);
    if (!number || atomic_compare_exchange_strong(first, &none, number))
        return number;
    /* Another thread was first; without room in the table, another account will be made. */
    if (table_has_room(&t->counting.own, true))
        table_add(&t->counting.own, stack, number);
    return number;
}

__attribute__((noinline, cold)) uint32_t account_cut(struct thread *t, uint32_t stack,
                                                     struct account_start start)
{
    uint32_t number = 0;
    if (stack < WIRE_CUT_FIRST)
        number = account_of_stack(t, stack_tree_cut_of(stack), start);
    if (!number)
        number = account_of_stack(t, WIRE_CUT_ROOT, start);
    if (!number)
        atomic_fetch_add_explicit(&t->ring->dropped, 1, memory_order_relaxed);
    return number;
}

struct owner_search {
    uint32_t owner;
    bool is_taken;
};

static void compare_owner(struct thread *t, void *context)
{
    struct owner_search *s = context;
    s->is_taken |= t->counting.owner == s->owner;
}

/* A number that no thread has. After OWNERS of them they begin again, for threads that have ended:
 * otherwise a thread would count in the accounts of another one. */
static uint32_t new_owner(void)
{
    struct owner_search s;
    do {
        uint64_t number = atomic_fetch_add(&accounts.owners, 1) + 1;
        s = (struct owner_search){.owner = (uint32_t)number * WIRE_ACCOUNT_OWNER};
        if (UNLIKELY(number >= OWNERS))
            threads_each(compare_owner, &s);
    } while (UNLIKELY(!s.owner || s.is_taken));
    return s.owner;
}

void accounts_begin(struct thread *t)
{
    struct counting *c = &t->counting;
    c->owner = new_owner();
    table_clear(&c->own);
    table_clear(&c->others);
    if (c->any_replacement)
        memset(c->replacements, 0, REPLACEMENTS * sizeof *c->replacements);
    c->any_replacement = false;
    c->alone_era = 0;
    c->last_alloc = c->fresh.address = 0;
    for (unsigned i = 0; i < NEAR_REGIONS; i++)
        c->near_regions[i] = (struct near_region){.region = UINTPTR_MAX};
    atomic_store_explicit(&t->ring->owner, 0, memory_order_relaxed);
    walk_forget_notes(&t->walk); /* the notes refer to accounts that belonged to it before */
    python_forget_accounts(t);
    if (!atomic_load_explicit(&t->ring->dirty, memory_order_relaxed))
        atomic_store_explicit(&t->ring->dirty, WIRE_LAST, memory_order_relaxed);
}

/* A reader that finds the owner also finds where the ring says which thread that is. */
void accounts_begun(struct thread *t)
{
    uint64_t from = atomic_load_explicit(&t->ring->written, memory_order_relaxed);
    atomic_store_explicit(&t->ring->owner_from, from, memory_order_relaxed);
    atomic_store_explicit(&t->ring->owner, t->counting.owner, memory_order_release);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The row is in the ring: the account begins anew. */
static void row_taken(struct thread *t, struct wire_account *a)
{
    struct wire_amounts *m = account_amounts(a);
    if (m) {
        m->base_blocks += (uint64_t)a->allocs - a->frees;
        m->base_bytes += m->bytes - m->freed;
        m->base_slack += (uint64_t)m->slack - m->slack_freed;
        m->bytes = m->freed = m->temp_bytes = 0;
        m->slack = m->slack_freed = 0;
    }
    a->base_blocks += a->allocs - a->frees;
    a->allocs = a->frees = a->temps = 0;
    a->reallocs = 0;
    atomic_store_explicit(&t->ring->dirty, a->next_dirty, memory_order_release);
    a->next_dirty = 0;
    atomic_store_explicit(&t->ring->row_of, 0, memory_order_release);
}

static bool has_many_blocks(const struct wire_account *a)
{
    return a->base_blocks + WIRE_BLOCKS_ALIKE > 2 * WIRE_BLOCKS_ALIKE;
}

static bool row_write(struct thread *t, uint32_t number, struct wire_account *a)
{
    const struct wire_amounts *amounts = account_amounts(a);
    if (!amounts && UNLIKELY(has_many_blocks(a)))
        amounts = account_add_amounts(t, a);
    const struct wire_amounts m = UNLIKELY(amounts != NULL) ? *amounts : wire_amounts_of(a);
    /* All frees were temporary. */
    bool all = a->temps && a->temps == a->frees && m.temp_bytes == m.freed;
    bool small = a->allocs < 256 && a->frees < 256 && m.bytes < 1u << 20 && m.freed < 1u << 20 &&
                 m.slack < 4096 && m.slack_freed < 4096 && (!a->temps || all) && !a->reallocs;
    if ((a->allocs | a->frees) >= CARRIED_AFTER && a->cells)
        count_carry(t, a);
    if (!remark_room(t, 7))
        return false;
    if (small) {
        event_word(t, WIRE_WORD(WIRE_ROW_SMALL, all,
                                (uint64_t)a->allocs << 40 | (uint64_t)a->frees << 32 | number));
        event_word(t, m.bytes << 44 | m.freed << 24 | (uint64_t)m.slack << 12 | m.slack_freed);
    } else {
        event_word(t, WIRE_WORD(WIRE_ROW, 0, number));
        event_word(t, (uint64_t)a->allocs << 32 | a->frees);
        event_word(t, m.bytes);
        event_word(t, m.freed);
        event_word(t, (uint64_t)m.slack << 32 | m.slack_freed);
        event_word(t, (uint64_t)a->temps << 32 | a->reallocs);
        event_word(t, m.temp_bytes);
    }
    atomic_store_explicit(&t->ring->row_end, t->bias + (uintptr_t)t->at / 8, memory_order_relaxed);
    atomic_store_explicit(&t->ring->row_of, number, memory_order_release);
    event_publish(t);
    row_taken(t, a);
    return true;
}

void accounts_rows(struct thread *t)
{
    uint32_t number = atomic_load_explicit(&t->ring->dirty, memory_order_relaxed);
    accounts_settle(t);
    t->counting.new_accounts = 0;
    if (number == WIRE_LAST || !number)
        return;
    atomic_fetch_add(&t->ring->rows_written, 1);
    /* On aarch64 the stores after it, which clear accounts, could be seen before it. */
    atomic_thread_fence(memory_order_release);
    while (account_is_sound(number)) { /* WIRE_LAST is not */
        struct wire_account *a = account_at(number);
        uint32_t following = a->next_dirty;
        if (following != WIRE_LAST)
            __builtin_prefetch(account_at(following));
        if (!row_write(t, number, a))
            break;
        number = following;
    }
    atomic_fetch_add(&t->ring->rows_written, 1);
}

/* A hook was left while it wrote rows. */
void accounts_recover(struct thread *t)
{
    struct wire_ring *ring = t->ring;
    uint32_t number = atomic_load(&ring->row_of);
    /* Unless it is no longer in the list. */
    if (account_is_sound(number) && account_at(number)->next_dirty &&
        atomic_load(&ring->written) >= atomic_load(&ring->row_end))
        row_taken(t, account_at(number));
    atomic_store(&ring->row_of, 0);
    if (atomic_load(&ring->rows_written) % 2)
        atomic_fetch_add(&ring->rows_written, 1);
    atomic_store(&ring->reallocating, 0);
    t->counting.moving_from = 0;
    t->counting.last_alloc = t->counting.fresh.address = 0;
}
