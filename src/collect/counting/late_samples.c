#include "collect/counting/late_samples.h"

#include <stdlib.h>

#include "collect/counting/target.h"
#include "store/rows.h"

#define LATE_MOST 65536 /* so many wait; then they are added at once */

void target_sample(struct target *t, uint32_t account, uint64_t count, uint64_t amount,
                   enum column kind, uint64_t monotonic_ns)
{
    uint32_t tick;
    if (!interval_log_ended(&t->timeline, target_time(t, monotonic_ns), &tick)) {
        ledger_sample(&t->ledger, account, count, amount, kind);
        return;
    }
    *vec_push(&t->sampled.late) = (struct late_sample){tick, account, count, amount, kind};
    if (t->sampled.late.count >= LATE_MOST)
        target_add_late_samples(t);
}

void target_sample_at(struct target *t, uint32_t account, uint64_t count, uint64_t amount,
                      uint32_t tick)
{
    *vec_push(&t->sampled.late) = (struct late_sample){tick, account, count, amount, COLUMNS};
}

static int by_interval(const void *a, const void *b)
{
    const struct late_sample *x = a, *y = b;
    return x->tick != y->tick ? (x->tick > y->tick) - (x->tick < y->tick)
                              : (x->account > y->account) - (x->account < y->account);
}

void target_add_late_samples(struct target *t)
{
    const struct late_sample *late = t->sampled.late.items;
    size_t count = t->sampled.late.count;
    if (count)
        qsort(t->sampled.late.items, count, sizeof *late, by_interval);
    const struct slice *last = t->timeline.slices.count ? vec_last(&t->timeline.slices) : NULL;
    for (size_t i = 0; i < count;) {
        uint32_t previous = UINT32_MAX, tick = late[i].tick;
        struct strbuf rows = {0};
        if (!last || tick > last->tick) { /* its interval is open */
            ledger_sample(&t->ledger, late[i].account, late[i].count, late[i].amount, late[i].kind);
            i++;
            continue;
        }
        while (i < count && late[i].tick == tick) {
            struct row row = {.site = late[i].account};
            for (; i < count && late[i].tick == tick && late[i].account == row.site; i++) {
                ledger_sample_late(&t->ledger, row.site, late[i].count, late[i].amount);
                row.columns[COL_ALLOCS] += late[i].count;
                row.columns[COL_BYTES] += late[i].amount;
                row.columns[COL_USABLE] += late[i].amount;
                if (late[i].kind != COLUMNS)
                    row.columns[late[i].kind] += late[i].count;
            }
            row_put(&rows, &previous, &row, &t->ledger.accounts.items[row.site].unit);
        }
        interval_log_add(&t->timeline, &t->ledger, tick, &rows);
        strbuf_release(&rows);
    }
    vec_release(&t->sampled.late);
}
