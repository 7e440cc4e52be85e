/*
 * Decides which blocks are lost, which are indirect and which are reachable, once reachability.c
 * has noted all pointers: reachability_run of reachability.h, which says what these words mean.
 */
#include "collect/leakscan/reachability.h"

#define SEEN_AGAIN REACHES /* a temporary state */
#define NO_ROOT    UINT64_MAX

/* Takes the blocks that roots point to. */
static void take_rooted(struct reachability *f)
{
    for (size_t i = 0; i < f->ended.count; i++)
        if (f->blocks.items[f->ended.items[i]].empty)
            f->rooted[f->ended.items[i] / 64] |= UINT64_C(1) << f->ended.items[i] % 64;
    for (uint32_t i = 0; i < f->blocks.count; i++)
        if (f->rooted[i / 64] >> i % 64 & 1) {
            f->blocks.items[i].state = REACH_REACHABLE;
            *vec_push(&f->found) = i;
        }
}

/* Takes the blocks in `found`, and everything that they lead to, from one state to another. If
 * `root` is given, the number of the root replaces the index of each block's pointers, which is not
 * needed again. */
static void spread(struct reachability *f, unsigned from, unsigned to, uint64_t root)
{
    while (f->found.count) {
        struct reachability_block *b = &f->blocks.items[f->found.items[--f->found.count]];
        const uint32_t *pointers = &f->pointers.items[b->entry];
        if (root != NO_ROOT)
            b->root = root;
        for (uint32_t i = 1; i <= pointers[0]; i++) {
            uint32_t target = pointers[i] & ~REACHABILITY_PAST_END;
            struct reachability_block *t = &f->blocks.items[target];
            if (t->state == from && (target == pointers[i] || t->empty)) {
                t->state = to & 0x7fff;
                *vec_push(&f->found) = target;
            }
        }
    }
}

/*
 * Takes every block that no earlier block leads to as a candidate. Then visits the candidates in
 * reverse order: one that no later candidate leads to is lost, as no earlier block leads to it
 * either.
 */
static void classify_lost(struct reachability *f)
{
    VEC(uint32_t) firsts = {0};
    for (uint32_t i = 0; i < f->blocks.count; i++)
        if (f->blocks.items[i].state == REACH_UNKNOWN) {
            f->blocks.items[i].state = REACH_INDIRECT;
            *vec_push(&firsts) = i;
            *vec_push(&f->found) = i;
            spread(f, REACH_UNKNOWN, REACH_INDIRECT, NO_ROOT);
        }
    for (size_t k = firsts.count; k-- > 0;) {
        struct reachability_block *b = &f->blocks.items[firsts.items[k]];
        if (b->state == REACH_INDIRECT) {
            b->state = REACH_LOST;
            *vec_push(&f->found) = firsts.items[k];
            spread(f, REACH_INDIRECT, SEEN_AGAIN, f->roots++);
        }
    }
    for (size_t i = 0; i < f->blocks.count; i++)
        if (f->blocks.items[i].state == SEEN_AGAIN)
            f->blocks.items[i].state = REACH_INDIRECT;
    vec_release(&firsts);
}

void reachability_run(struct reachability *f)
{
    size_t at = 0;
    for (uint32_t i = 0; i < f->blocks.count; i++) {
        f->blocks.items[i].entry = at;
        at += 1 + f->pointers.items[at];
    }
    take_rooted(f);
    spread(f, REACH_UNKNOWN, REACH_REACHABLE, NO_ROOT);
    classify_lost(f);
}
