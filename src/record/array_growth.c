#include "record/array_growth.h"

#include "record/count.h"

#define GROWTHS_LOOKED 64 /* replacements that are no growth, and more than those that are */

__attribute__((noinline)) void growth_step(struct thread *t, const struct growth_step *s)
{
    if (UNLIKELY(t->end - t->at < 7) && !ring_spare_room(t)) {
        atomic_fetch_add_explicit(&t->ring->growths_left_out, 1, memory_order_relaxed);
        return;
    }
    event_sequence(t);
    event_word(t, WIRE_WORD(WIRE_GROWTH, s->by_realloc, (uint64_t)s->from & WIRE_LOW48));
    event_word(t, s->to);
    event_word(t, s->old.size);
    event_word(t, s->size);
    event_word(t, (uint64_t)s->old.account << 32 | s->account);
    event_word(t, (uint64_t)s->old.era << 32 | s->era);
    event_publish(t);
}

static inline uint8_t one_more(uint8_t n)
{
    return n < UINT8_MAX ? (uint8_t)(n + 1) : n;
}

/* Blocks whose sizes are unrelated look as if one had grown into the other about every third time.
 * If most do not, no more records are sent for the site. */
static inline bool are_unrelated(uint8_t grown, uint8_t otherwise)
{
    return otherwise > GROWTHS_LOOKED && otherwise > grown;
}

/* Is it the array that the other block continues? The collector decides
 * (collect/counting/realloc_chains.h); this only spares it most others. */
void count_replaced(struct thread *t, uintptr_t address, const struct indexed *old)
{
    struct counting *c = &t->counting;
    const struct growth_step step = {.from = address,
                                     .to = c->fresh.address,
                                     .size = c->fresh.size,
                                     .old = *old,
                                     .account = c->fresh.account,
                                     .era = c->fresh.era};
    bool grows = step.size * 10 >= old->size * 11 && step.size * 2 <= old->size * 9;
    if (step.account == old->account) {
        struct wire_account *a = account_at(old->account);
        if (are_unrelated(a->growths, a->otherwise))
            return;
        if (grows)
            a->growths = one_more(a->growths);
        else if (step.size < old->size || step.size > old->size * 4)
            a->otherwise = one_more(a->otherwise);
        else
            return;
    } else {
        struct replacements *r = &c->replacements[old->account % REPLACEMENTS];
        if (are_unrelated(r->grown, r->otherwise))
            return;
        c->any_replacement = true;
        if (!grows) {
            r->otherwise = one_more(r->otherwise);
            return;
        }
        r->grown = one_more(r->grown);
    }
    growth_step(t, &step);
}
