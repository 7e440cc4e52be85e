/*
 * Counting in the rare cases that count.h does not inline: cells for sizes and lifetimes, blocks
 * that are not small chunks of glibc, frees that were missed, new accounts, and arenas of CPython.
 * Reallocs are in count_realloc.c. Which blocks are temporary is decided in count.h and
 * fast_path.h.
 */
#include "record/count.h"

/* --- sizes and lifetimes ---------------------------------------------------------------------- */

/* Remembers a cell for the fast path. */
static struct wire_cell *cell_used(struct counting *c, const struct wire_account *a, unsigned group,
                                   unsigned lives, struct wire_cell *cell)
{
    uintptr_t key = near_cell_key(a, group, lives);
    c->near_cells[near_cell_at(key)] = (struct near_cell){key, cell};
    return cell;
}

static __attribute__((noinline)) struct wire_cell *cell_of(struct thread *t, struct wire_account *a,
                                                           unsigned group, unsigned lives)
{
    struct counting *c = &t->counting;
    const uint32_t head = count_first_cell(a);
    uint32_t n = head;
    for (unsigned i = 0; n; i++) {
        if (i == WIRE_CELLS_MOST || !account_is_sound(n))
            return NULL;
        struct wire_cell *cell = unit_at(n);
        if (cell->group == group && cell->lives == lives)
            return cell_used(c, a, group, lives, cell);
        n = cell->next;
    }
    uint32_t number = units_claim(t, 1);
    if (!number)
        return NULL;
    struct wire_cell *cell = unit_at(number);
    struct wire_cell *first = head ? unit_at(head) : NULL;
    cell->group = (uint16_t)group;
    cell->lives = (uint16_t)lives;
    if (first && first->lives && !lives) { /* lifetimes are counted most often, and stay first */
        cell->next = first->next;
        first->next = number;
    } else {
        cell->next = head;
        a->cells = number;
    }
    return cell_used(c, a, group, lives, cell);
}

void count_size(struct thread *t, struct wire_account *a, unsigned bucket, uint64_t blocks,
                uint64_t bytes)
{
    a->owner |= WIRE_ACCOUNT_SEVERAL;
    struct wire_cell *cell = cell_of(t, a, bucket / WIRE_CELL_SIZES, 0);
    if (!cell)
        return;
    cell->sizes.count[bucket % WIRE_CELL_SIZES] += (uint32_t)blocks;
    cell->sizes.bytes[bucket % WIRE_CELL_SIZES] += bytes;
}

void count_life_in(struct thread *t, struct wire_account *a, unsigned bucket, uint64_t blocks)
{
    unsigned group = bucket / WIRE_CELL_LIVES;
    struct wire_cell *cell = cell_of(t, a, group, 1);
    if (cell)
        cell->lives_count[bucket - group * WIRE_CELL_LIVES] += (uint32_t)blocks;
}

/* The counts of a cell, of which there are so many. */
static uint32_t *counts_of(struct wire_cell *cell, size_t *number)
{
    *number = cell->lives ? WIRE_CELL_LIVES : WIRE_CELL_SIZES;
    return cell->lives ? cell->lives_count : cell->sizes.count;
}

void count_carry(struct thread *t, struct wire_account *a)
{
    uint32_t n = count_first_cell(a);
    for (unsigned i = 0; n && i < WIRE_CELLS_MOST && account_is_sound(n); i++) {
        struct wire_cell *cell = unit_at(n), *over;
        size_t number, ignored;
        uint32_t *counts = counts_of(cell, &number);
        n = cell->next; /* before cells are added */
        for (size_t k = 0; k < number; k++)
            if (UNLIKELY(counts[k] >= WIRE_CELL_CARRIED) &&
                (over = cell_of(t, a, cell->group | WIRE_CELL_CARRY, cell->lives))) {
                counts[k] -= (uint32_t)WIRE_CELL_CARRIED;
                counts_of(over, &ignored)[k]++;
            }
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

void count_inherited_free(const struct indexed *b)
{
    atomic_fetch_add(&accounts.totals->inherited_blocks, 1);
    atomic_fetch_add(&accounts.totals->inherited_bytes, b->size);
}

void count_missed_free(struct thread *t, const struct indexed *old, uint32_t now)
{
    atomic_fetch_add(&accounts.totals->missed_frees, 1);
    if (is_inherited(old))
        count_inherited_free(old);
    else
        account_shrinks(t, old, 1, false, now);
}

void count_put(struct thread *t, void *p, const struct indexed *b, bool size_stored)
{
    struct indexed old;
    if (index_put((uintptr_t)p, b, size_stored, &old))
        count_missed_free(t, &old, b->era);
}

bool count_free_other(struct thread *t, void *p, usable_of *usable, bool sure)
{
    struct indexed b;
    if (UNLIKELY(!count_take(p, usable, &b))) {
        t->counting.fresh.address = 0;
        if (t->counting.last_alloc == (uintptr_t)p)
            t->counting.last_alloc = 0;
        if (sure)
            count_unknown_free();
        return false;
    }
    count_gone(t, p, &b);
    if (UNLIKELY(b.size >= LARGE_BLOCK) && !is_inherited(&b))
        large_freed(t, p, b.size, b.account);
    return true;
}

/* The stack is seen again, or for the first time. */
uint32_t count_find_account(struct thread *t, uint64_t size, uint64_t slack, unsigned bucket,
                            uint32_t stack, uint32_t *remembered)
{
    struct account_start start = {size, (uint32_t)slack, bucket};
    uint32_t number = account_of_stack(t, stack, start);
    struct wire_account *a = number ? account_at(number) : NULL;
    if (UNLIKELY(!a))
        return account_cut(t, stack, start);
    if (!account_is_alike(a, size, slack) && !account_amounts(a) && !account_add_amounts(t, a))
        return account_cut(t, stack, start);
    if (remembered)
        *remembered = number;
    return number;
}

struct wire_amounts *count_amounts(struct thread *t, struct wire_account *a)
{
    struct wire_amounts *m = account_amounts(a);
    if (UNLIKELY(!m) && !(m = account_add_amounts(t, a)))
        atomic_fetch_add_explicit(&t->ring->dropped, 1, memory_order_relaxed);
    return m;
}

uint32_t count_others(struct thread *t, const struct indexed *b)
{
    /* With run --sample, `b` may stand for several blocks. */
    struct account_start start = {recorder.sample_bytes ? WIRE_NO_SIZE : b->size,
                                  (uint32_t)(b->usable - b->size), WIRE_ACCOUNT_OTHERS};
    uint32_t number = account_in_table(t, &t->counting.others, b->account, start);
    if (UNLIKELY(!number))
        atomic_fetch_add_explicit(&t->ring->dropped, 1, memory_order_relaxed);
    return number;
}

void count_unknown_free(void)
{
    atomic_fetch_add_explicit(&accounts.totals->unknown_frees, 1, memory_order_relaxed);
}

/* --- arenas of CPython ------------------------------------------------------------------------ */

/* They are part of the heap's total; the collector counts everything else about them. */
uint32_t count_arena(struct thread *t, void *p, size_t size)
{
    struct wire_account none = {0};
    struct indexed old, b = {WIRE_ACCOUNT_ARENA, era_now(), size, size};
    total_grows(t, &none, size);
    index_put((uintptr_t)p, &b, true, &old);
    return accounts_epoch();
}

uint32_t count_unmap(struct thread *t, void *p, size_t size)
{
    struct wire_account none = {0};
    struct indexed b;
    if (count_any_stored() && index_take((uintptr_t)p, INDEX_SIZE_STORED, &b)) {
        if (b.account == WIRE_ACCOUNT_ARENA && b.size == size) {
            if (!is_inherited(&b))
                total_shrinks(t, &none, size);
        } else {
            index_put((uintptr_t)p, &b, true, &b); /* another block: it stays */
        }
    }
    return accounts_epoch();
}
